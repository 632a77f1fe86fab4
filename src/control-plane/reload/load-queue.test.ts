import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoadQueue, ReplacedError } from './load-queue.ts';

test('a second load waits for the first, and one that arrives meanwhile replaces it', async () => {
  const queue = new LoadQueue();
  const gate = Promise.withResolvers<void>();
  const ran: number[] = [];
  const load =
    (id: number, until: Promise<void> = Promise.resolve()) =>
    (): Promise<number> =>
      until.then(() => (ran.push(id), id));
  const first = queue.run(load(1, gate.promise));
  const second = queue.run(load(2));
  const third = queue.run(load(3));
  await assert.rejects(second, ReplacedError);
  assert.deepEqual(ran, []);
  gate.resolve();
  assert.deepEqual(await Promise.all([first, third]), [1, 3]);
  assert.deepEqual(ran, [1, 3]);
});

test('a load that fails lets the next one run', async () => {
  const queue = new LoadQueue();
  const first = queue.run(() => Promise.reject(new Error('bad config')));
  const second = queue.run(() => Promise.resolve('good'));
  await assert.rejects(first, /bad config/);
  assert.equal(await second, 'good');
  assert.equal(await queue.run(() => Promise.resolve('later')), 'later');
});
