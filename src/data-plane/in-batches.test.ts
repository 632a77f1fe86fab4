import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { inBatches } from './in-batches.ts';

test('each of many is done once, in order; the first ones at once, the others with pauses', async () => {
  const clock = new FakeClock();
  const done: number[] = [];
  const items = Array.from({ length: 1000 }, (_, at) => at);
  inBatches(clock, items, (item) => void done.push(item));
  assert.equal(done.length, 256);
  await clock.advance(0);
  assert.deepEqual(done, items);
  assert.equal(clock.pending, 0);
});

test('of nothing nothing is done, later neither', () => {
  const clock = new FakeClock();
  inBatches(clock, [], () => assert.fail());
  assert.equal(clock.pending, 0);
});
