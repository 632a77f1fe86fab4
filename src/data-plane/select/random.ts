import { describeCandidates, describePick } from './describe.ts';
import type { Policy } from './policy.ts';
import { weightedUsable } from './weighted.ts';

/** Any eligible member, with a chance in proportion to its weight. */
export const randomPolicy: Policy = {
  name: 'random',
  pick: weightedUsable,
  answered: () => '',
  explain: (pool, request) => [
    describeCandidates(pool, request),
    'each with a chance in proportion to its weight; another request may go elsewhere',
    describePick(pool, weightedUsable(pool, request)),
  ],
};
