/**
 * Text of the configuration and bytes of the wire meet here. A head is a latin1 string, one character a byte, so
 * whatever is compared with it or put into it has to be bytes as well: `é` of a Caddyfile becomes C3 A9.
 */

const NOT_ASCII = /[\u0080-\uffff]/;

export function isAscii(text: string): boolean {
  return !NOT_ASCII.test(text);
}

/** UTF-8 bytes of `text`, one latin1 character each. ASCII comes back as it is. */
export function toBytes(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

/** The text that `bytes` spell in UTF-8; what is no UTF-8 becomes U+FFFD. */
export function fromBytes(bytes: string): string {
  return isAscii(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8');
}

/** Lower-cases A to Z only: `toLowerCase` would turn the byte C3 into E3. */
export function lowerAscii(bytes: string): string {
  return isAscii(bytes) ? bytes.toLowerCase() : bytes.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Value of a hexadecimal digit, −1 for any other character. */
function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** The byte written as `%XX` at `at`, −1 when there is no such escape. */
export function escapedByte(text: string, at: number): number {
  if (text.charCodeAt(at) !== 0x25) return -1;
  const high = hexDigit(text.charCodeAt(at + 1));
  const low = hexDigit(text.charCodeAt(at + 2));
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/** Resolves `%XX` to bytes. An escape that is none stays as it is: a peer's text never fails. */
export function decodePercent(text: string): string {
  let at = text.indexOf('%');
  if (at < 0) return text;
  let decoded = '';
  let from = 0;
  for (; at >= 0; at = text.indexOf('%', at)) {
    const byte = escapedByte(text, at);
    if (byte < 0) {
      at += 1;
      continue;
    }
    decoded += text.slice(from, at) + String.fromCharCode(byte);
    at += 3;
    from = at;
  }
  return decoded + text.slice(from);
}

/** `%XX` of one byte, upper-case digits (RFC 3986 section 2.1). */
export function percentEncode(byte: string): string {
  const code = byte.charCodeAt(0);
  return `%${code < 16 ? '0' : ''}${code.toString(16).toUpperCase()}`;
}
