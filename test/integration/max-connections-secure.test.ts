/** `max_conns_per_host` over TLS and HTTP/2. */
import assert from 'node:assert/strict';
import { once, type EventEmitter } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { makeAuthority } from '../support/authority.ts';
import { eventually } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { valueOf } from '../support/metric.ts';
import { get, openClient } from '../support/raw-client.ts';
import { startH2, startHttps } from '../support/secure-backend.ts';

/** Most connections that were open to a server at the same time. */
function countOpen(server: EventEmitter): () => number {
  let open = 0;
  let most = 0;
  server.on('connection', (socket: Socket) => {
    open += 1;
    most = Math.max(most, open);
    socket.on('close', () => (open -= 1));
  });
  return () => most;
}

function front(t: TestContext, upstream: string, transport: string, workers = 1): Promise<TestBalancer> {
  return startBalancer(t, site(`reverse_proxy ${upstream} {\ntransport http {\n${transport}\n}\n}`), { workers });
}

function answerLater(stream: ServerHttp2Stream, ms: number): void {
  setTimeout(() => {
    if (stream.destroyed) return;
    stream.respond({ ':status': 200 });
    stream.end('ok');
  }, ms);
}

test('many requests share few connections over TLS, whatever worker they come to', async (t) => {
  const authority = await makeAuthority(t);
  const server = await startHttps(t, await authority.issue(['localhost']), (_request, response) => {
    setTimeout(() => response.end('ok'), 5);
  });
  const most = countOpen(server.server);
  const options = `tls_trust_pool file ${authority.rootFile}\nmax_conns_per_host 3`;
  const balancer = await front(t, `https://localhost:${server.port}`, options, 2);
  const responses = await Promise.all(Array.from({ length: 60 }, () => get(balancer.port)));
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
  assert.ok(most() <= 3, `${most()} at a time`);
});

test('one HTTP/2 connection carries many requests, and those it has no room for wait', async (t) => {
  const server = await startH2(t, (stream) => answerLater(stream, 5), { settings: { maxConcurrentStreams: 4 } });
  const balancer = await front(t, `h2c://127.0.0.1:${server.port}`, 'max_conns_per_host 1');
  const responses = await Promise.all(Array.from({ length: 40 }, () => get(balancer.port)));
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
  assert.equal(server.sessions.length, 1);
});

test('two workers take turns with one HTTP/2 connection, though one of them always uses it', async (t) => {
  const using = new Map<unknown, number>();
  let most = 0;
  const server = await startH2(t, (stream) => {
    const { session } = stream;
    using.set(session, (using.get(session) ?? 0) + 1);
    most = Math.max(most, [...using.values()].filter((streams) => streams > 0).length);
    stream.on('close', () => using.set(session, (using.get(session) ?? 0) - 1));
    answerLater(stream, 2);
  });
  const balancer = await front(t, `h2c://127.0.0.1:${server.port}`, 'max_conns_per_host 1', 2);
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
  assert.equal(most, 1);
});

test('a stream without end keeps its connection, which goes on taking others', async (t) => {
  const server = await startH2(t, (stream, headers) => {
    if (headers[':path'] !== '/endless') return answerLater(stream, 1);
    stream.respond({ ':status': 200 });
    stream.write('begun');
  });
  const config = 'max_conns_per_host 1\ndial_timeout 300ms';
  const balancer = await front(t, `h2c://127.0.0.1:${server.port}`, config, 2);
  const endless = await openClient(balancer.port);
  endless.send('GET /endless HTTP/1.1\r\nHost: x\r\n\r\n');
  await endless.until(() => endless.received.includes('begun'));
  // The other worker has no place, whoever comes to it gets a 503; its asking must not end what works.
  const statuses = await Promise.all(Array.from({ length: 24 }, async () => (await get(balancer.port)).status));
  assert.ok(statuses.every((status) => status === 200 || status === 503));
  await eventually(
    async () => (await get(balancer.port)).status === 200,
    'a request over the connection that is there',
  );
  assert.equal(server.sessions.length, 1);
  endless.close();
});

test('a request to switch protocols gets the place of an HTTP/2 connection that is idle', async (t) => {
  const http2 = await startH2(t, (stream) => answerLater(stream, 1));
  const first: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    t.after(() => void socket.destroy());
    socket.once('data', (chunk: Buffer) => {
      first.push(chunk.toString('latin1', 0, 3));
      if (first.length > 1) return;
      socket.pause();
      socket.unshift(chunk);
      http2.server.emit('connection', socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const balancer = await front(t, `h2c://127.0.0.1:${port}`, 'max_conns_per_host 1');
  assert.equal((await get(balancer.port)).status, 200);
  const client = await openClient(balancer.port);
  client.send('GET /up HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  await eventually(() => first.length === 2, 'another connection');
  assert.deepEqual(first, ['PRI', 'GET']);
  const open = valueOf(await balancer.metrics(), 'holdfast_upstream_connections_open');
  assert.equal(open, 1, 'the first one is closed');
  client.close();
});
