import { parseFields } from './fields.ts';
import { Head } from './head.ts';

/**
 * Fields that must be known before the content (RFC 9110 section 6.5.1): they frame, route, authenticate, modify the
 * request, control the response or say how to read the content. A receiver that merges trailers into the header must
 * not get them from us.
 */
const FORBIDDEN: ReadonlySet<string> = new Set(
  [
    'transfer-encoding content-length trailer te connection keep-alive proxy-connection upgrade http2-settings',
    'host forwarded x-forwarded-for x-forwarded-host x-forwarded-proto x-real-ip via max-forwards',
    'authorization proxy-authorization proxy-authenticate www-authenticate authentication-info',
    'proxy-authentication-info cookie set-cookie cache-control pragma expect range if-range if-match if-none-match',
    'if-modified-since if-unmodified-since age expires date location retry-after vary warning alt-svc',
    'content-encoding content-type content-range content-location',
  ].flatMap((names) => names.split(' ')),
);

/** May a field of this lower-case name stand in a trailer section? */
export function isTrailerName(lowerName: string): boolean {
  return !FORBIDDEN.has(lowerName);
}

/**
 * Reads one line of a trailer section without its CR LF (RFC 9112 section 7.1.2). Returns it as `Name: value` and CR
 * LF, '' when the field must not be forwarded, null when it is malformed.
 */
export function readTrailer(line: string): string | null {
  const head = new Head();
  head.text = `${line}\r\n\r\n`;
  if (parseFields(head.text, 0, head, 1) !== 0 || head.count !== 1) return null;
  const name = head.nameOf(0);
  return isTrailerName(name.toLowerCase()) ? `${name}: ${head.valueOf(0)}\r\n` : '';
}
