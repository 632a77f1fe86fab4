import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { eventually } from '../../../test/support/backend.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { WatchedFiles } from './watched-files.ts';

interface Rig {
  readonly file: string;
  readonly watched: WatchedFiles;
  /** Calls so far. */
  readonly calls: () => number;
  /** What the next calls answer. */
  ready: boolean;
  /** Turns the clock until a look was had at the files. */
  look(): Promise<void>;
}

function rig(t: TestContext): Rig {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-watch-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const clock = new FakeClock();
  let calls = 0;
  const self: Rig = {
    file: join(folder, 'a.pem'),
    watched: new WatchedFiles(clock, () => {
      calls += 1;
      return self.ready;
    }),
    calls: () => calls,
    ready: true,
    look: async () => {
      const before = clock.pending;
      await clock.advance(5000);
      await eventually(() => clock.pending === before, 'the next look to be planned');
    },
  };
  t.after(() => self.watched.stop());
  writeFileSync(self.file, 'one');
  return self;
}

test('a change is told once; while it is not the time for it, again at the next look', async (t) => {
  const self = rig(t);
  self.watched.watch([self.file]);
  await self.look();
  assert.equal(self.calls(), 0);
  writeFileSync(self.file, 'other');
  self.ready = false;
  await self.look();
  await self.look();
  assert.equal(self.calls(), 2);
  self.ready = true;
  await self.look();
  await self.look();
  assert.equal(self.calls(), 3);
});

test('a file that is missing is on its way: nothing is told before it is back', async (t) => {
  const self = rig(t);
  self.watched.watch([self.file]);
  await self.look();
  unlinkSync(self.file);
  await self.look();
  assert.equal(self.calls(), 0);
  writeFileSync(self.file, 'back again');
  await self.look();
  assert.equal(self.calls(), 1);
});
