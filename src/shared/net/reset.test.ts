import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import * as net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { resetSocket } from './reset.ts';

test('a connection is ended with RST', async () => {
  const server = net.createServer((socket) => resetSocket(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = net.connect((server.address() as net.AddressInfo).port, '127.0.0.1');
  const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ECONNRESET');
  server.close();
});

test('a Unix socket, which knows no RST, is closed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-reset-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'socket');
  const server = net.createServer((socket) => resetSocket(socket)).listen(path);
  await once(server, 'listening');
  const client = net.connect(path).resume();
  client.on('error', () => {});
  await once(client, 'close');
  server.close();
});

test('a thread that resets a connection while its FIN is on the way can end', { timeout: 20_000 }, async () => {
  const code = `
    import { createServer } from 'node:net';
    import { parentPort } from 'node:worker_threads';
    import { resetSocket } from '${new URL('./reset.ts', import.meta.url).href}';
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.end('bye');
      process.nextTick(() => process.nextTick(() => {
        resetSocket(socket);
        process.exit(70);
      }));
    });
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
  `;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`));
  const [port] = (await once(worker, 'message')) as [number];
  const client = net.connect(port, '127.0.0.1').resume();
  client.on('error', () => {});
  assert.deepEqual(await once(worker, 'exit'), [70]);
});
