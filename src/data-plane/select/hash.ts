/** The two hash functions of selection (PURE, HOT). Everything is uint32. */

/** FNV-1a, 32 bit: offset basis and prime. */
export const FNV_OFFSET = 2166136261;
export const FNV_PRIME = 16777619;
/** 2^32 divided by the golden ratio: spreads the step numbers of the search for a home. */
const GOLDEN = 0x9e3779b9;

export function fnv1a32(bytes: Uint8Array): number {
  return fnv1aBytes(FNV_OFFSET, bytes);
}

/** Goes on with `hash`, which begins as FNV_OFFSET. */
export function fnv1aBytes(hash: number, bytes: Uint8Array): number {
  let next = hash;
  for (let at = 0; at < bytes.length; at += 1) next = Math.imul(next ^ bytes[at]!, FNV_PRIME);
  return next >>> 0;
}

export function fnv1aByte(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, FNV_PRIME) >>> 0;
}

/**
 * FNV-1a over a text without copying it: one byte a character, which are the bytes of the wire for what came as
 * latin1; characters above U+00FF, which only a rewrite can make, count as two.
 */
export function fnv1aText(text: string): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    hash = Math.imul(hash ^ (code & 0xff), FNV_PRIME);
    if (code > 0xff) hash = Math.imul(hash ^ (code >>> 8), FNV_PRIME);
  }
  return hash >>> 0;
}

/** FNV-1a over `bytes[from, …]` with each byte masked first: hashes a prefix without copying it. */
export function fnv1a32Masked(bytes: Uint8Array, from: number, mask: Uint8Array): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < mask.length; at += 1) hash = Math.imul(hash ^ (bytes[from + at]! & mask[at]!), FNV_PRIME);
  return hash >>> 0;
}

/** Murmur3's 32-bit finaliser: every input bit reaches every output bit. */
export function fmix32(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** Mixes a configured seed into a hash; two tiers with different seeds place clients independently. */
export function seedHash(hash: number, seed: number): number {
  return fmix32(hash ^ fmix32(seed));
}

/** The client's first home: its place among all configured members, eligible or not. */
export function homeOf(hash: number, size: number): number {
  return hash % size;
}

/** The second home: a place among the members without the first. `size` >= 2. */
export function secondHomeOf(hash: number, size: number): number {
  const place = Math.floor(hash / size) % (size - 1);
  return place < homeOf(hash, size) ? place : place + 1;
}

/** The home of step s = 2, 3, …; may repeat earlier ones. */
export function laterHomeOf(hash: number, size: number, step: number): number {
  return fmix32(hash + Math.imul(step, GOLDEN)) % size;
}

/** Rendezvous score of a key and a member (uint32): the highest wins. */
export function rendezvousScore(keyHash: number, identityHash: number): number {
  return fmix32(keyHash ^ identityHash);
}

/** Score that gives each member a share proportional to its weight (> 0): the highest wins. */
export function weightedScore(score: number, weight: number): number {
  return -weight / Math.log((score + 0.5) / 4294967296);
}
