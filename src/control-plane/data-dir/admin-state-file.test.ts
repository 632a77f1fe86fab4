import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { loggerTo, silentLogger } from '../../shared/log.ts';
import { AdminStateFile } from './admin-state-file.ts';

const RECORD = {
  key: '10.0.0.1:80',
  state: 'maint',
  deadline: 0,
  stateOrder: 1,
  weight: null,
  weightOrder: 0,
} as const;

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

test('what was written is read after a restart', (t) => {
  const dataDir = join(folder(t), 'data');
  assert.deepEqual(new AdminStateFile(dataDir, silentLogger).read(), []);
  new AdminStateFile(dataDir, silentLogger).write([RECORD]);
  assert.deepEqual(new AdminStateFile(dataDir, silentLogger).read(), [RECORD]);
});

test('a damaged file is reported and does not stop a start', (t) => {
  const dataDir = folder(t);
  writeFileSync(join(dataDir, 'admin-states.json'), '{"key":');
  const warnings: string[] = [];
  const log = loggerTo((_level, message) => warnings.push(message));
  assert.deepEqual(new AdminStateFile(dataDir, log).read(), []);
  assert.match(warnings.join(), /cannot be read/);
});
