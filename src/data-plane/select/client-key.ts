/** From a client address to the bytes that are hashed, and to their hash (PURE, HOT). */
import { parseCidr, prefixMask } from '../../shared/net/cidr.ts';
import { ipFromBytes, type IpAddress } from '../../shared/net/ip.ts';
import { ConfigError } from '../../shared/config-error.ts';
import type { IpHashPlan } from '../../shared/plan/types.ts';
import { FNV_OFFSET, fnv1a32Masked, seedHash } from './hash.ts';

export type ClientKeyOptions = Pick<IpHashPlan, 'seed' | 'ipv4Prefix' | 'ipv6Prefix' | 'nat64'>;

/** `ip_hash` without options: whole IPv4 addresses, IPv6 to /64 (RFC 8981 privacy addresses stay put). */
export const DEFAULT_KEY_OPTIONS: ClientKeyOptions = { seed: null, ipv4Prefix: 32, ipv6Prefix: 64, nat64: [] };

/** 64:ff9b::/96 (RFC 6052 section 2.1), first 12 bytes. */
const WELL_KNOWN_NAT64: readonly number[] = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];
const NAT64_BYTES = 12;

export interface ClientKeys {
  /** Hash of the client's key, seed mixed in. An unknown client (null) has the hash of no bytes. */
  hash(client: IpAddress | null): number;
  /** The key bytes: 4 or 16, masked. Allocates; for explanations. */
  bytes(client: IpAddress): Uint8Array;
  /** The key as text, with the prefix length where one was cut off: `2001:db8::/64`. */
  text(client: IpAddress): string;
}

/** Compiles prefix lengths, seed and NAT64 prefixes. Throws `ConfigError` for a NAT64 prefix that is no IPv6 /96. */
export function compileClientKeys(options: ClientKeyOptions): ClientKeys {
  const mask4 = prefixMask(4, options.ipv4Prefix);
  const mask6 = prefixMask(6, options.ipv6Prefix);
  const nat64 = [WELL_KNOWN_NAT64, ...options.nat64.map(nat64Prefix)];
  const { seed } = options;
  const offsetOf = (client: IpAddress): number =>
    client.family === 6 && startsWithAny(client.bytes, nat64) ? NAT64_BYTES : 0;
  const maskOf = (client: IpAddress, offset: number): Uint8Array => (client.family === 4 || offset > 0 ? mask4 : mask6);
  const bytesOf = (client: IpAddress): Uint8Array => {
    const offset = offsetOf(client);
    return maskOf(client, offset).map((byte, at) => byte & client.bytes[offset + at]!);
  };
  return {
    hash(client) {
      const offset = client === null ? 0 : offsetOf(client);
      const hash = client === null ? FNV_OFFSET : fnv1a32Masked(client.bytes, offset, maskOf(client, offset));
      return seed === null ? hash : seedHash(hash, seed);
    },
    bytes: bytesOf,
    text: (client) => keyText(bytesOf(client), options),
  };
}

/** For explanations: what is hashed, and what comes out. */
export function describeClientKey(keys: ClientKeys, client: IpAddress | null, seed: number | null): string {
  const key = client === null ? 'nothing (the client has no address)' : keys.text(client);
  const seeded = seed === null ? '' : `, seed ${seed} mixed in`;
  return `key ${key}, hash ${keys.hash(client)}${seeded}`;
}

function keyText(bytes: Uint8Array, options: ClientKeyOptions): string {
  const bits = bytes.length === 4 ? options.ipv4Prefix : options.ipv6Prefix;
  const text = ipFromBytes(bytes)?.text ?? '';
  return bits === bytes.length * 8 ? text : `${text}/${bits}`;
}

function nat64Prefix(text: string): readonly number[] {
  const prefix = parseCidr(text);
  if (prefix.family !== 6 || prefix.bits !== 96) {
    throw new ConfigError(`'${text}' is not a NAT64 prefix: it must be IPv6 with /96, like 2001:db8:64::/96`);
  }
  return [...prefix.bytes.subarray(0, NAT64_BYTES)];
}

function startsWithAny(bytes: Uint8Array, prefixes: readonly (readonly number[])[]): boolean {
  for (const prefix of prefixes) if (startsWith(bytes, prefix)) return true;
  return false;
}

function startsWith(bytes: Uint8Array, prefix: readonly number[]): boolean {
  for (let at = 0; at < prefix.length; at += 1) if (bytes[at] !== prefix[at]) return false;
  return true;
}
