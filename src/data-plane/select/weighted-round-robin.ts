import { describeCandidates, describePick } from './describe.ts';
import { isUsable } from './eligible.ts';
import type { PickRequest, Policy, PoolView, WeightTable } from './policy.ts';
import { smoothTurns, weightedUsable } from './weighted.ts';

/** Turns looked at before chance decides: members that are away may own most of a round. */
const MAX_LOOKS = 64;
const NO_WEIGHTS: WeightTable = Object.freeze({ values: [], max: 0 });

/**
 * Turns by weight, evenly mixed, on a cursor that all workers share; they all have the same sequence, so
 * together they keep to it. The sequence is worked out anew when a weight changes. A member that cannot be
 * picked costs its turn, as in `round_robin`, so the others keep their proportions.
 */
export function createWeightedRoundRobin(): Policy {
  let known: WeightTable = NO_WEIGHTS;
  let turns: Uint32Array = smoothTurns(NO_WEIGHTS);
  const pick = (pool: PoolView, request: PickRequest): number => {
    const weights = pool.weightTable();
    if (weights !== known) {
      turns = smoothTurns(weights);
      known = weights;
    }
    return takeTurn(pool, request, turns);
  };
  return {
    name: 'weighted_round_robin',
    pick,
    answered: () => '',
    explain: (pool, request) => [
      describeCandidates(pool, request),
      `they take turns by weight (${pool.weightTable().values.join(' ')}); the next request goes to another one`,
      describePick(pool, pick(pool, request)),
    ],
  };
}

function takeTurn(pool: PoolView, request: PickRequest, turns: Uint32Array): number {
  const looks = Math.min(MAX_LOOKS, turns.length);
  for (let look = 0; look < looks; look += 1) {
    const position = turns[pool.nextTicket() % turns.length]!;
    if (isUsable(pool, request, position)) return position;
  }
  return weightedUsable(pool, request);
}
