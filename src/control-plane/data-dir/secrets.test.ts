import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { GeneratedSecrets } from './secrets.ts';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

test('a secret survives in the data directory, readable by its owner only', (t) => {
  const dataDir = join(folder(t), 'data');
  const secret = new GeneratedSecrets(dataDir).secretFor('cookie/lb');
  assert.ok(secret.length >= 32);
  assert.equal(new GeneratedSecrets(dataDir).secretFor('cookie/lb'), secret);
  assert.equal(statSync(join(dataDir, 'cookie-secret')).mode & 0o777, 0o600);
});

test('every key and every data directory has its own secret', (t) => {
  const secrets = new GeneratedSecrets(folder(t));
  assert.notEqual(secrets.secretFor('cookie/a'), secrets.secretFor('cookie/b'));
  assert.notEqual(new GeneratedSecrets(folder(t)).secretFor('cookie/a'), secrets.secretFor('cookie/a'));
});

test('without a data directory the secret lives as long as the object', () => {
  const secrets = new GeneratedSecrets(undefined);
  assert.equal(secrets.secretFor('cookie/lb'), secrets.secretFor('cookie/lb'));
  assert.notEqual(new GeneratedSecrets(undefined).secretFor('cookie/lb'), secrets.secretFor('cookie/lb'));
});

test('a damaged file is refused, not used', (t) => {
  const dataDir = folder(t);
  writeFileSync(join(dataDir, 'cookie-secret'), 'short');
  assert.throws(() => new GeneratedSecrets(dataDir).secretFor('cookie/lb'), /damaged/);
});

test('a data directory that cannot be made is refused with the ways out', (t) => {
  const file = join(folder(t), 'file');
  writeFileSync(file, '');
  assert.throws(
    () => new GeneratedSecrets(join(file, 'data')).secretFor('cookie/lb'),
    /cannot be kept in \S+cookie-secret \(ENOTDIR\): .*XDG_DATA_HOME.*lb_policy cookie/,
  );
});
