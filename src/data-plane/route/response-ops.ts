/** Operations on response fields, and the order in which a response takes them. */
import type { ResponseHeaderOpsPlan, ResponseRequirePlan } from '../../shared/plan/types.ts';
import { toBytes } from './bytes.ts';
import { findField, setField } from './field-list.ts';
import { applyHeaderOps, compileHeaderOps, type CompiledHeaderOps } from './header-ops.ts';
import type { ProcessFacts } from './placeholder/placeholder.ts';
import type { RequestView } from './request-view.ts';
import { compileWildcard } from './wildcard.ts';

export interface CompiledResponseOps {
  readonly ops: CompiledHeaderOps;
  /** null = every response. */
  readonly fits: ResponseTest | null;
}

export type ResponseTest = (status: number, fields: readonly string[]) => boolean;

/** What `header` handlers met on the way left for the response. */
export interface LeftForResponse {
  /** Alternating names and values of fields that were set before there was a response. */
  readonly responseFields: readonly string[];
  /** Deferred operations, in the order they were met. */
  readonly responseOps: readonly CompiledResponseOps[];
}

/** For `header_down` and deferred `header` operations. Throws `ConfigError`. */
export function compileResponseOps(plan: ResponseHeaderOpsPlan, facts: ProcessFacts): CompiledResponseOps {
  return {
    ops: compileHeaderOps(plan, 'response', facts),
    fits: plan.require === null ? null : compileRequire(plan.require),
  };
}

/** A condition on the response can only be looked at when there is one, so it defers by itself. */
export function isDeferred(plan: ResponseHeaderOpsPlan): boolean {
  return plan.deferred || plan.require !== null;
}

/**
 * Finishes the fields of a proxied response in place: `down` (the handler's `header_down`, or null), then the fields
 * set early go in front, then deferred operations, the handler nearest to the proxy first.
 */
export function finishProxiedFields(
  fields: string[],
  status: number,
  down: CompiledResponseOps | null,
  left: LeftForResponse,
  request: RequestView,
): void {
  startProxiedFields(fields, status, down, left, request);
  applyDeferred(fields, status, left, request);
}

/** As `finishProxiedFields`, up to the deferred operations. */
export function startProxiedFields(
  fields: string[],
  status: number,
  down: CompiledResponseOps | null,
  left: LeftForResponse,
  request: RequestView,
): void {
  if (down !== null) applyResponseOps(down, status, fields, request);
  if (left.responseFields.length > 0) fields.unshift(...left.responseFields);
}

/** Fields of a response of our own: those set early, `own` ones in the place of their namesakes, then deferred operations. */
export function finishOwnFields(
  own: readonly string[],
  status: number,
  left: LeftForResponse,
  request: RequestView,
): string[] {
  const fields = startOwnFields(own, left);
  applyDeferred(fields, status, left, request);
  return fields;
}

/** As `finishOwnFields`, up to the deferred operations. */
export function startOwnFields(own: readonly string[], left: LeftForResponse): string[] {
  const fields = [...left.responseFields];
  for (const [lower, lines] of groupByName(own)) setField(fields, lower, lines);
  return fields;
}

export function applyDeferred(fields: string[], status: number, left: LeftForResponse, request: RequestView): void {
  for (let at = left.responseOps.length - 1; at >= 0; at -= 1) {
    applyResponseOps(left.responseOps[at]!, status, fields, request);
  }
}

function applyResponseOps(down: CompiledResponseOps, status: number, fields: string[], request: RequestView): void {
  if (down.fits === null || down.fits(status, fields)) applyHeaderOps(down.ops, fields, request);
}

/** Status codes, or classes as 1 to 5; and fields as a `header` matcher has them. All parts must fit. */
export function compileRequire(plan: ResponseRequirePlan): ResponseTest {
  const statuses = plan.status;
  const fieldTests = Object.entries(plan.headers).map(([name, values]) => compileFieldTest(name, values));
  return (status, fields) =>
    (statuses.length === 0 || statuses.includes(status) || statuses.includes(Math.floor(status / 100))) &&
    fieldTests.every((test) => test(fields));
}

function compileFieldTest(name: string, values: readonly string[] | null): (fields: readonly string[]) => boolean {
  const lower = name.toLowerCase();
  if (values === null) return (fields) => findField(fields, lower, 0) < 0;
  if (values.length === 0) return (fields) => findField(fields, lower, 0) >= 0;
  const tests = values.map((value) => compileWildcard(toBytes(value)));
  return (fields) => {
    for (let at = findField(fields, lower, 0); at >= 0; at = findField(fields, lower, at + 2)) {
      if (tests.some((test) => test(fields[at + 1]!))) return true;
    }
    return false;
  };
}

function groupByName(fields: readonly string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (let at = 0; at < fields.length; at += 2) {
    const lower = fields[at]!.toLowerCase();
    const lines = groups.get(lower);
    if (lines === undefined) groups.set(lower, [fields[at]!, fields[at + 1]!]);
    else lines.push(fields[at]!, fields[at + 1]!);
  }
  return groups;
}
