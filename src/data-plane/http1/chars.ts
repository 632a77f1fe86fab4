/** Classes of the 256 latin1 characters, as bits of one table. */

/** RFC 9110 section 5.6.2: methods, field names, chunk extension names. */
export const TOKEN = 1;
/** RFC 9110 section 5.5: HTAB, SP, VCHAR and obs-text. */
export const VALUE = 2;
/** What a request target may hold: VCHAR without `#`, nothing at or above 0x80. */
export const TARGET = 4;
/** RFC 3986 section 3.2.2, reg-name: unreserved, sub-delims and `%`. */
export const REG_NAME = 8;
export const DIGIT = 16;
export const HEX = 32;
/** Inside the brackets of an IPv6 literal. */
export const IPV6 = 64;
/** RFC 9110 section 5.6.4, qdtext: HTAB, SP, VCHAR without `"` and `\`, obs-text. */
export const QUOTED = 128;

const TOKEN_MARKS = "!#$%&'*+-.^_`|~";
const REG_NAME_MARKS = "-._~%!$&'()*+,;=";

function isAlpha(code: number): boolean {
  return (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}

function isHexLetter(code: number): boolean {
  return (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);
}

function classOf(code: number): number {
  const character = String.fromCharCode(code);
  const digit = code >= 0x30 && code <= 0x39;
  const alphanumeric = digit || isAlpha(code);
  const hex = digit || isHexLetter(code);
  const visible = code > 0x20 && code < 0x7f;
  const value = visible || code === 0x09 || code === 0x20 || code >= 0x80;
  let bits = 0;
  if (alphanumeric || TOKEN_MARKS.includes(character)) bits |= TOKEN;
  if (alphanumeric || REG_NAME_MARKS.includes(character)) bits |= REG_NAME;
  if (value) bits |= VALUE;
  if (value && code !== 0x22 && code !== 0x5c) bits |= QUOTED;
  if (visible && code !== 0x23) bits |= TARGET;
  if (digit) bits |= DIGIT;
  if (hex) bits |= HEX;
  if (hex || code === 0x3a || code === 0x2e) bits |= IPV6;
  return bits;
}

/** Bits of each latin1 character. Anything outside the table (end of text, code above 255) belongs to no class. */
export const CLASS: Uint8Array = Uint8Array.from({ length: 256 }, (_, code) => classOf(code));

export const HTAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const SP = 0x20;
export const QUOTE = 0x22;
export const PERCENT = 0x25;
export const ASTERISK = 0x2a;
export const COMMA = 0x2c;
export const SLASH = 0x2f;
export const ZERO = 0x30;
export const COLON = 0x3a;
export const SEMICOLON = 0x3b;
export const EQUALS = 0x3d;
export const QUESTION = 0x3f;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;

/**
 * Does text[start, end) spell `lower` (lower-case letters, digits, `-`, `/`, `:`), in any case? For text that holds
 * no control characters, which OR 0x20 would turn into marks and digits.
 */
export function spells(text: string, start: number, end: number, lower: string): boolean {
  if (end - start !== lower.length) return false;
  for (let at = 0; at < lower.length; at += 1) {
    if ((text.charCodeAt(start + at) | 0x20) !== lower.charCodeAt(at)) return false;
  }
  return true;
}
