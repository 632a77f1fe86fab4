/** Whatever bytes come, in whatever pieces, from either side: the workers live and serve the next one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { site, startBalancer } from '../support/balance.ts';
import { ask, openClient } from '../support/raw-client.ts';
import { assertNoRestarts, startRecorder, unchunk } from '../support/recorder.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
const WORDS: readonly string[] = [
  'GET',
  'POST',
  'HEAD',
  ' ',
  '/',
  '*',
  'http://a/',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/9.9',
  '\r\n',
  '\r\n\r\n',
  '\n',
  '\r',
  '\0',
  ':',
  ': ',
  'Host: a',
  'Content-Length: 5',
  'Content-Length: -1',
  'Transfer-Encoding: chunked',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Connection: close',
  'Expect: 100-continue',
  'Cookie: lb=x',
  'X-Forwarded-For: 1.2.3.4',
  '5\r\nhello\r\n',
  '0\r\n\r\n',
  'ffffffff\r\n',
  'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n',
  '\xff\xfe',
  'x'.repeat(20_000),
  'HTTP/1.1 200 OK\r\n',
  'HTTP/1.1 101 Switching Protocols\r\n',
  'HTTP/1.1 103 Early\r\n\r\n',
  'HTTP/1.1 204 No Content\r\n\r\n',
];
const pieces = fc.array(fc.oneof(fc.constantFrom(...WORDS), fc.string({ unit: 'binary-ascii', maxLength: 20 })), {
  minLength: 1,
  maxLength: 12,
});
const ENDS = ['fin', 'reset'] as const;

test('garbage from clients, cut anywhere, never ends a worker', async (t) => {
  const upstream = await startRecorder(t);
  const balancer = await startBalancer(
    t,
    site(`reverse_proxy 127.0.0.1:${upstream.port} {\n    lb_policy cookie\n  }`),
    { workers: 2 },
  );
  await fc.assert(
    fc.asyncProperty(pieces, fc.constantFrom(...ENDS), async (parts, end) => {
      const client = await openClient(balancer.port);
      for (const part of parts) {
        client.send(part);
        await sleep(1);
      }
      if (end === 'reset') client.socket.resetAndDestroy();
      else client.socket.end();
      if (end === 'fin') await client.ended();
      client.close();
    }),
    { numRuns: 150 },
  );
  assert.equal((await ask(balancer.port, GET)).status, 200);
  assertNoRestarts(await balancer.metrics());
});

test('garbage from a server never ends a worker', async (t) => {
  let parts: readonly string[] = [];
  const upstream = await startRecorder(t, async (socket) => {
    for (const part of parts) {
      socket.write(part, 'latin1');
      await sleep(1);
    }
    socket.end();
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  await fc.assert(
    fc.asyncProperty(pieces, fc.constantFrom('GET', 'HEAD', 'UPGRADE'), async (given, kind) => {
      parts =
        kind === 'UPGRADE' ? ['HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', ...given] : given;
      const client = await openClient(balancer.port);
      const upgrade = kind === 'UPGRADE' ? 'Connection: Upgrade\r\nUpgrade: websocket\r\n' : 'Connection: close\r\n';
      client.send(`${kind === 'HEAD' ? 'HEAD' : 'GET'} / HTTP/1.1\r\nHost: a\r\n${upgrade}\r\n`);
      await client.ended();
      client.close();
    }),
    { numRuns: 150 },
  );
  parts = ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'];
  assert.equal((await ask(balancer.port, GET)).body, 'ok');
  assertNoRestarts(await balancer.metrics());
});

test('a request means the same wherever it is cut in two', async (t) => {
  const upstream = await startRecorder(t);
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const request =
    'POST /x?y HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;e=1\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\nGET / HTTP/1.0\r\n\r\n';
  await Promise.all(
    Array.from({ length: request.length - 1 }, async (_, index) => {
      const client = await openClient(balancer.port);
      client.send(request.slice(0, index + 1));
      await sleep(30);
      client.send(request.slice(index + 1));
      assert.deepEqual(
        [(await client.response()).status, (await client.response()).status],
        [200, 200],
        `cut at ${index + 1}`,
      );
      client.close();
    }),
  );
  assert.equal(upstream.requests.length, 2 * (request.length - 1));
  const posts = upstream.requests.filter(({ line }) => line === 'POST /x?y HTTP/1.1');
  assert.deepEqual([...new Set(posts.map(({ rawBody }) => unchunk(rawBody)))], ['abc']);
});

test('an answer means the same wherever it is cut in two', async (t) => {
  const answer =
    'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n';
  const upstream = await startRecorder(t, async (socket, { line }) => {
    const at = Number(line.split('/')[1]!.split(' ')[0]);
    socket.write(answer.slice(0, at));
    await sleep(30);
    socket.write(answer.slice(at));
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  await Promise.all(
    Array.from({ length: answer.length - 1 }, async (_, index) => {
      const client = await openClient(balancer.port);
      client.send(`GET /${index + 1} HTTP/1.1\r\nHost: a\r\n\r\n`);
      assert.equal((await client.response()).status, 103);
      const final = await client.response();
      assert.deepEqual(
        [final.status, final.body, final.trailers],
        [200, 'abc', [['X-Sum', '1']]],
        `cut at ${index + 1}`,
      );
      client.close();
    }),
  );
});
