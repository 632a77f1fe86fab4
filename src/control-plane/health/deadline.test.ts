import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { type Clock, systemClock } from '../../shared/clock.ts';
import { watchDeadline } from './deadline.ts';

test('a deadline expires once, at its time, and tells that nothing was late', async () => {
  const clock = new FakeClock();
  const expired: number[] = [];
  watchDeadline(clock, 100, (lateMs) => expired.push(lateMs));
  await clock.advance(99);
  assert.deepEqual(expired, []);
  await clock.advance(1000);
  assert.deepEqual(expired, [0]);
});

test('a cancelled deadline is silent, even between its timer and the look after the poll phase', async () => {
  const clock = new FakeClock();
  const expired: number[] = [];
  const early = watchDeadline(clock, 100, () => expired.push(1));
  early.cancel();
  const late = watchDeadline(clock, 100, () => expired.push(2));
  clock.after(100, () => late.cancel());
  await clock.advance(1000);
  assert.deepEqual(expired, []);
});

test('a loop that stood still is told as lateness', { timeout: 10_000 }, async () => {
  // The timer of a `Clock` does not keep the process alive, this one does.
  const alive = setInterval(() => {}, 1000);
  const lateMs = await new Promise<number>((resolve) => {
    watchDeadline(systemClock, 60, resolve);
    const until = performance.now() + 150;
    while (performance.now() < until);
  });
  clearInterval(alive);
  assert.ok(lateMs > 80, `late by ${lateMs} ms`);
});

test('a poll phase passes between the timer and the decision', async () => {
  const clock = new FakeClock();
  const polls: (() => void)[] = [];
  const expired: string[] = [];
  const held: Clock = {
    now: () => clock.now(),
    wall: () => clock.wall(),
    after: (delayMs, task) => clock.after(delayMs, task),
    afterPoll: (task) => void polls.push(task),
  };
  watchDeadline(held, 100, () => expired.push('kept'));
  const answered = watchDeadline(held, 100, () => expired.push('answered'));
  await clock.advance(1000);
  assert.deepEqual(expired, []);
  answered.cancel();
  for (const poll of polls) poll();
  assert.deepEqual(expired, ['kept']);
});
