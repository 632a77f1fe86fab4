/** Listening on Unix sockets: sites and layer-4 servers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { text } from 'node:stream/consumers';
import { startBackend } from '../support/backend.ts';
import { globals, startBalancer } from '../support/balance.ts';
import { temporaryFolder } from '../support/program.ts';

const OPTIONS = { timeout: 60_000 };

async function get(socketPath: string, path: string): Promise<{ status: number; body: string }> {
  const sent = request({ socketPath, path, headers: { Host: 'a.test' } });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}

test('a site listens on a Unix socket with the mode it was given, and goes on over a reload', OPTIONS, async (t) => {
  const path = join(await temporaryFolder(t), 'in.sock');
  const backend = await startBackend(t, 'backend');
  const config = (extra: string): string =>
    `${globals()}http://a.test {\n bind unix/${path}|0660\n${extra}\n reverse_proxy 127.0.0.1:${backend.port}\n}\n`;
  const balancer = await startBalancer(t, config(''), { workers: 2 });
  assert.equal((await stat(path)).mode & 0o777, 0o660);
  assert.equal((await get(path, '/')).status, 200);
  await balancer.reload(config(' header X-Second yes'));
  assert.equal((await get(path, '/')).status, 200);
});

test('a layer-4 server relays what comes in on a Unix socket', OPTIONS, async (t) => {
  const path = join(await temporaryFolder(t), 'in.sock');
  await startBalancer(t, globals(`layer4 {\n unix/${path}|0600 {\n route {\n echo\n }\n }\n }\n`));
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  const client = connect({ path });
  client.end('hello');
  assert.equal(await text(client), 'hello');
});
