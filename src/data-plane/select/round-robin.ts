import { describeCandidates, describePick } from './describe.ts';
import { isUsable, usableFrom } from './eligible.ts';
import type { PickRequest, Policy, PoolView } from './policy.ts';

/**
 * One member after the other, starting with the first, on a cursor that all workers share. `explain`
 * takes a ticket like a pick does: hand it a view whose rotation is a copy when that matters.
 */
export const roundRobinPolicy: Policy = {
  name: 'round_robin',
  pick,
  answered: () => '',
  explain: (pool, request) => [
    describeCandidates(pool, request),
    'they take turns; the next request goes to another one',
    describePick(pool, pick(pool, request)),
  ],
};

/**
 * A member that cannot be picked costs a ticket of its own. Walking on from it without one would
 * give all of its turns to its neighbour. Other threads take tickets in between, so that a whole round may
 * miss by bad luck: then the next usable member in order is taken.
 */
function pick(pool: PoolView, request: PickRequest): number {
  if (pool.size === 0) return -1;
  let position = 0;
  for (let turn = 0; turn < pool.size; turn += 1) {
    position = pool.nextTicket() % pool.size;
    if (isUsable(pool, request, position)) return position;
  }
  return usableFrom(pool, request, position);
}
