/** Finding one cookie in a Cookie header (RFC 6265 section 5.4). */

const EQUALS = 0x3d;

/**
 * The value of the first cookie called `name` (case counts), '' when there is none or it is empty. Values
 * come as they stand: a quoted one keeps its quotes. One pass over `cookies`, one slice at most.
 */
export function findCookie(cookies: string, name: string): string {
  let start = 0;
  while (start < cookies.length) {
    let end = cookies.indexOf(';', start);
    if (end < 0) end = cookies.length;
    const from = skipSpaces(cookies, start, end);
    const valueStart = from + name.length + 1;
    if (cookies.charCodeAt(valueStart - 1) === EQUALS && cookies.startsWith(name, from) && valueStart <= end) {
      return cookies.slice(valueStart, trimEnd(cookies, valueStart, end));
    }
    start = end + 1;
  }
  return '';
}

function skipSpaces(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function trimEnd(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && isSpace(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
