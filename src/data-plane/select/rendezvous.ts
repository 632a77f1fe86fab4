/** Rendezvous mapping (PURE, HOT): every member has a score for the key, the highest wins, ties to the first. */
import { fnv1a32, rendezvousScore, weightedScore } from './hash.ts';
import { takesOwn } from './eligible.ts';
import type { PickRequest, PoolView } from './policy.ts';

/** Of the members' configured texts, by position. */
export function identityHashesOf(identities: readonly string[]): Uint32Array {
  return Uint32Array.from(identities, (identity) => fnv1a32(Buffer.from(identity)));
}

/** The member that takes the key's clients with the highest weighted score; −1 for none. `identityHashes` by position. */
export function pickRendezvous(
  pool: PoolView,
  request: PickRequest,
  keyHash: number,
  identityHashes: Uint32Array,
): number {
  let best = -1;
  let bestScore = 0;
  for (let position = 0; position < pool.size; position += 1) {
    if (!takesOwn(pool, request, position)) continue;
    const score = memberScore(pool, position, keyHash, identityHashes);
    if (best < 0 || score > bestScore) {
      best = position;
      bestScore = score;
    }
  }
  return best;
}

/** Where the client would be if every member with a weight were eligible; −1 when all weights are 0. */
export function rendezvousHome(pool: PoolView, keyHash: number, identityHashes: Uint32Array): number {
  let best = -1;
  let bestScore = 0;
  for (let position = 0; position < pool.size; position += 1) {
    const score = memberScore(pool, position, keyHash, identityHashes);
    if (score > bestScore) {
      best = position;
      bestScore = score;
    }
  }
  return best;
}

/** Above 0 for a weight above 0. */
function memberScore(pool: PoolView, position: number, keyHash: number, identityHashes: Uint32Array): number {
  return weightedScore(rendezvousScore(keyHash, identityHashes[position]!), pool.weight(position));
}
