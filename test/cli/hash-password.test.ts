import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isPassword } from '../../src/shared/passwords/password-hash.ts';
import { runInProcess } from './in-process.ts';
import type { Ended } from './spawn.ts';

const LAUNCHER = fileURLToPath(new URL('../../bin/holdfast.js', import.meta.url));

/** The command with `input` on its stdin. */
async function runWith(input: string, ...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [LAUNCHER, 'hash-password', ...args], { stdio: 'pipe' });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, stdout, stderr };
}

test('the hash of --plaintext is printed, by bcrypt of cost 14 unless another is asked for', async () => {
  const bcrypt = await runInProcess(['hash-password', '--plaintext', 'sesame']);
  assert.match(bcrypt.stdout, /^\$2b\$14\$.{53}\n$/);
  const argon2id = await runInProcess(['hash-password', '-p', 'sesame', '-a', 'argon2id']);
  assert.match(argon2id.stdout, /^\$argon2id\$v=19\$m=47104,t=1,p=1\$/);
  for (const { stdout } of [bcrypt, argon2id]) assert.ok(isPassword(Buffer.from('sesame'), stdout.trim()));
});

test('without a terminal the first line of stdin is the password', async () => {
  const { code, stdout, stderr } = await runWith('sésame\nmore\n', '--algorithm', 'argon2id');
  assert.deepEqual([code, stderr], [0, '']);
  assert.ok(isPassword(Buffer.from('sésame'), stdout.trim()));
});

test('no password, an empty one and an unknown algorithm are told apart', async () => {
  const none = await runWith('');
  assert.deepEqual([none.code, none.stdout], [1, '']);
  assert.match(none.stderr, /no password was given/);
  assert.match((await runWith('\n')).stderr, /is empty/);
  const unknown = await runInProcess(['hash-password', '-p', 'x', '-a', 'md5']);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /bcrypt or argon2id, not 'md5'/);
});

test('a password of which bcrypt would ignore the end is refused', async () => {
  const { code, stderr } = await runInProcess(['hash-password', '-p', 'x'.repeat(73)]);
  assert.equal(code, 1);
  assert.match(stderr, /72 bytes.*argon2id/);
});
