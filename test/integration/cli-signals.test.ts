/** How a running process ends: signals, grace periods, exit codes. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { eventually, startBackend } from '../support/backend.ts';
import { openClient } from '../support/raw-client.ts';
import { refuses, startRun } from '../support/run-process.ts';
import { proxyTo, site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };
const ADMIN = { admin: '127.0.0.1:0' };

test('SIGTERM refuses new connections, finishes running requests, and exits with 0', OPTIONS, async (t) => {
  const pending = Promise.withResolvers<ServerResponse>();
  const backend = await startBackend(t, 'backend', (_request, response) => pending.resolve(response));
  const running = await startRun(t, site(proxyTo([backend]), ADMIN));
  const client = await openClient(running.port);
  client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
  const response = await pending.promise;
  running.child.kill('SIGTERM');
  await eventually(() => refuses(running.port), 'new connections to be refused');
  assert.equal(running.child.exitCode, null);
  response.end('finished');
  const answer = await client.response();
  assert.deepEqual([answer.body, answer.header('connection')], ['finished', 'close']);
  client.socket.end();
  assert.equal(await running.ended, 0, running.stderr());
});

test('after the grace period whatever still runs is reset, and the exit code is 0', OPTIONS, async (t) => {
  const backend = await startBackend(t, 'backend', (_request, response) => void response.write('begin'));
  const running = await startRun(t, site(proxyTo([backend]), { ...ADMIN, globals: '\tgrace_period 200ms' }));
  const client = await openClient(running.port);
  client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
  await client.until(() => client.received.includes('begin'));
  running.child.kill('SIGTERM');
  assert.equal(await client.ended(), 'reset');
  assert.equal(await running.ended, 0, running.stderr());
});

test('SIGTERM ends a process with idle keep-alive connections by itself', OPTIONS, async (t) => {
  const running = await startRun(t, site('respond hello', ADMIN));
  const client = await openClient(running.port);
  client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
  await client.response();
  client.socket.on('end', () => client.socket.end());
  running.child.kill('SIGTERM');
  assert.equal(await client.ended(), 'fin');
  assert.equal(await running.ended, 0);
});
