/** The table of Maglev hashing (PURE): who owns which of 65,537 places. */
import { fmix32, fnv1aText } from './hash.ts';
import type { WeightTable } from './policy.ts';

/** A prime, so that every step of a permutation reaches all places; 100 for each of 655 members. */
export const MAGLEV_SLOTS = 65_537;

/** Positions by place: half the memory for all pools but the largest. */
export type MaglevSlots = Uint16Array | Uint32Array;

/** No position of a pool whose slots are of 16 bits. */
const MAX_SHORT = 0xffff;
/** Makes a second, independent number of an identity's hash. */
const STEP_SEED = 0x7f4a7c15;

/**
 * The position that owns each place, in proportion to the weights; null when nobody has one. Each member has an order of its
 * own in which it would like the places, made of its configured text; in turns, each as often as its weight says, they take the
 * next free one. Members take their turns in the order of their texts, so nodes agree however their configs list them.
 *
 * Costs about M · ln M looks whatever the number of members: some 2 ms for a few of them, 20 ms for thousands.
 */
export function fillMaglevSlots(identities: readonly string[], weights: WeightTable): MaglevSlots | null {
  if (weights.max <= 0) return null;
  const order = orderByText(identities);
  const turns = takeTurns(shareSlots(order.map((position) => weights.values[position] ?? 0)));
  const hashes = order.map((position) => fnv1aText(identities[position]!));
  const next = Uint32Array.from(hashes, (hash) => fmix32(hash) % MAGLEV_SLOTS);
  const steps = Uint32Array.from(hashes, (hash) => 1 + (fmix32(hash ^ STEP_SEED) % (MAGLEV_SLOTS - 1)));
  const owners = order.length < MAX_SHORT ? new Uint16Array(MAGLEV_SLOTS) : new Uint32Array(MAGLEV_SLOTS);
  // A position that no member has: the place is free.
  const free = order.length;
  owners.fill(free);
  for (const member of turns) {
    const step = steps[member]!;
    let slot = next[member]!;
    while (owners[slot] !== free) slot = stepOn(slot, step);
    owners[slot] = order[member]!;
    next[member] = stepOn(slot, step);
  }
  return owners;
}

/** Places for each weight, exact to one, and at least one each; what rounding leaves goes to those who lost most by it. */
function shareSlots(weights: readonly number[]): Uint32Array {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const exact = weights.map((weight) => (MAGLEV_SLOTS * weight) / sum);
  const shares = Uint32Array.from(exact, (share) => (share === 0 ? 0 : Math.max(1, Math.floor(share))));
  const lost = (member: number): number => exact[member]! - shares[member]!;
  const byLoss = exact.map((_, member) => member).sort((one, other) => lost(other) - lost(one) || one - other);
  let left = MAGLEV_SLOTS - shares.reduce((total, share) => total + share, 0);
  for (const member of byLoss.slice(0, Math.max(0, left))) shares[member]! += 1;
  if (left >= 0) return shares;
  // The largest pay for those who would have none. Of more members than places the last ones go without.
  const byShare = byLoss.toSorted((one, other) => shares[other]! - shares[one]! || other - one);
  for (const keep of [1, 0]) {
    for (const member of byShare) {
      const given = Math.min(-left, Math.max(0, shares[member]! - keep));
      shares[member]! -= given;
      left += given;
    }
  }
  return shares;
}

/** Everybody's turns at even distances, whose is when: sorted by counting what falls on each of M moments. */
function takeTurns(shares: Uint32Array): Uint32Array {
  const ends = new Uint32Array(MAGLEV_SLOTS);
  eachTurn(shares, (moment) => void (ends[moment]! += 1));
  for (let moment = 1; moment < MAGLEV_SLOTS; moment += 1) ends[moment]! += ends[moment - 1]!;
  const turns = new Uint32Array(MAGLEV_SLOTS);
  eachTurn(shares, (moment, member) => {
    ends[moment]! -= 1;
    turns[ends[moment]!] = member;
  });
  return turns;
}

function eachTurn(shares: Uint32Array, visit: (moment: number, member: number) => void): void {
  for (const [member, share] of shares.entries()) {
    for (let turn = 0; turn < share; turn += 1) visit(Math.floor(((turn + 0.5) / share) * MAGLEV_SLOTS), member);
  }
}

function stepOn(slot: number, step: number): number {
  const next = slot + step;
  return next >= MAGLEV_SLOTS ? next - MAGLEV_SLOTS : next;
}

/** By code units, which are the same everywhere; a text that stands twice keeps its order. */
function orderByText(identities: readonly string[]): number[] {
  const textOf = (position: number): string => identities[position]!;
  return identities
    .map((_, position) => position)
    .sort((one, other) => (textOf(one) < textOf(other) ? -1 : textOf(one) > textOf(other) ? 1 : one - other));
}
