import { describeCandidates, describePick } from './describe.ts';
import { usableFrom } from './eligible.ts';
import type { PickRequest, Policy, PoolView } from './policy.ts';

/** The first eligible member in configured order: one primary, the others in reserve. */
export const firstPolicy: Policy = {
  name: 'first',
  pick,
  answered: () => '',
  explain: (pool, request) => [
    describeCandidates(pool, request),
    'the first of them in configured order is used',
    describePick(pool, pick(pool, request)),
  ],
};

function pick(pool: PoolView, request: PickRequest): number {
  return usableFrom(pool, request, 0);
}
