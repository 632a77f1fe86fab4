import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Mutex } from './mutex.ts';

test('tasks run one at a time in order, also after one that failed', async () => {
  const mutex = new Mutex();
  const gate = Promise.withResolvers<void>();
  const log: string[] = [];
  const first = mutex.run(async () => {
    await gate.promise;
    log.push('first');
    throw new Error('first failed');
  });
  const second = mutex.run(async () => log.push('second'));
  log.push('queued');
  gate.resolve();
  await assert.rejects(first, /first failed/);
  await second;
  assert.deepEqual(log, ['queued', 'first', 'second']);
});
