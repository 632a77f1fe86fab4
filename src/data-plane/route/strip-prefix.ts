/** Cutting a prefix off a path and leaving every other byte as it was received. */
import { decodePercent, escapedByte, lowerAscii, percentEncode } from './bytes.ts';
import { cleanPath } from './path.ts';

/** RFC 3986 section 3.3: what a path may hold besides unreserved characters and slashes stays, the rest is escaped. */
const NOT_IN_PATH = /[^A-Za-z0-9\-._~!$&'()*+,;=:@/]/g;

/**
 * Cuts `prefix` (any case, escapes count as what they stand for; a `%XX` in the prefix means that escape) off `path`.
 * A path that does not begin with it comes back unchanged. Runs of slashes count as one slash.
 *
 * Dot segments are the exception to "leave it alone": `/a/../a/x` without `/a` would be `/../a/x`, which leads back out
 * of the prefix. Where cutting and resolving do not agree, the resolved path is cut.
 */
export function stripPrefix(path: string, prefix: string): string {
  const slashed = prefix.startsWith('/') ? prefix : `/${prefix}`;
  const end = prefixEnd(path, slashed);
  const rest = end < 0 ? null : withSlash(path.slice(end));
  if (!decodePercent(path).includes('/.')) return rest ?? path;
  const merges = !slashed.includes('//');
  const resolved = cleanPath(decodePercent(path), merges);
  const wanted = decodePercent(slashed);
  if (!lowerAscii(resolved).startsWith(lowerAscii(wanted))) return path;
  const resolvedRest = withSlash(resolved.slice(wanted.length));
  if (rest !== null && cleanPath(decodePercent(rest), merges) === resolvedRest) return rest;
  return resolvedRest.replace(NOT_IN_PATH, percentEncode);
}

/** Cuts a literal suffix, any case. */
export function stripSuffix(path: string, suffix: string): string {
  return suffix !== '' && lowerAscii(path).endsWith(lowerAscii(suffix))
    ? withSlash(path.slice(0, -suffix.length))
    : path;
}

export function withSlash(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

/** Where the prefix ends in `path`, −1 when it does not begin with it. Both are walked in step. */
function prefixEnd(path: string, prefix: string): number {
  const merges = !prefix.includes('//');
  let at = 0;
  for (let wanted = 0; wanted < prefix.length; wanted += 1) {
    const byte = prefix[wanted] === '%' ? -1 : escapedByte(path, at);
    const character = byte < 0 ? path[at] : String.fromCharCode(byte);
    if (character === undefined || lowerAscii(character) !== lowerAscii(prefix[wanted]!)) return -1;
    at += byte < 0 ? 1 : 3;
    if (merges && character === '/' && wanted < prefix.length - 1) at = runEnd(path, at);
  }
  return at;
}

/** Where a run of slashes that goes on at `at` ends. */
function runEnd(path: string, at: number): number {
  let end = at;
  while (path[end] === '/') end += 1;
  return end;
}
