/** Request targets and authorities, taken apart without decoding a byte. */
import { splitHostPort } from '../../shared/net/address.ts';

export interface SplitTarget {
  readonly path: string;
  /** Without the question mark; null when the target has none, '' for `/a?`. */
  readonly query: string | null;
}

export function splitTarget(target: string): SplitTarget {
  const mark = target.indexOf('?');
  if (mark < 0) return { path: target, query: null };
  return { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

export function joinTarget(path: string, query: string | null): string {
  return query === null ? path : `${path}?${query}`;
}

export function pathOf(target: string): string {
  const mark = target.indexOf('?');
  return mark < 0 ? target : target.slice(0, mark);
}

/** The query without its question mark, '' when there is none. */
export function queryOf(target: string): string {
  const mark = target.indexOf('?');
  return mark < 0 ? '' : target.slice(mark + 1);
}

/** Host of an authority as `RequestView.host` wants it: lower case, no port, no brackets. */
export function hostOfAuthority(authority: string): string {
  const split = splitHostPort(authority);
  return (split === null ? authority : split.host).toLowerCase();
}

/** Port of an authority in digits, '' when it has none. */
export function portOfAuthority(authority: string): string {
  const split = splitHostPort(authority);
  return split === null || split.port === null ? '' : String(split.port);
}
