import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { eventually } from '../../../test/support/backend.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { silentLogger } from '../../shared/log.ts';
import type { LogFileSpec } from '../compile/compiled.ts';
import { AccessWriter } from './access-writer.ts';
import { msToNext } from './timed-rotation.ts';

const EIGHT = Date.UTC(2027, 0, 15, 8);
const MINUTE_MS = 60_000;

test('the next time of the day may be tomorrow, and is never now', () => {
  assert.equal(msToNext(EIGHT, [0, 481, 600], false), MINUTE_MS);
  assert.equal(msToNext(EIGHT, [480], false), 1440 * MINUTE_MS);
  assert.equal(msToNext(EIGHT, [0, 60], false), 16 * 60 * MINUTE_MS);
  assert.equal(msToNext(EIGHT + 1, [480, 481], false), MINUTE_MS - 1);
});

test('a file is rotated at its times, and no line is lost or written twice', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-rotate-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'access.log');
  const rotation = {
    bytes: 0,
    interval: '',
    atMinutes: [481, 482],
    keep: 10,
    keepDays: 0,
    gzip: true,
    localTime: false,
  };
  const spec: LogFileSpec = { sink: `file/${path}`, path, mode: 0o600, dirMode: 0o700, rotation };
  const clock = new FakeClock();
  assert.equal(clock.wall(), EIGHT);
  const streams = { stderr: new PassThrough(), stdout: new PassThrough() };
  const writer = new AccessWriter(streams, silentLogger, clock);
  await writer.open([spec]);
  const rotated = async (): Promise<string[]> => (await readdir(folder)).filter((name) => name.endsWith('.log.gz'));
  writer.write('one\n', spec.sink);
  await eventually(async () => (await readFile(path, 'utf8')) === 'one\n', 'the line is there');
  await clock.advance(MINUTE_MS);
  writer.write('two\n', spec.sink);
  await eventually(async () => (await rotated()).length === 1, 'the file was rotated');
  writer.write('three\n', spec.sink);
  await eventually(async () => (await readFile(path, 'utf8')).endsWith('three\n'), 'the new file is written');
  await clock.advance(MINUTE_MS);
  await eventually(async () => (await rotated()).length === 2, 'the file was rotated again');
  await writer.close();
  const texts = await Promise.all(
    (await rotated()).toSorted().map(async (name) => gunzipSync(await readFile(join(folder, name))).toString()),
  );
  assert.equal([...texts, await readFile(path, 'utf8')].join(''), 'one\ntwo\nthree\n');
  assert.match((await rotated()).toSorted()[0]!, /^access-2027-01-15T08-01-00\.000-1\.log\.gz$/);
  assert.equal(clock.pending, 0);
});
