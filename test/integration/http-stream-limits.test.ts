/** Tunnels with a limit: `stream_timeout`, and `stream_close_delay` once their handler is gone. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { startScripted } from '../support/backend.ts';
import { startPlane } from '../support/plane.ts';
import { openClient } from '../support/raw-client.ts';
import { site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };

interface Echo {
  readonly port: number;
  /** Close code the server saw, in order. */
  readonly codes: readonly number[];
}

async function startEcho(t: TestContext): Promise<Echo> {
  const codes: number[] = [];
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  server.on('connection', (socket) => {
    socket.on('error', () => {});
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    socket.on('close', (code) => codes.push(code));
  });
  t.after(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, codes };
}

async function openEcho(t: TestContext, port: number, path = '/'): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`);
  socket.on('error', () => {});
  t.after(() => socket.terminate());
  await once(socket, 'open');
  return socket;
}

async function echo(socket: WebSocket, text: string): Promise<void> {
  const back = once(socket, 'message', { signal: AbortSignal.timeout(10_000) });
  socket.send(text);
  assert.equal(String((await back)[0]), text);
}

async function closeCode(socket: WebSocket): Promise<number> {
  const [code] = (await once(socket, 'close', { signal: AbortSignal.timeout(20_000) })) as [number];
  return code;
}

const proxy = (port: number, options: string): string => `reverse_proxy 127.0.0.1:${port} {\n${options}\n}`;

test('stream_timeout says goodbye to both sides of a WebSocket', OPTIONS, async (t) => {
  const server = await startEcho(t);
  const { port } = await startPlane(t, site(proxy(server.port, 'stream_timeout 300ms')), { workers: 1 });
  const socket = await openEcho(t, port);
  await echo(socket, 'hello');
  assert.equal(await closeCode(socket), 1001);
  while (server.codes.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(server.codes, [1001]);
});

test('a tunnel of another protocol ends with FIN on both sides', OPTIONS, async (t) => {
  const upstream = await startScripted(t, (socket) => {
    socket.once('data', () => void socket.write('HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n'));
    socket.on('end', () => socket.end());
  });
  const { port } = await startPlane(t, site(proxy(upstream.port, 'stream_timeout 200ms')), { workers: 1 });
  const client = await openClient(port);
  await client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n').response();
  assert.equal(await client.ended(), 'fin');
  assert.equal(client.received, '');
  client.close();
});

test('a peer that does not answer the goodbye and goes on talking is reset', OPTIONS, async (t) => {
  const upstream = await startScripted(t, (socket) => {
    socket.on('end', () => {
      const timer = setInterval(() => void socket.write('more'), 50);
      socket.on('close', () => clearInterval(timer));
    });
    socket.once('data', () => void socket.write('HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n'));
  });
  const { port } = await startPlane(t, site(proxy(upstream.port, 'stream_timeout 100ms')), { workers: 1 });
  const client = await openClient(port);
  await client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n').response();
  const broken = new Promise<boolean>((resolve) => void upstream.sockets[0]!.on('close', resolve));
  assert.equal(await broken, true);
  assert.equal(client.received, '');
  client.close();
});

test('a reload ends tunnels whose handler it changes, after the delay; others go on', OPTIONS, async (t) => {
  const server = await startEcho(t);
  const config = (changed: string, other = ''): string =>
    site(
      `handle /changed {\n${proxy(server.port, `stream_close_delay 200ms\n${changed}`)}\n}\n` +
        `handle /same {\n${proxy(server.port, 'stream_close_delay 200ms\nheader_up X-Same 1')}\n}\n` +
        `handle /free {\n${proxy(server.port, changed)}\n}\n${other}`,
    );
  const { port, reload } = await startPlane(t, config(''), { workers: 1 });
  const changed = await openEcho(t, port, '/changed');
  const same = await openEcho(t, port, '/same');
  const free = await openEcho(t, port, '/free');
  await reload(config('', 'header X-Other 1'));
  for (const socket of [changed, same, free]) await echo(socket, 'still here');
  const ended = closeCode(changed);
  await reload(config('header_up X-New 1'));
  assert.equal(await ended, 1001);
  await echo(same, 'untouched');
  await echo(free, 'without a limit');
});

test('a config that brings the handler back in time keeps the tunnel', OPTIONS, async (t) => {
  const server = await startEcho(t);
  const before = site(proxy(server.port, 'stream_close_delay 1s'));
  const { port, reload } = await startPlane(t, before, { workers: 1 });
  const socket = await openEcho(t, port);
  await reload(site(proxy(server.port, 'stream_close_delay 1s\nheader_up X-New 1')));
  await reload(before);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await echo(socket, 'kept');
});
