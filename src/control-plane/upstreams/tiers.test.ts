import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MEMBER_BACKUP, MEMBER_DOWN, MEMBER_ELIGIBLE, MEMBER_INITIAL } from '../../shared/state-table/layout.ts';
import { countStandings, memberState, poolMode, type Standing } from './member-state.ts';
import { servingMode, stateInTier, tiersOf } from './tiers.ts';

type Placed = readonly [standing: Standing, backup: boolean];

function words(members: readonly Placed[], bestEffort = false): number[] {
  const counts = (backup: boolean): ReturnType<typeof countStandings> =>
    countStandings(members.filter((member) => member[1] === backup).map(([standing]) => standing));
  const tiers = tiersOf(counts(false), counts(true), bestEffort);
  return members.map(([standing, backup]) => stateInTier(standing, backup, tiers));
}

test('a backup stands by while another may be picked', () => {
  assert.deepEqual(
    words([
      ['eligible', false],
      ['eligible', true],
    ]),
    [MEMBER_ELIGIBLE, MEMBER_BACKUP],
  );
  assert.deepEqual(
    words([
      ['down', false],
      ['eligible', true],
    ]),
    [MEMBER_DOWN, MEMBER_ELIGIBLE],
  );
  assert.deepEqual(
    words([
      ['drain', false],
      ['eligible', true],
    ])[1],
    MEMBER_ELIGIBLE,
  );
});

test('a proven backup comes before an unproven upstream, an unproven backup after it', () => {
  assert.deepEqual(
    words([
      ['initial', false],
      ['eligible', true],
    ]),
    [MEMBER_INITIAL, MEMBER_ELIGIBLE],
  );
  assert.deepEqual(
    words([
      ['initial', false],
      ['initial', true],
    ]),
    [MEMBER_ELIGIBLE, MEMBER_INITIAL],
  );
  assert.deepEqual(
    words([
      ['down', false],
      ['initial', true],
    ]),
    [MEMBER_DOWN, MEMBER_ELIGIBLE],
  );
});

test('best effort tries backups too', () => {
  assert.deepEqual(
    words(
      [
        ['down', false],
        ['down', true],
      ],
      true,
    ),
    [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE],
  );
  assert.deepEqual(
    words(
      [
        ['out', false],
        ['down', true],
      ],
      true,
    ),
    [MEMBER_DOWN, MEMBER_ELIGIBLE],
  );
  assert.deepEqual(
    words(
      [
        ['down', false],
        ['down', true],
      ],
      false,
    ),
    [MEMBER_DOWN, MEMBER_DOWN],
  );
});

const standing = fc.constantFrom<Standing>(
  ...(['eligible', 'initial', 'drain', 'maint', 'down', 'out', 'struck', 'half-open', 'ejected'] as const),
);
const members = fc.array(fc.tuple(standing, fc.boolean()), { minLength: 1, maxLength: 8 });

test('without backups nothing differs from a pool of one tier', () => {
  fc.assert(
    fc.property(fc.array(standing, { minLength: 1, maxLength: 8 }), fc.boolean(), (standings, bestEffort) => {
      const counts = countStandings(standings);
      const mode = poolMode(counts, bestEffort);
      const tiers = tiersOf(counts, countStandings([]), bestEffort);
      assert.equal(servingMode(tiers), mode);
      for (const one of standings) assert.equal(stateInTier(one, false, tiers), memberState(one, mode));
    }),
  );
});

test('no backup is eligible beside another upstream, but in best effort; and somebody is when one tier alone would have somebody', () => {
  fc.assert(
    fc.property(members, (placed) => {
      const states = words(placed);
      const eligible = placed.filter((_, at) => states[at] === MEMBER_ELIGIBLE);
      assert.equal(new Set(eligible.map(([, backup]) => backup)).size <= 1, true);
      const useful = ['eligible', 'initial', 'struck', 'half-open', 'ejected'];
      assert.equal(
        eligible.length > 0,
        placed.some(([one]) => useful.includes(one)),
      );
    }),
  );
});
