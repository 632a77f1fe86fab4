/** Reloads in full operation: nothing a client does is cut, and nothing of an old configuration stays behind. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { WebSocket, WebSocketServer } from 'ws';
import { eventually, startBackend } from '../support/backend.ts';
import { failuresOf, startLoad } from '../support/load.ts';
import { startPlane } from '../support/plane.ts';
import { get, openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };

/** Sends every message back. */
async function startEcho(t: TestContext): Promise<{ readonly port: number; readonly clients: Set<WebSocket> }> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  server.on('connection', (socket) => {
    socket.on('error', () => {});
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  t.after(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, clients: server.clients };
}

async function openEcho(t: TestContext, port: number): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`);
  socket.on('error', () => {});
  t.after(() => socket.terminate());
  await once(socket, 'open');
  return socket;
}

/** Sends `bytes` and waits for them to come back. */
async function echo(socket: WebSocket, bytes: Buffer): Promise<void> {
  const back = once(socket, 'message', { signal: AbortSignal.timeout(10_000) });
  socket.send(bytes);
  const [data] = (await back) as [Buffer];
  assert.ok(data.equals(bytes), `${data.length} other bytes came back for ${bytes.length}`);
}

interface Download {
  readonly port: number;
  /** Ends the response and says what it was made of. */
  finish(): string;
}

/** One response without an end: random bytes every few milliseconds, until `finish`. */
async function startDownload(t: TestContext): Promise<Download> {
  const digest = createHash('sha256');
  let stream: http.ServerResponse | null = null;
  const backend = await startBackend(t, 'download', (_request, response) => {
    stream = response;
    const timer = setInterval(() => {
      const chunk = randomBytes(4096);
      digest.update(chunk);
      response.write(chunk);
    }, 5);
    response.on('close', () => clearInterval(timer)).on('finish', () => clearInterval(timer));
  });
  return {
    port: backend.port,
    finish() {
      stream!.end();
      return digest.digest('hex');
    },
  };
}

/** Digest and length of what a client receives; rejects when the response is cut. */
async function download(port: number): Promise<{ readonly digest: string; readonly length: number }> {
  const request = http.get({ host: '127.0.0.1', port, path: '/download', agent: false });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  const digest = createHash('sha256');
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    digest.update(chunk);
    length += chunk.length;
  }
  return { digest: digest.digest('hex'), length };
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

function usedMb(): { readonly heap: number; readonly rss: number } {
  collectGarbage();
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed / 2 ** 20, rss: rss / 2 ** 20 };
}

test('a hundred reloads under load fail no request, cut no stream and leave nothing behind', OPTIONS, async (t) => {
  const [stays, ...comeAndGo] = await Promise.all(['stays', 'odd', 'even'].map((name) => startBackend(t, name)));
  const socketServer = await startEcho(t);
  const file = await startDownload(t);
  const config = (round: number): string =>
    site(
      [
        `handle /socket {\n${proxyTo([socketServer])}\n}`,
        `handle /download {\n${proxyTo([file])}\n}`,
        `handle {\nheader X-Round ${round}\n${proxyTo([stays!, comeAndGo[round % 2]!], 'lb_policy round_robin')}\n}`,
      ].join('\n'),
    );
  const { plane, port, reload } = await startPlane(t, config(0));
  const sockets = await Promise.all(Array.from({ length: 20 }, () => openEcho(t, port)));
  const received = download(port);
  const clients = Array.from({ length: 8 }, (_, index) => ({
    name: `client ${index}`,
    headers: index % 2 === 0 ? [] : ['Connection: close'],
  }));
  const load = startLoad(port, clients);
  t.after(() => load.stop());

  for (let round = 1; round <= 20; round += 1) await reload(config(round));
  await load.more(5);
  const before = usedMb();
  const rowsBefore = plane.slotRows().size;
  for (let round = 21; round <= 120; round += 1) {
    await Promise.all([reload(config(round)), echo(sockets[round % 20]!, randomBytes(1 + ((round * 977) % 20_000)))]);
  }
  assert.equal((await get(port)).header('x-round'), '120');
  await load.more(5);
  await load.stop();
  assert.deepEqual(failuresOf(load.answers), []);
  assert.ok(
    load.answers.some(({ backend }) => backend === 'odd') && load.answers.some(({ backend }) => backend === 'even'),
  );

  // The streams began before the first reload; they end when their own servers end them.
  const sent = file.finish();
  const { digest, length } = await received;
  assert.equal(digest, sent);
  assert.ok(length > 4096 * 20);
  for (const socket of sockets) {
    await echo(socket, randomBytes(100));
    socket.close(1000, 'done');
    assert.equal((await once(socket, 'close'))[0], 1000);
  }

  const after = usedMb();
  assert.ok(after.heap - before.heap < 10, `heap grew from ${before.heap} to ${after.heap} MB`);
  assert.ok(after.rss - before.rss < 150, `memory grew from ${before.rss} to ${after.rss} MB`);
  assert.equal(plane.slotRows().size, rowsBefore);
  const counts = (): number[] => plane.workers().flatMap(({ exchanges, tunnels }) => [exchanges, tunnels]);
  await eventually(() => counts().every((count) => count === 0), 'exchanges and tunnels to be counted out');
  assert.deepEqual([...new Set(plane.workers().map(({ generation }) => generation))], [121]);
  // Only a generation that is gone lets go of the idle connections of the servers it alone names.
  await eventually(() => comeAndGo[1]!.sockets.size === 0, 'connections to a removed upstream to close');
  assert.ok(stays!.sockets.size > 0);
});

test('a tunnel whose upstream is removed runs on to its own end', OPTIONS, async (t) => {
  const [socketServer, other] = [await startEcho(t), await startBackend(t, 'other')];
  const { plane, port, reload } = await startPlane(t, site(proxyTo([socketServer])));
  const socket = await openEcho(t, port);
  await reload(site(proxyTo([other])));
  assert.equal((await get(port)).body, 'other');
  for (let round = 0; round < 20; round += 1) await echo(socket, randomBytes(5000));
  assert.equal(
    plane.workers().reduce((sum, { tunnels }) => sum + tunnels, 0),
    1,
  );
  const [serverSide] = socketServer.clients;
  const ended = once(socket, 'close');
  serverSide!.close(1001, 'going away');
  assert.equal((await ended)[0], 1001, "the server's own close frame reaches the client");
  await eventually(() => plane.workers().every(({ tunnels }) => tunnels === 0), 'the tunnel to be counted out');
});

test('a request that runs while its upstream is removed is answered by it', OPTIONS, async (t) => {
  const waiting = Promise.withResolvers<http.ServerResponse>();
  const slow = await startBackend(t, 'slow', (_request, response) => waiting.resolve(response));
  const other = await startBackend(t, 'other');
  const { port, reload } = await startPlane(t, site(proxyTo([slow])));
  const answer = get(port);
  const response = await waiting.promise;
  await reload(site(proxyTo([other])));
  assert.equal((await get(port)).body, 'other');
  response.end('slow, but whole');
  assert.equal((await answer).body, 'slow, but whole');
  await eventually(() => slow.sockets.size === 0, 'the connection to the removed upstream to close');
});

test(
  'probes of a removed upstream and of a changed check end, though a stream still runs under the old config',
  OPTIONS,
  async (t) => {
    const begin = (request: http.IncomingMessage, response: http.ServerResponse): void => {
      if (request.url === '/stream') response.write('begin');
      else response.end();
    };
    const [kept, removed] = await Promise.all(['kept', 'removed'].map((name) => startBackend(t, name, begin)));
    const check = (uri: string): string => `health_uri ${uri}\nhealth_interval 50ms`;
    const { port, reload } = await startPlane(t, site(proxyTo([removed!, kept!], `lb_policy first\n${check('/old')}`)));
    const stream = await openClient(port);
    stream.send('GET /stream HTTP/1.1\r\nHost: a.test\r\n\r\n');
    await stream.until(() => stream.received.includes('begin'));
    const probesOf = (uri: string): number => kept!.requests.filter(({ url }) => url === uri).length;
    await eventually(() => probesOf('/old') > 3 && removed!.requests.length > 3, 'probes of both');
    await reload(site(proxyTo([kept!], check('/new'))));
    // A probe that was on its way when the plan changed may still arrive, so the count starts a little later.
    await eventually(() => probesOf('/new') > 3, 'probes of the new check');
    const [oldProbes, removedProbes] = [probesOf('/old'), removed!.requests.length];
    await eventually(() => probesOf('/new') > 15, 'more probes of the new check');
    assert.equal(probesOf('/old'), oldProbes);
    assert.equal(removed!.requests.length, removedProbes);
    assert.equal(stream.end, undefined);
    stream.close();
  },
);

test('after fifty reloads of an unchanged check its server is probed as often as before', OPTIONS, async (t) => {
  const server = await startBackend(t, 'server');
  const config = (round: number): string =>
    site(`header X-Round ${round}\n${proxyTo([server], 'health_uri /probe\nhealth_interval 100ms')}`);
  const { reload } = await startPlane(t, config(0));
  for (let round = 1; round <= 50; round += 1) await reload(config(round));
  const before = server.requests.length;
  const startedAt = performance.now();
  await eventually(() => server.requests.length >= before + 20, 'twenty probes');
  // Two schedules would need half of the time; a late machine only ever needs more.
  assert.ok(performance.now() - startedAt > 1500, 'several schedules probe the same server');
  assert.ok(server.requests.every(({ url }) => url === '/probe'));
});
