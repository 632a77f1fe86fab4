import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../test/support/fake-clock.ts';
import type { ControlMessage } from '../shared/messages.ts';
import { ShutdownDelay } from './shutdown-delay.ts';

const ignore = (): void => {};

test('it takes its time, and tells workers when it ends, those that come later too', async () => {
  const clock = new FakeClock();
  const delay = new ShutdownDelay(clock);
  assert.deepEqual(delay.greeting(), []);
  const told: ControlMessage[] = [];
  const waited = delay.wait(5000, (message) => told.push(message));
  assert.deepEqual(told, [{ type: 'shutting-down', atMs: clock.wall() + 5000 }]);
  assert.deepEqual(delay.greeting(), told);
  await clock.advance(5000);
  assert.equal(await waited, false);
  assert.equal(delay.skip(), false, 'it is over');
});

test('somebody in a hurry ends it', async () => {
  const delay = new ShutdownDelay(new FakeClock());
  const waited = delay.wait(5000, ignore);
  assert.equal(delay.skip(), true);
  assert.equal(await waited, true);
});

test('skipped before it begins it tells nobody', async () => {
  const delay = new ShutdownDelay(new FakeClock());
  assert.equal(delay.skip(), false);
  assert.equal(await delay.wait(5000, () => assert.fail()), true);
});

test('without a delay nothing is told', async () => {
  assert.equal(await new ShutdownDelay(new FakeClock()).wait(0, () => assert.fail()), false);
});
