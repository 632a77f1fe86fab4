/** Upgraded connections: every byte once and in order, FIN as FIN, RST as RST. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { eventually, startScripted, type ScriptedUpstream } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { openClient, type RawClient } from '../support/raw-client.ts';
import { assertNoRestarts, sampleOf, startRecorder } from '../support/recorder.ts';

const UPGRADE =
  'GET /chat HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-Own: 1\r\n\r\n';

function startFront(t: TestContext, upstream: { readonly port: number }): Promise<TestBalancer> {
  return startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
}

/** Switches on the first head and hands over; `received` afterwards holds head and raw bytes. */
function startSwitching(t: TestContext, bytes: readonly string[] = [SWITCH]): Promise<ScriptedUpstream> {
  return startScripted(t, (socket, _, received) => {
    let switched = false;
    socket.on('data', () => {
      if (switched || !received().includes('\r\n\r\n')) return;
      switched = true;
      bytes.forEach((part, index) => setTimeout(() => socket.write(part, 'latin1'), 30 * index));
    });
  });
}

function tunnelBytes(received: string): string {
  return received.slice(received.indexOf('\r\n\r\n') + 4);
}

async function openTunnel(balancer: TestBalancer): Promise<RawClient> {
  const client = await openClient(balancer.port);
  assert.equal((await client.send(UPGRADE).response()).status, 101);
  return client;
}

test('bytes written together with the 101 arrive', async (t) => {
  const balancer = await startFront(t, await startSwitching(t, [`${SWITCH}\x81\x02hi`]));
  const client = await openTunnel(balancer);
  await client.until(() => client.received === '\x81\x02hi');
  client.close();
});

test('bytes written together with the request arrive once, behind the 101', async (t) => {
  const upstream = await startSwitching(t);
  const balancer = await startFront(t, upstream);
  const client = await openClient(balancer.port);
  client.send(`${UPGRADE}\x81\x82mask\x01\x02`);
  assert.equal((await client.response()).status, 101);
  await eventually(() => tunnelBytes(upstream.received[0]!) === '\x81\x82mask\x01\x02', 'the early frame');
  client.send('later');
  await eventually(() => tunnelBytes(upstream.received[0]!) === '\x81\x82mask\x01\x02later', 'the frame behind it');
  client.close();
});

test('early bytes beyond what is kept wait in the socket, and none is lost', async (t) => {
  const upstream = await startSwitching(t, ['HTTP/1.1 100 Continue\r\n\r\n', '', '', SWITCH]);
  const balancer = await startFront(t, upstream);
  const client = await openClient(balancer.port);
  let early = '';
  for (let line = 0; early.length < 500_000; line += 1) early += `${line};`;
  client.send(UPGRADE + early);
  assert.equal((await client.response()).status, 101);
  client.send('last');
  await eventually(() => tunnelBytes(upstream.received[0]!).endsWith('last'), 'all early bytes');
  assert.ok(tunnelBytes(upstream.received[0]!) === `${early}last`);
  client.close();
});

test('a 101 split inside its head is one 101', async (t) => {
  const balancer = await startFront(t, await startSwitching(t, [SWITCH.slice(0, 25), SWITCH.slice(25), 'x']));
  const client = await openClient(balancer.port);
  const response = await client.send(UPGRADE).response();
  assert.equal(response.status, 101);
  assert.equal(response.header('X-Own'), '1');
  assert.equal(response.header('Upgrade'), 'websocket');
  assert.match(response.header('Connection')!, /^upgrade$/i);
  await client.until(() => client.received === 'x');
  client.close();
});

test('a tunnel after a chunked answer on the same connection carries raw bytes', async (t) => {
  const upstream = await startScripted(t, (socket, _, received) => {
    socket.on('data', () => {
      if (received().endsWith('ping')) socket.write('pong');
      else if (received().includes('Upgrade')) socket.write(SWITCH);
      else socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n');
    });
  });
  const balancer = await startFront(t, upstream);
  const client = await openClient(balancer.port);
  client.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n');
  assert.equal((await client.response()).body, 'ok');
  assert.equal((await client.send(UPGRADE).response()).status, 101);
  client.send('ping');
  await client.until(() => client.received.length >= 4);
  assert.equal(client.received, 'pong');
  assert.equal(upstream.sockets.length, 1);
  client.close();
});

test('a refused upgrade is an ordinary answer, and the connection goes on', async (t) => {
  const upstream = await startRecorder(t, (socket, { line }) => {
    const status = line.startsWith('GET /chat') ? '403 Forbidden' : '200 OK';
    socket.write(`HTTP/1.1 ${status}\r\nContent-Length: 2\r\n\r\nno`);
  });
  const balancer = await startFront(t, upstream);
  const client = await openClient(balancer.port);
  assert.equal((await client.send(UPGRADE).response()).status, 403);
  assert.equal((await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n').response()).status, 200);
  client.close();
});

test('a 101 nobody asked for, for another protocol, or before the request is whole is 502 and counted', async (t) => {
  const upstream = await startScripted(t, (socket) => void socket.on('data', () => void socket.write(SWITCH)));
  const balancer = await startFront(t, upstream);
  const requests = [
    'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
    UPGRADE.replace('websocket', 'other/1'),
    UPGRADE.replace('GET', 'POST').replace('\r\n\r\n', '\r\nContent-Length: 5\r\n\r\n'),
  ];
  for (const request of requests) {
    const client = await openClient(balancer.port);
    assert.equal((await client.send(request).response()).status, 502);
    client.close();
  }
  const failures = `holdfast_upstream_failures_total{upstream="127.0.0.1:${upstream.port}",cause="invalid"}`;
  assert.equal(sampleOf(await balancer.metrics(), failures), 3);
});

test('h2c is not passed on: the server sees a plain request', async (t) => {
  const upstream = await startRecorder(t);
  const balancer = await startFront(t, upstream);
  const client = await openClient(balancer.port);
  client.send(
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n',
  );
  assert.equal((await client.response()).status, 200);
  for (const name of ['Upgrade', 'HTTP2-Settings', 'Connection'])
    assert.deepEqual(upstream.requests[0]!.values(name), []);
  client.close();
});

test('a half-close of the client is a half-close upstream, and the answer still comes', async (t) => {
  const upstream = await startSwitching(t);
  const balancer = await startFront(t, upstream);
  const client = await openTunnel(balancer);
  const ended = once(upstream.sockets[0]!, 'end');
  client.send('bye').socket.end();
  await ended;
  assert.equal(tunnelBytes(upstream.received[0]!), 'bye');
  upstream.sockets[0]!.end('the rest');
  assert.equal(await client.ended(), 'fin');
  assert.equal(client.received, 'the rest');
  await eventually(
    async () => sampleOf(await balancer.metrics(), 'holdfast_tunnels_open') === 0,
    'the tunnel to be over',
  );
});

test('a half-close of the server is a half-close to the client, and the client may go on', async (t) => {
  const upstream = await startSwitching(t);
  const balancer = await startFront(t, upstream);
  const client = await openTunnel(balancer);
  upstream.sockets[0]!.end('bye');
  assert.equal(await client.ended(), 'fin');
  assert.equal(client.received, 'bye');
  client.send('one more thing');
  await eventually(() => tunnelBytes(upstream.received[0]!) === 'one more thing', 'bytes after the half-close');
  client.socket.end();
  await eventually(() => upstream.sockets[0]!.closed, 'the end of both directions');
});

test('a reset of either side is a reset of the other', async (t) => {
  const upstream = await startSwitching(t);
  const balancer = await startFront(t, upstream);
  const first = await openTunnel(balancer);
  upstream.sockets[0]!.resetAndDestroy();
  assert.equal(await first.ended(), 'reset');
  const second = await openTunnel(balancer);
  let code = '';
  upstream.sockets[1]!.on('error', (error: NodeJS.ErrnoException) => (code = error.code ?? ''));
  second.socket.resetAndDestroy();
  await eventually(() => code !== '', 'an error at the server');
  assert.equal(code, 'ECONNRESET');
  await eventually(async () => sampleOf(await balancer.metrics(), 'holdfast_tunnels_open') === 0, 'no tunnel is left');
});

test('a client that resets while its upgrade is being decided harms nobody', async (t) => {
  const upstream = await startScripted(t, () => {});
  const balancer = await startFront(t, upstream);
  const client = await openClient(balancer.port);
  client.send(UPGRADE);
  await eventually(() => (upstream.received[0] ?? '').includes('\r\n\r\n'), 'the request');
  client.socket.resetAndDestroy();
  await eventually(() => upstream.sockets[0]!.closed, 'the connection to the server to be cut');
  assertNoRestarts(await balancer.metrics());
});

test('WebSocket clients and servers talk: text, 1 MiB binary, compression, subprotocol, ping, close code', async (t) => {
  const http = createServer();
  const server = new WebSocketServer({ server: http, perMessageDeflate: { threshold: 0 } });
  server.on('connection', (socket) => {
    socket.on('message', (data, binary) => socket.send(data, { binary }));
    socket.on('close', (code) => closes.push(code));
    socket.send('welcome');
  });
  const closes: number[] = [];
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of server.clients) socket.terminate();
    http.closeAllConnections();
    http.close();
  });
  const balancer = await startFront(t, http.address() as AddressInfo);
  const client = new WebSocket(`ws://127.0.0.1:${balancer.port}/chat`, ['one', 'two']);
  const messages: Buffer[] = [];
  client.on('message', (data: Buffer) => messages.push(data));
  await once(client, 'open');
  assert.equal(client.protocol, 'one');
  assert.match(client.extensions, /permessage-deflate/);
  const large = Buffer.from(Array.from({ length: 1 << 20 }, (_, index) => (index * 7 + (index >> 8)) & 255));
  client.send('text é');
  client.send(large);
  await eventually(() => messages.length === 3, 'three messages');
  assert.deepEqual(messages.slice(0, 2).map(String), ['welcome', 'text é']);
  assert.ok(messages[2]!.equals(large));
  client.ping('p');
  assert.equal(String((await once(client, 'pong'))[0]), 'p');
  client.close(4001, 'enough');
  await once(client, 'close');
  await eventually(() => closes.length === 1, 'the close at the server');
  assert.deepEqual(closes, [4001]);
});

test('bytes and the end of a client that did not wait for the 101 reach the upstream in this order', async (t) => {
  const upstream = await startScripted(t, (socket, _, received) => {
    socket.once('data', () => {
      setTimeout(
        () => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
        300,
      );
    });
    socket.on('end', () => socket.end(`got ${received().split('\r\n\r\n')[1]}`));
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nearly');
  client.socket.end();
  assert.equal((await client.response()).status, 101);
  assert.equal(await client.ended(), 'fin');
  assert.equal(client.received, 'got early');
});
