import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { Locks, STALE_MS } from './locks.ts';
import { FileStorage, MemoryStorage, storageName } from './storage.ts';

test('one of two nodes has a lock, and the other one after it was released', async () => {
  const storage = new MemoryStorage();
  const [here, there] = [new Locks(storage, new FakeClock()), new Locks(storage, new FakeClock())];
  const lock = await here.take('issue_a.test');
  assert.ok(lock !== null);
  assert.equal(await there.take('issue_a.test'), null);
  assert.ok((await there.take('issue_b.test')) !== null);
  await lock.release();
  assert.ok((await there.take('issue_a.test')) !== null);
});

test('a lock whose node died is taken over when it stood still long enough, by the clock of the looker', async () => {
  const storage = new MemoryStorage();
  await storage.create('locks/issue_a.test.lock', 'somebody-else 7');
  const clock = new FakeClock();
  const locks = new Locks(storage, clock);
  assert.equal(await locks.take('issue_a.test'), null);
  await clock.advance(STALE_MS - 1);
  assert.equal(await locks.take('issue_a.test'), null);
  await clock.advance(1);
  assert.ok((await locks.take('issue_a.test')) !== null);
});

test('a lock that is held for long is never stale', async () => {
  const storage = new MemoryStorage();
  const clock = new FakeClock();
  const lock = await new Locks(storage, clock).take('issue_a.test');
  const other = new Locks(storage, clock);
  for (let at = 0; at < 3 * STALE_MS; at += 5000) {
    assert.equal(await other.take('issue_a.test'), null);
    await clock.advance(5000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await lock?.release();
});

test('a folder keeps texts, creates a file once, and tells what it has', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-storage-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const storage = new FileStorage(folder);
  assert.equal(await storage.read('a/b'), null);
  assert.deepEqual(await storage.list('a'), []);
  const created = await Promise.all(['1', '2', '3'].map((text) => storage.create('a/b', text)));
  assert.deepEqual(
    created.filter((isFirst) => isFirst),
    [true],
  );
  await storage.write('a/b', 'new');
  assert.equal(await storage.read('a/b'), 'new');
  assert.deepEqual(await storage.list('a'), ['b']);
  await storage.remove('a/b');
  await storage.remove('a/b');
  assert.equal(await storage.read('a/b'), null);
});

test('no name leads out of the storage', () => {
  for (const name of ['..', '../../etc/passwd', '/etc', 'a/../b', '.hidden']) {
    assert.doesNotMatch(storageName(name), /\/|^\./, name);
  }
  assert.equal(storageName('*.Example.com'), 'wildcard_.example.com');
});
