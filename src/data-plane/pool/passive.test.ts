import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { PassivePlan } from '../../shared/plan/types.ts';
import {
  CHUNK_ROWS,
  MEMBER_ELIGIBLE,
  MEMBER_HALF_OPEN,
  MEMBER_PASSIVE_FAILS,
  MEMBER_STATE,
  MEMBER_STRIKE,
  MEMBER_STRUCK,
  SHAPES,
} from '../../shared/state-table/layout.ts';
import { rememberedFails } from '../../shared/state-table/passive-fails.ts';
import { Rows, StateTable } from '../../shared/state-table/table.ts';
import { PassiveWatch, TESTED_ELSEWHERE } from './passive.ts';

const ROW = 3;
const START = 1_800_000_000_000;
const PLAN: PassivePlan = {
  failDurationMs: 1000,
  maxFails: 3,
  unhealthyStatus: [],
  unhealthyLatencyMs: 0,
  failRatio: 0,
  minRequests: 10,
};

function start(plan: Partial<PassivePlan> = {}) {
  const table = new StateTable();
  table.grow('member', 0, ROW);
  const { members } = table;
  members.store(ROW, MEMBER_STATE, MEMBER_ELIGIBLE);
  return { members, watch: new PassiveWatch({ ...PLAN, ...plan }, members) };
}

describe('what counts as a failure', () => {
  const { watch } = start({ unhealthyStatus: [5, 429], unhealthyLatencyMs: 100 });
  const cases: readonly (readonly [status: number, latencyMs: number, expected: boolean])[] = [
    [200, 99.9, false],
    [200, 100, true],
    [500, 1, true],
    [599, 1, true],
    [429, 1, true],
    [428, 1, false],
    [101, 1, false],
  ];
  for (const [status, latencyMs, expected] of cases) {
    test(`${status} after ${latencyMs} ms ${expected ? 'does' : 'does not'}`, () => {
      assert.equal(watch.isFailure(status, latencyMs), expected);
    });
  }
});

test('failures in a row are told from the last of max_fails on; a success starts anew', () => {
  const { watch } = start();
  const told = [false, false].map(() => watch.failed(ROW, 0, START));
  assert.deepEqual(told, [false, false]);
  assert.equal(watch.passed(ROW, 0, START), false);
  assert.deepEqual(
    [1, 2, 3, 4].map(() => watch.failed(ROW, 0, START)),
    [false, false, true, true],
  );
});

test('a failure older than fail_duration does not count, also where the word of its time wraps', () => {
  for (const from of [START, 2 ** 32 * 400 - 500, 2 ** 31 * 801 - 500]) {
    const { watch, members } = start({ maxFails: 2 });
    assert.equal(watch.failed(ROW, 0, from), false);
    assert.equal(rememberedFails(members, ROW, 1000, from + 1000), 1);
    assert.equal(rememberedFails(members, ROW, 1000, from + 1001), 0);
    assert.equal(watch.failed(ROW, 0, from + 1001), false);
    assert.equal(watch.failed(ROW, 0, from + 2001), true);
  }
});

test('of all that are picked for a member under test one gets the test', () => {
  const { watch, members } = start();
  members.store(ROW, MEMBER_STRIKE, 7);
  members.store(ROW, MEMBER_STATE, MEMBER_HALF_OPEN);
  assert.deepEqual([watch.take(ROW), members.load(ROW, MEMBER_STATE)], [-7, MEMBER_STRUCK]);
  assert.equal(watch.take(ROW), 7);
  assert.notEqual(TESTED_ELSEWHERE, 7);
});

/** Another worker takes the test right behind each look at the state. */
class RacedRows extends Rows {
  override load(row: number, word: number): number {
    const value = super.load(row, word);
    if (word === MEMBER_STATE && value === MEMBER_HALF_OPEN) this.store(row, MEMBER_STATE, MEMBER_STRUCK);
    return value;
  }
}

test('who loses the race for the test is told to pick again', () => {
  const members = new RacedRows('member');
  const { ints, doubles } = SHAPES.member;
  members.addChunk(new SharedArrayBuffer(CHUNK_ROWS * (ints * 4 + doubles * 8)));
  members.store(ROW, MEMBER_STRIKE, 7);
  members.store(ROW, MEMBER_STATE, MEMBER_HALF_OPEN);
  const watch = new PassiveWatch(PLAN, members);
  assert.deepEqual([watch.take(ROW), watch.take(ROW)], [TESTED_ELSEWHERE, 7]);
});

test('results of a test are told; late ones of tries from before the strike say nothing', () => {
  const { watch, members } = start({ maxFails: 1 });
  members.store(ROW, MEMBER_STRIKE, 7);
  assert.deepEqual([watch.failed(ROW, -7, START), watch.passed(ROW, -7, START)], [true, true]);
  assert.deepEqual([watch.failed(ROW, 0, START), watch.passed(ROW, 0, START)], [false, false]);
  assert.equal(watch.passed(ROW, -6, START), false);
  assert.equal(members.load(ROW, MEMBER_PASSIVE_FAILS), 0);
});

test('a struck member that is used because all are: a success is told, a failure is not', () => {
  const { watch, members } = start({ maxFails: 1 });
  members.store(ROW, MEMBER_STRIKE, 7);
  assert.deepEqual([watch.failed(ROW, 7, START), watch.passed(ROW, 7, START)], [false, true]);
});

/** A model of the rule: the length of the run of failures at the end, each no older than the one behind it by more than the window. */
test('in a row: told exactly when the run of failures is long enough', () => {
  const event = fc.record({ failed: fc.boolean(), laterMs: fc.integer({ min: 0, max: 1500 }) });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), fc.integer({ min: 1, max: 5 }), (events, maxFails) => {
      const { watch } = start({ maxFails });
      let at = START;
      let run = 0;
      let last = -Infinity;
      for (const { failed, laterMs } of events) {
        at += laterMs;
        if (!failed) {
          run = 0;
          assert.equal(watch.passed(ROW, 0, at), false);
          continue;
        }
        run = at - last > 1000 ? 1 : run + 1;
        last = at;
        assert.equal(watch.failed(ROW, 0, at), run >= maxFails);
      }
    }),
  );
});

test('ratio: told exactly when the window has enough requests and too many of them failed', () => {
  const event = fc.record({ failed: fc.boolean(), laterMs: fc.integer({ min: 0, max: 300 }) });
  const share = fc.constantFrom(0.1, 0.5, 0.9, 1);
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 60 }),
      share,
      fc.integer({ min: 1, max: 8 }),
      (events, failRatio, least) => {
        const { watch } = start({ failRatio, minRequests: least });
        let at = START;
        let begin = -Infinity;
        let [requests, fails] = [0, 0];
        for (const { failed, laterMs } of events) {
          at += laterMs;
          if (at - begin > 1000) [begin, requests, fails] = [at, 0, 0];
          requests += 1;
          fails += failed ? 1 : 0;
          if (failed) assert.equal(watch.failed(ROW, 0, at), requests >= least && fails / requests >= failRatio);
          else assert.equal(watch.passed(ROW, 0, at), false);
        }
      },
    ),
  );
});
