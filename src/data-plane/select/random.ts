import { describeCandidates, describePick } from './describe.ts';
import { randomUsable } from './eligible.ts';
import type { Policy } from './policy.ts';

/** Any eligible member, all with the same chance; weights do not count (0 is not eligible). */
export const randomPolicy: Policy = {
  name: 'random',
  pick: randomUsable,
  answered: () => '',
  explain: (pool, request) => [
    describeCandidates(pool, request),
    'all with the same chance; another request may go elsewhere',
    describePick(pool, randomUsable(pool, request)),
  ],
};
