import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  MEMBER_DOWN,
  MEMBER_DRAIN,
  MEMBER_ELIGIBLE,
  MEMBER_HALF_OPEN,
  MEMBER_INITIAL,
  MEMBER_MAINT,
  MEMBER_STRUCK,
} from '../../shared/state-table/layout.ts';
import {
  countStandings,
  memberState,
  poolMode,
  standingOf,
  withPassive,
  type EndpointFacts,
  type Standing,
} from './member-state.ts';

const ready = (verdict: EndpointFacts['verdict']): EndpointFacts => ({ verdict, admin: 'ready' });

function states(standings: readonly Standing[], bestEffort: boolean): readonly number[] {
  const mode = poolMode(countStandings(standings), bestEffort);
  return standings.map((standing) => memberState(standing, mode));
}

test('a member is as good as its best endpoint', () => {
  assert.equal(standingOf([ready('down'), ready('up')], 1), 'eligible');
  assert.equal(standingOf([ready('down'), ready('initial')], 1), 'initial');
  assert.equal(standingOf([ready('down'), ready('down')], 1), 'down');
  assert.equal(standingOf([{ verdict: 'up', admin: 'drain' }, ready('up')], 1), 'eligible');
  assert.equal(standingOf([{ verdict: 'up', admin: 'drain' }, ready('down')], 1), 'drain');
});

test('a member without an address is out', () => {
  assert.equal(standingOf([], 1), 'out');
});

test('drained keeps its clients only while it is alive; maintenance turns everybody away', () => {
  assert.equal(standingOf([{ verdict: 'up', admin: 'drain' }], 1), 'drain');
  assert.equal(standingOf([{ verdict: 'down', admin: 'drain' }], 1), 'out');
  assert.equal(standingOf([{ verdict: 'up', admin: 'maint' }], 1), 'maint');
  assert.equal(standingOf([{ verdict: 'down', admin: 'maint' }], 1), 'maint');
});

test('weight 0 turns new clients away and is never tried in best effort', () => {
  assert.equal(standingOf([ready('up')], 0), 'drain');
  assert.equal(standingOf([ready('down')], 0), 'out');
});

test('unproven members get work only while no other is eligible', () => {
  assert.deepEqual(states(['eligible', 'initial'], false), [MEMBER_ELIGIBLE, MEMBER_INITIAL]);
  assert.deepEqual(states(['down', 'initial', 'initial'], false), [MEMBER_DOWN, MEMBER_ELIGIBLE, MEMBER_ELIGIBLE]);
});

test('passive checks take away only what would be eligible', () => {
  assert.equal(withPassive('eligible', 'good'), 'eligible');
  assert.equal(withPassive('eligible', 'ejected'), 'ejected');
  for (const standing of ['initial', 'drain', 'maint', 'down', 'out'] as const) {
    assert.equal(withPassive(standing, 'struck'), standing);
  }
});

test('struck members are away while any other may be used, and all used when none is', () => {
  assert.deepEqual(states(['eligible', 'struck', 'half-open', 'ejected'], false), [
    MEMBER_ELIGIBLE,
    MEMBER_STRUCK,
    MEMBER_HALF_OPEN,
    MEMBER_DOWN,
  ]);
  assert.deepEqual(states(['initial', 'struck'], false), [MEMBER_ELIGIBLE, MEMBER_STRUCK]);
  for (const bestEffort of [false, true]) {
    assert.deepEqual(states(['down', 'struck', 'half-open', 'ejected', 'drain'], bestEffort), [
      MEMBER_DOWN,
      MEMBER_ELIGIBLE,
      MEMBER_ELIGIBLE,
      MEMBER_ELIGIBLE,
      MEMBER_DRAIN,
    ]);
  }
});

test('best effort tries all that are down, but none that is drained, in maintenance or nowhere', () => {
  const standings: Standing[] = ['down', 'drain', 'maint', 'out', 'down'];
  assert.deepEqual(states(standings, true), [
    MEMBER_ELIGIBLE,
    MEMBER_DRAIN,
    MEMBER_MAINT,
    MEMBER_DOWN,
    MEMBER_ELIGIBLE,
  ]);
  assert.deepEqual(states(standings, false), [MEMBER_DOWN, MEMBER_DRAIN, MEMBER_MAINT, MEMBER_DOWN, MEMBER_DOWN]);
  assert.deepEqual(states(['down', 'eligible'], true), [MEMBER_DOWN, MEMBER_ELIGIBLE]);
});

test('whatever the standings: work never leaves a member that is up, nor reaches one that is closed', () => {
  const standing = fc.constantFrom<Standing>('eligible', 'initial', 'drain', 'maint', 'down', 'out');
  fc.assert(
    fc.property(fc.array(standing, { minLength: 1, maxLength: 8 }), fc.boolean(), (standings, bestEffort) => {
      const words = states(standings, bestEffort);
      const anyUp = standings.includes('eligible');
      words.forEach((word, at) => {
        if (standings[at] === 'eligible') assert.equal(word, MEMBER_ELIGIBLE);
        else if (anyUp) assert.notEqual(word, MEMBER_ELIGIBLE);
        if (['drain', 'maint', 'out'].includes(standings[at]!)) assert.notEqual(word, MEMBER_ELIGIBLE);
      });
      const open = standings.some((one) => one === 'eligible' || one === 'initial' || (bestEffort && one === 'down'));
      assert.equal(words.includes(MEMBER_ELIGIBLE), open);
    }),
  );
});
