import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { LANE_HEARTBEAT } from '../../shared/state-table/layout.ts';
import { StateTable } from '../../shared/state-table/table.ts';
import { HangWatch } from './hang-watch.ts';

function watchOf(clock: FakeClock, timeoutMs: number): { table: StateTable; watch: HangWatch; hung: number[] } {
  const table = new StateTable();
  table.grow('lane', 0, 2);
  const hung: number[] = [];
  return { table, hung, watch: new HangWatch(table.lanes, clock, timeoutMs, (lane) => hung.push(lane)) };
}

test('a heartbeat that stands still for the timeout is a hang, told once; one that moves is none', async () => {
  const clock = new FakeClock();
  const { table, watch, hung } = watchOf(clock, 2000);
  watch.watch(1);
  watch.watch(2);
  for (let ms = 0; ms < 1500; ms += 250) {
    table.lanes.add(2, LANE_HEARTBEAT, 1);
    await clock.advance(250);
  }
  assert.deepEqual(hung, []);
  for (let ms = 0; ms < 3000; ms += 250) {
    table.lanes.add(2, LANE_HEARTBEAT, 1);
    await clock.advance(250);
  }
  assert.deepEqual(hung, [1]);
});

test('a stall of the whole process makes nobody hang', async () => {
  const { watch, hung, clock } = stallable();
  watch.watch(1);
  clock.stallMs = 60_000;
  await clock.advance(250);
  assert.deepEqual(hung, []);
});

test('a worker that was forgotten is not judged', async () => {
  const clock = new FakeClock();
  const { watch, hung } = watchOf(clock, 2000);
  watch.watch(1);
  watch.forget(1);
  await clock.advance(10_000);
  assert.deepEqual(hung, []);
});

test('a timeout shorter than the pause between beats is not taken', async () => {
  const clock = new FakeClock();
  const { watch, hung } = watchOf(clock, 10);
  watch.watch(1);
  await clock.advance(400);
  assert.deepEqual(hung, []);
});

test('a new timeout holds for a worker that stands still already, in both directions', async () => {
  const clock = new FakeClock();
  const { watch, hung } = watchOf(clock, 600_000);
  watch.watch(1);
  await clock.advance(3000);
  watch.setTimeout(1000);
  await clock.advance(1000);
  assert.deepEqual(hung, [1]);
  watch.watch(2);
  watch.setTimeout(60_000);
  await clock.advance(50_000);
  assert.deepEqual(hung, [1]);
  await clock.advance(20_000);
  assert.deepEqual(hung, [1, 2]);
});

test('setting the same timeout again and again does not keep the watch from looking', async () => {
  const clock = new FakeClock();
  const { watch, hung } = watchOf(clock, 2000);
  watch.watch(1);
  for (let ms = 0; ms < 3000; ms += 100) {
    watch.setTimeout(2000);
    await clock.advance(100);
  }
  assert.deepEqual(hung, [1]);
});

/** A clock whose `now` jumps ahead of its timers, as after SIGSTOP. */
class StallableClock extends FakeClock {
  stallMs = 0;

  override now(): number {
    return super.now() + this.stallMs;
  }
}

function stallable(): { clock: StallableClock; watch: HangWatch; hung: number[] } {
  const clock = new StallableClock();
  return { clock, ...watchOf(clock, 2000) };
}
