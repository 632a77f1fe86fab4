import type { Policy } from './policy.ts';

/** Of a pool without members: DNS has not named anybody yet. */
export const NOBODY: Policy = Object.freeze({
  name: 'nobody',
  pick: () => -1,
  answered: () => '',
  explain: () => ['the pool has no upstream: nothing was found in DNS so far'],
});
