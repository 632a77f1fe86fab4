import { describeCandidates, describeMember, describePick } from './describe.ts';
import { isUsable } from './eligible.ts';
import type { PickRequest, Policy, PoolView } from './policy.ts';
import { bestOfDraws, FULL_SCAN_MEMBERS } from './draws.ts';
import { weightedUsable } from './weighted.ts';

/**
 * The member with the fewest running for its weight, the one to be placed not counted: an idle server always comes before
 * a busy one, however light it is. Among equals chance decides, by weight. `least_conn` counts the new one in, and lets a
 * light server wait until a heavy one has work for its weight.
 */
export const weightedLeastConnPolicy: Policy = {
  name: 'weighted_least_conn',
  pick,
  answered: () => '',
  explain: (pool, request) => {
    const position = pick(pool, request);
    const how =
      pool.size > FULL_SCAN_MEMBERS
        ? `of a pool of more than ${FULL_SCAN_MEMBERS} two candidates drawn by weight are compared`
        : 'the one with the fewest running for its weight is used, ties at random by weight';
    return [
      describeCandidates(pool, request),
      how,
      ...(position < 0
        ? []
        : [
            `upstream ${describeMember(pool, position)} has ${pool.load(position)} running at weight ${pool.weight(position)}`,
          ]),
      describePick(pool, position),
    ];
  },
};

function pick(pool: PoolView, request: PickRequest): number {
  return pool.size > FULL_SCAN_MEMBERS
    ? bestOfDraws(pool, request, 2, weightedUsable, runningPerWeight)
    : leastLoaded(pool, request);
}

/** A weight of 0 is not eligible; for the moment in which it is read all the same it counts as the dearest. */
function runningPerWeight(pool: PoolView, position: number): number {
  const weight = pool.weight(position);
  return weight > 0 ? pool.load(position) / weight : Infinity;
}

/** One pass: of equals each takes the place with the chance of its weight among those seen so far. */
function leastLoaded(pool: PoolView, request: PickRequest): number {
  let best = -1;
  let bestCost = Infinity;
  let tied = 0;
  for (let position = 0; position < pool.size; position += 1) {
    if (!isUsable(pool, request, position)) continue;
    const cost = runningPerWeight(pool, position);
    if (cost > bestCost) continue;
    const weight = pool.weight(position);
    tied = cost < bestCost || best < 0 ? weight : tied + weight;
    bestCost = cost;
    if (tied === weight || request.random.next() * tied < weight) best = position;
  }
  return best;
}
