import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { RestartBudget } from './restart-budget.ts';

test('the first end costs no wait, each further one in the same minute doubles it up to 30 s', () => {
  const budget = new RestartBudget(new FakeClock());
  const delays = Array.from({ length: 12 }, () => budget.noteEnd());
  assert.deepEqual(delays, [0, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
});

test('the budget is spent after five ends in a minute and whole again a minute later', async () => {
  const clock = new FakeClock();
  const budget = new RestartBudget(clock);
  for (let ends = 0; ends < 5; ends += 1) budget.noteEnd();
  assert.equal(budget.spent, false);
  budget.noteEnd();
  assert.equal(budget.spent, true);
  await clock.advance(60_001);
  assert.equal(budget.spent, false);
  assert.equal(budget.noteEnd(), 0);
});
