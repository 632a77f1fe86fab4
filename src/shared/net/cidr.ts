/** Prefixes (`10.0.0.0/8`) and sets of them: who is trusted, who matches. */
import { ConfigError } from '../config-error.ts';
import { isMapped, parseIpBytes, type IpAddress } from './ip.ts';
import { RangeSet } from './range-set.ts';

export interface Prefix {
  readonly family: 4 | 6;
  /** Network address: 4 or 16 bytes, the bits behind the prefix are 0. */
  readonly bytes: Uint8Array;
  /** Prefix length, 0 … 32 or 0 … 128. */
  readonly bits: number;
}

export interface PrefixSet {
  contains(ip: IpAddress): boolean;
}

/** What the word `private_ranges` stands for (RFC 1918, RFC 4193, loopback). */
export const PRIVATE_RANGES: readonly string[] = [
  '192.168.0.0/16',
  '172.16.0.0/12',
  '10.0.0.0/8',
  '127.0.0.1/8',
  'fd00::/8',
  '::1',
];

/**
 * Reads `address/bits` or a bare address (all bits). Bits behind the prefix are cleared, not refused.
 * A mapped prefix of /96 or longer becomes the IPv4 prefix it stands for. Throws `ConfigError`.
 */
export function parseCidr(text: string): Prefix {
  const slash = text.indexOf('/');
  const address = slash < 0 ? text : text.slice(0, slash);
  const bytes = address.includes('%') ? null : parseIpBytes(address);
  if (bytes === null) throw fault(text, `'${address}' is no IP address`);
  const width = bytes.length * 8;
  const bits = slash < 0 ? width : prefixLength(text.slice(slash + 1));
  if (bits > width) throw fault(text, `the prefix length must be a whole number from 0 to ${width}`);
  if (isMapped(bytes) && bits >= 96) return makePrefix(bytes.slice(12), bits - 96);
  return makePrefix(bytes, bits);
}

/**
 * Compiles addresses, CIDR prefixes and the word `private_ranges` to one set. IPv4 and IPv6 are two
 * worlds: `::/0` holds no IPv4 address. Throws `ConfigError` for what is neither.
 */
export function compilePrefixes(texts: readonly string[]): PrefixSet {
  const prefixes = texts.flatMap((text) => (text === 'private_ranges' ? PRIVATE_RANGES : [text])).map(parseCidr);
  const ranges4 = new RangeSet(prefixes.filter((prefix) => prefix.family === 4).map(toRange));
  const ranges6 = new RangeSet(prefixes.filter((prefix) => prefix.family === 6).map(toRange));
  return {
    contains: (ip) => (ip.family === 4 ? ranges4 : ranges6).contains(ip.bytes),
  };
}

/** The first `bits` bits set, as many bytes as an address of the family has. */
export function prefixMask(family: 4 | 6, bits: number): Uint8Array {
  const mask = new Uint8Array(family === 4 ? 4 : 16);
  for (let at = 0; at < mask.length; at += 1) {
    const ones = Math.min(8, Math.max(0, bits - at * 8));
    mask[at] = (0xff << (8 - ones)) & 0xff;
  }
  return mask;
}

function makePrefix(bytes: Uint8Array, bits: number): Prefix {
  const family = bytes.length === 4 ? 4 : 6;
  const mask = prefixMask(family, bits);
  return { family, bytes: bytes.map((byte, at) => byte & mask[at]!), bits };
}

function toRange(prefix: Prefix): { start: Uint8Array; end: Uint8Array } {
  const mask = prefixMask(prefix.family, prefix.bits);
  return { start: prefix.bytes, end: prefix.bytes.map((byte, at) => byte | (~mask[at]! & 0xff)) };
}

/** Infinity for what is no whole number without leading zeros. */
function prefixLength(text: string): number {
  return /^(0|[1-9][0-9]{0,2})$/.test(text) ? Number(text) : Infinity;
}

function fault(text: string, why: string): ConfigError {
  return new ConfigError(
    `'${text}' is not an IP address or CIDR prefix: ${why}; write it like 10.0.0.0/8, 2001:db8::/32 or 192.0.2.7`,
  );
}
