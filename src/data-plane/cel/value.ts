/** A compiled part of an expression, with the type that is known of it at load time. */
import type { RequestView } from '../route/request-view.ts';

export interface TextValue {
  readonly type: 'text';
  /** Bytes, one latin1 character each. */
  readonly read: (request: RequestView) => string;
  /** The same bytes for every request; null = it depends. */
  readonly constant: string | null;
}

interface IntegerValue {
  readonly type: 'integer';
  /** NaN when there is none: it equals nothing and is in no order. */
  readonly read: (request: RequestView) => number;
}

export interface FlagValue {
  readonly type: 'flag';
  readonly read: (request: RequestView) => boolean;
}

export interface ListValue {
  readonly type: 'list';
  readonly items: readonly Value[];
}

export type Value = TextValue | IntegerValue | FlagValue | ListValue;

export function textOf(bytes: string): TextValue {
  return { type: 'text', read: () => bytes, constant: bytes };
}

/** For messages. */
export function nameOf({ type }: Value): string {
  return type === 'integer' ? 'an integer' : `a ${type}`;
}
