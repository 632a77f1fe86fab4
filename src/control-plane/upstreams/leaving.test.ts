import assert from 'node:assert/strict';
import { test } from 'node:test';
import { READY, type EffectiveAdmin } from './admin-states.ts';
import { leavingOf, leavingOfOld, type Leaving } from './leaving.ts';

const UP = { admin: READY, weight: 1, verdict: 'up', tried: false } as const;
const DRAIN: EffectiveAdmin = { state: 'drain', deadline: 0, expired: false };
const UNTIL: EffectiveAdmin = { state: 'drain', deadline: 5000, expired: false };
const DOWN: Leaving = { cause: 'down', tried: false, hasOwnDeadline: false };

test('down, drained, in maintenance or of weight 0 it leaves; up, or not proven yet, it does not', () => {
  assert.equal(leavingOf(UP), null);
  assert.equal(leavingOf({ ...UP, verdict: 'initial' }), null);
  assert.equal(leavingOf({ ...UP, verdict: 'down' })?.cause, 'down');
  assert.equal(leavingOf({ ...UP, weight: 0 })?.cause, 'operator');
  assert.equal(leavingOf({ ...UP, admin: { ...DRAIN, state: 'maint' } })?.cause, 'operator');
});

test("the operator's word comes before the verdict, and is never tried", () => {
  const leaving = leavingOf({ admin: UNTIL, weight: 1, verdict: 'down', tried: true });
  assert.deepEqual(leaving, { cause: 'operator', tried: false, hasOwnDeadline: true });
  assert.equal(leavingOf({ ...UP, admin: DRAIN })?.hasOwnDeadline, false);
});

test('an old pool goes by those in force: one that sends work there is enough to stay', () => {
  assert.equal(leavingOfOld(READY, [DOWN, null]), null);
  assert.deepEqual(leavingOfOld(READY, [DOWN, { ...DOWN, tried: true }]), { ...DOWN, tried: true });
});

test('an address that none in force names was removed', () => {
  assert.deepEqual(leavingOfOld(READY, []), { cause: 'removed', tried: false, hasOwnDeadline: false });
  assert.equal(leavingOfOld(UNTIL, [])?.hasOwnDeadline, true);
});
