import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { RowAllocator } from './row-allocator.ts';

function start() {
  const clock = new FakeClock();
  const busy = new Set<number>();
  const cleared: number[] = [];
  const rows = new RowAllocator({
    clock,
    grow: () => {},
    idle: (row) => !busy.has(row),
    clear: (row) => void cleared.push(row),
  });
  return { clock, busy, cleared, rows };
}

test('a row is used again only after its rest, and cleared then', async () => {
  const { clock, cleared, rows } = start();
  assert.equal(rows.take(), 0);
  rows.give(0);
  assert.equal(rows.take(), 1);
  await clock.advance(10_000);
  assert.deepEqual(cleared, []);
  assert.equal(rows.take(), 0);
  assert.deepEqual(cleared, [0]);
  assert.equal(rows.take(), 2);
});

test('a row in which workers still count is not used again, and does not stand in the way of others', async () => {
  const { clock, busy, rows } = start();
  for (const row of [rows.take(), rows.take()]) rows.give(row);
  busy.add(0);
  await clock.advance(10_000);
  assert.equal(rows.take(), 1);
  assert.equal(rows.take(), 2);
  busy.clear();
  await clock.advance(10_000);
  assert.equal(rows.take(), 0);
});

test('a revived row keeps what it holds', async () => {
  const { clock, cleared, rows } = start();
  rows.give(rows.take());
  assert.equal(rows.revive(0), true);
  assert.equal(rows.revive(0), false);
  await clock.advance(60_000);
  assert.equal(rows.take(), 1);
  assert.deepEqual(cleared, []);
});
