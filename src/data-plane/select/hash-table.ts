/** The arithmetic of ip_hash step by step, for people who want to check it (PURE). */
import type { IpAddress } from '../../shared/net/ip.ts';
import { compileClientKeys, DEFAULT_KEY_OPTIONS, type ClientKeyOptions } from './client-key.ts';
import { FNV_OFFSET, FNV_PRIME, homeOf } from './hash.ts';

export interface HashTable {
  readonly address: string;
  /** What is hashed: dotted IPv4, or IPv6 with the prefix length it was masked to. */
  readonly key: string;
  /** One step a key byte; all numbers are uint32. */
  readonly steps: readonly HashStep[];
  readonly hash: number;
  readonly upstreams: number;
  /** Place of the home in the pool, counted from 0. */
  readonly index: number;
}

interface HashStep {
  readonly byte: number;
  /** Hash so far XOR byte. */
  readonly xor: number;
  /** That times the FNV prime, modulo 2^32. */
  readonly product: number;
}

/** `upstreams` >= 1. With a seed the hash is the seeded one, which is no longer the last product. */
export function makeHashTable(
  address: IpAddress,
  upstreams: number,
  options: ClientKeyOptions = DEFAULT_KEY_OPTIONS,
): HashTable {
  const keys = compileClientKeys(options);
  const steps: HashStep[] = [];
  let product = FNV_OFFSET;
  for (const byte of keys.bytes(address)) {
    const xor = (product ^ byte) >>> 0;
    product = Math.imul(xor, FNV_PRIME) >>> 0;
    steps.push({ byte, xor, product });
  }
  const hash = keys.hash(address);
  return { address: address.text, key: keys.text(address), steps, hash, upstreams, index: homeOf(hash, upstreams) };
}
