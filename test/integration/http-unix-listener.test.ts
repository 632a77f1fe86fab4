/** Sites on Unix sockets: `bind unix//path`. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { eventually, startBackend } from '../support/backend.ts';
import { globals, startBalancer } from '../support/balance.ts';

const OPTIONS = { timeout: 60_000 };

async function socketPath(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
  t.after(() => rm(folder, { recursive: true }));
  return join(folder, 'site.sock');
}

function ask(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: path, path: '/', headers: { Host: 'a.example' }, agent: false }, (response) =>
      resolve(text(response)),
    );
    asked.on('error', reject).end();
  });
}

function siteOn(path: string, body: string): string {
  return `${globals()}http://a.example {\n  bind unix/${path}|0660\n${body}\n}\n`;
}

test('a site on a Unix socket is proxied, and says nothing of a client that has no address', OPTIONS, async (t) => {
  const path = await socketPath(t);
  const backend = await startBackend(t, 'b', (asked, response) => {
    response.end(JSON.stringify([asked.headers.host, asked.headers['x-forwarded-for'] ?? null]));
  });
  const balancer = await startBalancer(t, siteOn(path, `  reverse_proxy 127.0.0.1:${backend.port}`));
  assert.deepEqual(JSON.parse(await ask(path)), ['a.example', null]);
  assert.deepEqual([...balancer.addresses()], [[`unix/${path}`, { host: `unix/${path}`, port: 0 }]]);
  assert.equal((await stat(path)).mode & 0o777, 0o660);
});

test('a reload keeps the socket, and one without it removes the file', OPTIONS, async (t) => {
  const path = await socketPath(t);
  const balancer = await startBalancer(t, siteOn(path, '  respond one'), { workers: 2 });
  const { ino } = await stat(path);
  await balancer.reload(siteOn(path, '  respond two'));
  assert.equal(await ask(path), 'two');
  assert.equal((await stat(path)).ino, ino);
  await balancer.reload(`${globals()}http://:0 {\n  bind 127.0.0.1\n  respond x\n}\n`);
  // The worker that owns it closes it once the new config is in force.
  const isGone = (): Promise<boolean> =>
    stat(path).then(
      () => false,
      ({ code }: NodeJS.ErrnoException) => code === 'ENOENT',
    );
  await eventually(isGone, 'the file is removed');
});

test('a socket that somebody listens on is refused, one that was left behind is replaced', OPTIONS, async (t) => {
  const path = await socketPath(t);
  const first = await startBalancer(t, siteOn(path, '  respond first'));
  await assert.rejects(startBalancer(t, siteOn(path, '  respond second')), /in use|listens/);
  assert.equal(await ask(path), 'first');
  await first.stop();
  await startBalancer(t, siteOn(path, '  respond second'));
  assert.equal(await ask(path), 'second');
});
