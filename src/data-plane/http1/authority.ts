import { CLASS, CLOSE_BRACKET, COLON, DIGIT, HEX, IPV6, OPEN_BRACKET, PERCENT, REG_NAME } from './chars.ts';

const MAX_PORT = 65_535;

/**
 * Is text[start, end) `uri-host [":" port]` with a host that is not empty (RFC 9110 section 7.2, RFC 3986 section 3.2)?
 * User information, zones and future IP literals are none.
 */
export function isAuthority(text: string, start: number, end: number): boolean {
  const hostEnd =
    text.charCodeAt(start) === OPEN_BRACKET ? endOfLiteral(text, start, end) : endOfName(text, start, end);
  return hostEnd > start && (hostEnd === end || isPort(text, hostEnd, end));
}

/** Index behind `]`, or `start` when text[start, end) does not begin with an IPv6 literal. */
function endOfLiteral(text: string, start: number, end: number): number {
  let at = start + 1;
  while (at < end && (CLASS[text.charCodeAt(at)]! & IPV6) !== 0) at += 1;
  return at > start + 1 && at < end && text.charCodeAt(at) === CLOSE_BRACKET ? at + 1 : start;
}

/** Index behind the name, or `start` when a `%` in it does not begin an escape. */
function endOfName(text: string, start: number, end: number): number {
  let at = start;
  while (at < end) {
    const code = text.charCodeAt(at);
    if ((CLASS[code]! & REG_NAME) === 0) return at;
    if (code === PERCENT && !isEscape(text, at, end)) return start;
    at += 1;
  }
  return at;
}

function isEscape(text: string, at: number, end: number): boolean {
  return at + 2 < end && (CLASS[text.charCodeAt(at + 1)]! & HEX) !== 0 && (CLASS[text.charCodeAt(at + 2)]! & HEX) !== 0;
}

/** A colon and nothing, or a number of at most 65535 in at most five digits. */
function isPort(text: string, start: number, end: number): boolean {
  if (text.charCodeAt(start) !== COLON || end - start > 6) return false;
  let port = 0;
  for (let at = start + 1; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if ((CLASS[code]! & DIGIT) === 0) return false;
    port = port * 10 + (code - 0x30);
  }
  return port <= MAX_PORT;
}
