import { describeCandidates, describeMember, describePick } from './describe.ts';
import { isUsable, randomUsable } from './eligible.ts';
import type { PickRequest, Policy, PoolView } from './policy.ts';
import { bestOfDraws, FULL_SCAN_MEMBERS } from './draws.ts';

/** The member with the fewest exchanges and tunnels for its weight, over all workers; ties at random. */
export const leastConnPolicy: Policy = {
  name: 'least_conn',
  pick,
  answered: () => '',
  explain: (pool, request) => {
    const position = pick(pool, request);
    const how =
      pool.size > FULL_SCAN_MEMBERS
        ? `of a pool of more than ${FULL_SCAN_MEMBERS} two random candidates are compared`
        : 'the one with the fewest running exchanges for its weight is used, ties at random';
    return [
      describeCandidates(pool, request),
      how,
      ...(position < 0 ? [] : [`upstream ${describeMember(pool, position)} has ${pool.load(position)} running`]),
      describePick(pool, position),
    ];
  },
};

function pick(pool: PoolView, request: PickRequest): number {
  return pool.size > FULL_SCAN_MEMBERS
    ? bestOfDraws(pool, request, 2, randomUsable, costOf)
    : leastLoaded(pool, request);
}

/** Exchanges it would have for each unit of weight; a new server at the foot of its slow start is dear even when idle. */
export function costOf(pool: PoolView, position: number): number {
  return (pool.load(position) + 1) / pool.weight(position);
}

/** One pass: the n-th of equally loaded members takes the place with chance 1/n, which is fair to all. */
function leastLoaded(pool: PoolView, request: PickRequest): number {
  let best = -1;
  let bestCost = Infinity;
  let ties = 0;
  for (let position = 0; position < pool.size; position += 1) {
    if (!isUsable(pool, request, position)) continue;
    const cost = costOf(pool, position);
    if (cost > bestCost) continue;
    ties = cost < bestCost ? 1 : ties + 1;
    bestCost = cost;
    if (ties === 1 || request.random.next() * ties < 1) best = position;
  }
  return best;
}
