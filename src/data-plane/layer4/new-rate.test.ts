import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMIT_NEW_PER_SECOND, SERVER_LIMITS } from '../../shared/state-table/layout.ts';
import { StateTable } from '../../shared/state-table/table.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { NewRate } from './new-rate.ts';

const ROW = 2;

function start(): { clock: FakeClock; rates: readonly NewRate[]; refused: () => number } {
  const table = new StateTable();
  const clock = new FakeClock();
  for (const lane of [0, 1, 2]) table.grow('server', lane, ROW);
  const rates = [1, 2].map((lane) => new NewRate({ clock, table, lane }));
  const refused = (): number =>
    [1, 2].reduce((sum, lane) => sum + table.servers(lane).total(ROW, SERVER_LIMITS + LIMIT_NEW_PER_SECOND), 0);
  return { clock, rates, refused };
}

test('the limit holds over all workers, and anew in each second', async () => {
  const { clock, rates, refused } = start();
  for (let second = 1; second <= 3; second += 1) {
    const admitted = Array.from({ length: 10 }, (_, nth) => rates[nth % 2]!.admit(ROW, 4));
    assert.equal(admitted.filter(Boolean).length, 4);
    assert.deepEqual(admitted.slice(0, 4), [true, true, true, true]);
    assert.equal(refused(), 6 * second);
    await clock.advance(1000);
  }
});

test('0 is no limit, and another server has its own', () => {
  const { rates, refused } = start();
  assert.ok(rates[0]!.admit(ROW, 1));
  assert.ok(rates[0]!.admit(ROW - 1, 1));
  assert.ok(rates[0]!.admit(ROW, 0));
  assert.equal(refused(), 0);
  assert.ok(!rates[1]!.admit(ROW, 1));
});
