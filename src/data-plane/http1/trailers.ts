import { ERROR_TRAILER, ERROR_TRAILER_TOO_LARGE, ERROR_TOO_MANY_FIELDS } from './errors.ts';
import { parseFields } from './fields.ts';
import { Head } from './head.ts';
import { MAX_TRAILER_FIELDS } from './limits.ts';

/**
 * Fields that must be known before the content (RFC 9110 section 6.5.1): they frame, route, authenticate, modify the
 * request, control the response or say how to read the content. A receiver that merges trailers into the header must
 * not get them from us.
 */
const FORBIDDEN: ReadonlySet<string> = new Set([
  'transfer-encoding', 'content-length', 'trailer', 'te', 'connection', 'keep-alive', 'proxy-connection', 'upgrade',
  'http2-settings', 'host', 'forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via',
  'max-forwards', 'authorization', 'proxy-authorization', 'proxy-authenticate', 'www-authenticate',
  'proxy-authentication-info', 'authentication-info', 'cookie', 'set-cookie', 'cache-control', 'pragma', 'expect',
  'range', 'if-range', 'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'age', 'expires',
  'date', 'location', 'retry-after', 'vary', 'warning', 'alt-svc', 'content-encoding', 'content-type', 'content-range',
  'content-location',
]);

/** May a field of this lower-case name stand in a trailer section? */
export function isTrailerName(lowerName: string): boolean {
  return !FORBIDDEN.has(lowerName);
}

/** The trailer fields that may be forwarded, as `Name: value` lines, or why the section is refused. */
export interface TrailerSection {
  readonly lines: string;
  /** 0 or an ERROR_* code. */
  readonly fault: number;
}

/** Reads a trailer section: field lines and the final empty line (RFC 9112 section 7.1.2). */
export function readTrailers(section: string): TrailerSection {
  const head = new Head();
  head.text = section;
  const fault = parseFields(section, 0, head, MAX_TRAILER_FIELDS);
  if (fault === ERROR_TOO_MANY_FIELDS) return { lines: '', fault: ERROR_TRAILER_TOO_LARGE };
  if (fault !== 0) return { lines: '', fault: ERROR_TRAILER };
  let lines = '';
  for (let field = 0; field < head.count; field += 1) {
    const name = head.nameOf(field);
    if (isTrailerName(name.toLowerCase())) lines += `${name}: ${head.valueOf(field)}\r\n`;
  }
  return { lines, fault: 0 };
}
