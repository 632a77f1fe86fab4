/** Reading the two textual forms of an IP address into bytes. No allocation besides the result. */

const DOT = 0x2e;
const COLON = 0x3a;
const DIGIT_0 = 0x30;

/**
 * Reads `text[start, end)` as four decimal octets into `bytes` at `at`. Leading zeros are refused:
 * some readers take `010` for octal 8, so such a text has no one meaning.
 */
export function readIpv4(text: string, start: number, end: number, bytes: Uint8Array, at: number): boolean {
  let position = start;
  for (let octet = 0; octet < 4; octet += 1) {
    if (octet > 0 && text.charCodeAt(position++) !== DOT) return false;
    const first = position;
    let value = 0;
    while (position < end && position - first < 3 && isDigit(text.charCodeAt(position))) {
      value = value * 10 + text.charCodeAt(position) - DIGIT_0;
      position += 1;
    }
    const digits = position - first;
    if (digits === 0 || value > 255 || (digits > 1 && text.charCodeAt(first) === DIGIT_0)) return false;
    bytes[at + octet] = value;
  }
  return position === end;
}

/**
 * Reads `text[0, end)` as IPv6 (RFC 4291 section 2.2): eight groups, one `::` in place of one or more
 * of them, IPv4 notation allowed in the last 32 bits. One pass, hence the length.
 */
export function readIpv6(text: string, end: number): Uint8Array | null {
  const bytes = new Uint8Array(16);
  let at = 0;
  let gap = -1;
  let position = 0;
  if (isColon(text, 0, end)) {
    if (!isColon(text, 1, end)) return null;
    gap = 0;
    position = 2;
  }
  while (position < end) {
    if (at === 16) return null;
    const groupEnd = hexEnd(text, position, end);
    if (groupEnd < end && text.charCodeAt(groupEnd) === DOT) {
      if (at > 12 || !readIpv4(text, position, end, bytes, at)) return null;
      at += 4;
      break;
    }
    if (groupEnd === position) return null;
    const value = Number.parseInt(text.slice(position, groupEnd), 16);
    bytes[at] = value >> 8;
    bytes[at + 1] = value & 0xff;
    at += 2;
    position = groupEnd;
    if (position === end) break;
    if (!isColon(text, position, end) || position + 1 === end) return null;
    position += 1;
    if (!isColon(text, position, end)) continue;
    if (gap >= 0) return null;
    gap = at;
    position += 1;
  }
  return fillGap(bytes, at, gap);
}

/** Moves what stands behind `::` to the end. `at` bytes were read; `gap` is where `::` stood, −1 = none. */
function fillGap(bytes: Uint8Array, at: number, gap: number): Uint8Array | null {
  if (gap < 0) return at === 16 ? bytes : null;
  if (at === 16) return null;
  const tail = 16 - (at - gap);
  bytes.copyWithin(tail, gap, at);
  bytes.fill(0, gap, tail);
  return bytes;
}

/** End of the run of at most four hex digits at `start`. */
function hexEnd(text: string, start: number, end: number): number {
  let position = start;
  while (position < end && position - start < 4 && isHex(text.charCodeAt(position))) position += 1;
  return position;
}

function isColon(text: string, position: number, end: number): boolean {
  return position < end && text.charCodeAt(position) === COLON;
}

function isDigit(code: number): boolean {
  return code >= DIGIT_0 && code <= 0x39;
}

function isHex(code: number): boolean {
  const lower = code | 0x20;
  return isDigit(code) || (lower >= 0x61 && lower <= 0x66);
}
