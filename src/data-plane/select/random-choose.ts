import { describeCandidates, describeMember, describePick } from './describe.ts';
import { countUsable, isUsable, randomUsable } from './eligible.ts';
import { costOf } from './least-conn.ts';
import { bestOfDraws, FULL_SCAN_MEMBERS } from './draws.ts';
import type { PickRequest, Policy, PoolView } from './policy.ts';

/** Of `choose` different eligible members, drawn at random, the one with the least load for its weight. */
export function createRandomChoose(choose: number): Policy {
  const pick = (pool: PoolView, request: PickRequest): number =>
    pool.size > FULL_SCAN_MEMBERS
      ? bestOfDraws(pool, request, choose, randomUsable, costOf)
      : bestOfSample(pool, request, choose);
  return {
    name: 'random_choose',
    pick,
    answered: () => '',
    explain: (pool, request) => {
      const position = pick(pool, request);
      return [
        describeCandidates(pool, request),
        `the one with the fewest running exchanges of ${choose} random ones is used`,
        ...(position < 0 ? [] : [`upstream ${describeMember(pool, position)} has ${pool.load(position)} running`]),
        describePick(pool, position),
      ];
    },
  };
}

/**
 * One pass (Knuth's selection sampling): a member is drawn with the chance that is left of `choose` among
 * the usable ones not looked at yet. Equal costs are as random as the draw.
 */
function bestOfSample(pool: PoolView, request: PickRequest, choose: number): number {
  let candidates = countUsable(pool, request);
  let wanted = Math.min(choose, candidates);
  let best = -1;
  let bestCost = Infinity;
  let ties = 0;
  for (let position = 0; position < pool.size && wanted > 0; position += 1) {
    if (!isUsable(pool, request, position)) continue;
    const drawn = request.random.next() * candidates < wanted;
    candidates -= 1;
    if (!drawn) continue;
    wanted -= 1;
    const cost = costOf(pool, position);
    if (cost > bestCost) continue;
    ties = cost < bestCost ? 1 : ties + 1;
    bestCost = cost;
    if (ties === 1 || request.random.next() * ties < 1) best = position;
  }
  return best < 0 ? randomUsable(pool, request) : best;
}
