/**
 * IP addresses as bytes. Every place that trusts, hashes, logs or forwards an address goes through
 * `parseIp`, so that one address has one spelling (RFC 5952) and one set of bytes.
 */
import { readIpv4, readIpv6 } from './ip-text.ts';

export interface IpAddress {
  readonly family: 4 | 6;
  /** 4 or 16 bytes, network order. IPv4-mapped IPv6 (`::ffff:a.b.c.d`) has been turned into IPv4. */
  readonly bytes: Uint8Array;
  /** Canonical text (RFC 5952 for IPv6), without zone. */
  readonly text: string;
}

/**
 * Reads an address, strictly: four decimal octets without leading zeros, or any IPv6 form of RFC 4291
 * section 2.2. A zone (`%eth0`) is cut, a mapped address becomes IPv4. Ports, brackets and spaces are
 * not part of an address: null, as for everything else that is none.
 */
export function parseIp(text: string): IpAddress | null {
  const bytes = parseIpBytes(text);
  return bytes === null ? null : makeIp(bytes);
}

/** As `parseIp`, but the bytes as written: a mapped address keeps its 16. */
export function parseIpBytes(text: string): Uint8Array | null {
  if (text.includes(':')) {
    const end = addressEnd(text);
    return end < 0 ? null : readIpv6(text, end);
  }
  const bytes = new Uint8Array(4);
  return readIpv4(text, 0, text.length, bytes, 0) ? bytes : null;
}

/** Makes an address of 4 or 16 bytes in network order (they are copied); null for another length. */
export function ipFromBytes(bytes: Uint8Array): IpAddress | null {
  return bytes.length === 4 || bytes.length === 16 ? makeIp(Uint8Array.from(bytes)) : null;
}

/** Takes 4 or 16 bytes over. */
function makeIp(bytes: Uint8Array): IpAddress {
  if (bytes.length === 4) return makeIpv4(bytes);
  if (isMapped(bytes)) return makeIpv4(bytes.slice(12));
  return { family: 6, bytes, text: ipv6Text(bytes) };
}

/** The bytes are `::ffff:a.b.c.d` (RFC 4291 section 2.5.5.2). */
export function isMapped(bytes: Uint8Array): boolean {
  if (bytes.length !== 16 || bytes[10] !== 0xff || bytes[11] !== 0xff) return false;
  for (let at = 0; at < 10; at += 1) if (bytes[at] !== 0) return false;
  return true;
}

function makeIpv4(bytes: Uint8Array): IpAddress {
  return { family: 4, bytes, text: `${bytes[0]!}.${bytes[1]!}.${bytes[2]!}.${bytes[3]!}` };
}

/** Where the address ends and a zone begins; −1 when the zone is empty or holds what no zone holds. */
function addressEnd(text: string): number {
  const percent = text.indexOf('%');
  if (percent < 0) return text.length;
  if (percent === text.length - 1) return -1;
  for (let at = percent + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code <= 0x20 || code >= 0x7f) return -1;
  }
  return percent;
}

/** RFC 5952 section 4: lower case, no leading zeros, the first longest run of two or more zero groups cut. */
function ipv6Text(bytes: Uint8Array): string {
  const { start, length } = longestZeroRun(bytes);
  let text = '';
  for (let group = 0; group < 8; group += 1) {
    if (group === start) {
      text += '::';
      group += length - 1;
      continue;
    }
    if (text !== '' && !text.endsWith(':')) text += ':';
    text += groupAt(bytes, group).toString(16);
  }
  return text;
}

/** `start` is −1 when no run is worth cutting. */
function longestZeroRun(bytes: Uint8Array): { start: number; length: number } {
  let best = { start: -1, length: 1 };
  let length = 0;
  for (let group = 0; group < 8; group += 1) {
    length = groupAt(bytes, group) === 0 ? length + 1 : 0;
    if (length > best.length) best = { start: group - length + 1, length };
  }
  return best;
}

function groupAt(bytes: Uint8Array, group: number): number {
  return bytes[group * 2]! * 256 + bytes[group * 2 + 1]!;
}
