/** `max_conns_per_host`: connections to one server, exactly, over all workers. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { eventually, startBackend } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { valueOf } from '../support/metric.ts';
import { ask, get, openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

interface Counted {
  readonly port: number;
  /** Most requests that ran at the same time: a connection carries one at a time. */
  most(): number;
  /** Connections so far. */
  accepted(): number;
  readonly waiting: ServerResponse[];
}

/** Answers after `delayMs`, or when the test does (−1). */
async function startCounted(t: TestContext, delayMs: number): Promise<Counted> {
  const sockets = new Set<Socket>();
  const waiting: ServerResponse[] = [];
  let running = 0;
  let most = 0;
  let accepted = 0;
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    running += 1;
    most = Math.max(most, running);
    response.on('close', () => (running -= 1));
    if (delayMs < 0) waiting.push(response);
    else setTimeout(() => response.end('ok'), delayMs);
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    accepted += 1;
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    most: () => most,
    accepted: () => accepted,
    waiting,
  };
}

function limited(server: { readonly port: number }, max: number, options = ''): string {
  return site(proxyTo([server], `transport http {\nmax_conns_per_host ${max}\n${options}\n}`));
}

test('many requests share few connections, whatever worker they come to', async (t) => {
  const server = await startCounted(t, 5);
  const balancer = await startBalancer(t, limited(server, 3), { workers: 2 });
  const responses = await Promise.all(Array.from({ length: 60 }, () => get(balancer.port, '/')));
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
  assert.ok(server.most() <= 3, `${server.most()} at a time`);
});

test('an idle connection of one worker makes room for a request of another', async (t) => {
  const server = await startCounted(t, 0);
  const balancer = await startBalancer(t, limited(server, 1), { workers: 2 });
  for (let asked = 0; asked < 16; asked += 1) assert.equal((await get(balancer.port, '/')).status, 200);
  assert.equal(valueOf(await balancer.metrics(), 'holdfast_upstream_connections_open'), 1);
});

test('a worker that is always busy leaves the others their share', async (t) => {
  const server = await startCounted(t, 2);
  const balancer = await startBalancer(t, limited(server, 1, 'dial_timeout 60s'), { workers: 2 });
  // Both workers get some of these clients, and each of them goes on asking until all had answers.
  const answers = new Array<number>(12).fill(0);
  const askOn = async (_: unknown, at: number): Promise<void> => {
    const client = await openClient(balancer.port);
    while (answers.some((count) => count < 5)) {
      client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      assert.equal((await client.response()).status, 200);
      answers[at]! += 1;
    }
  };
  await Promise.all(answers.map(askOn));
  assert.equal(server.most(), 1);
});

test('a request that gets no connection in time is a 503, and the server no less healthy', async (t) => {
  const server = await startCounted(t, -1);
  const config = site(
    proxyTo([server], 'fail_duration 1m\ntransport http {\nmax_conns_per_host 1\ndial_timeout 200ms\n}'),
  );
  const balancer = await startBalancer(t, config);
  const first = await openClient(balancer.port);
  first.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await first.until(() => server.waiting.length === 1);
  assert.equal((await get(balancer.port, '/')).status, 503);
  assert.equal(balancer.upstreams()[0]?.state, 'up');
  server.waiting[0]!.end('ok');
  await first.until(() => first.received.endsWith('ok'));
});

test('another upstream takes the request that waited in vain', async (t) => {
  const full = await startCounted(t, -1);
  const other = await startBackend(t, 'other');
  const options = 'lb_policy first\ntransport http {\nmax_conns_per_host 1\ndial_timeout 200ms\n}';
  const balancer = await startBalancer(t, site(proxyTo([full, other], options)));
  const first = await openClient(balancer.port);
  first.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await first.until(() => full.waiting.length === 1);
  assert.equal((await get(balancer.port, '/')).body, 'other');
});

test('a client that goes while it waits leaves its place to others', async (t) => {
  const server = await startCounted(t, -1);
  const balancer = await startBalancer(t, limited(server, 1, 'dial_timeout 20s'));
  const [first, second, third] = await Promise.all([1, 2, 3].map(() => openClient(balancer.port)));
  first!.send('GET /1 HTTP/1.1\r\nHost: x\r\n\r\n');
  await first!.until(() => server.waiting.length === 1);
  second!.send('GET /2 HTTP/1.1\r\nHost: x\r\n\r\n');
  third!.send('GET /3 HTTP/1.1\r\nHost: x\r\n\r\n');
  await eventually(() => balancer.upstreams()[0]?.inFlight === 3, 'two requests wait');
  second!.socket.resetAndDestroy();
  await eventually(() => balancer.upstreams()[0]?.inFlight === 2, 'one of them left');
  server.waiting[0]!.end('ok');
  await third!.until(() => server.waiting.length === 2);
  assert.equal(server.waiting[1]!.req.url, '/3');
  server.waiting[1]!.end('ok');
});

test('a connection that is no use for a request makes room for one that is', async (t) => {
  const server = await startCounted(t, 0);
  const pools = ['/a', '/b'].map(
    (path, at) =>
      `handle ${path} {\n${proxyTo([server], `transport http {\nmax_conns_per_host 1\nlocal_address 127.0.0.${at + 1}\n}`)}\n}`,
  );
  const balancer = await startBalancer(t, site(pools.join('\n')));
  for (const path of ['/a', '/b', '/a', '/b']) assert.equal((await get(balancer.port, path)).status, 200);
  assert.equal(server.accepted(), 4);
});

test('tunnels and bodies go over such connections as over others', async (t) => {
  const app = await startBackend(t, 'app');
  const balancer = await startBalancer(t, limited(app, 1));
  const body = 'x'.repeat(200_000);
  const request = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
  const responses = await Promise.all([ask(balancer.port, request), ask(balancer.port, request)]);
  assert.deepEqual(
    responses.map(({ status }) => status),
    [200, 200],
  );
  assert.deepEqual(
    app.bodies.map(({ length }) => length),
    [body.length, body.length],
  );
});

test('a number out of range is refused with its line', async (t) => {
  await assert.rejects(startBalancer(t, limited({ port: 9 }, 1_000_001)), /from 0 to 1000000.*:\d+/);
});
