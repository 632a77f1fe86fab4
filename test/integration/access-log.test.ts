import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend, eventually } from '../support/backend.ts';
import { globals, startBalancer } from '../support/balance.ts';
import { get, openClient } from '../support/raw-client.ts';

test('a request leaves one access line with what an operator asks for first', async (t) => {
  const backend = await startBackend(t, 'one');
  const balancer = await startBalancer(
    t,
    `${globals('  servers {\n    trusted_proxies static 127.0.0.0/8\n  }')}http://:0 {
      log
      reverse_proxy 127.0.0.1:${backend.port} {
        lb_policy ip_hash
      }
    }`,
  );
  await get(balancer.port, '/a"b?c=%22', { 'X-Forwarded-For': '203.0.113.5' });
  await eventually(() => balancer.accessLines.length === 1, 'one access line');
  const { time, duration_ms: durationMs, ...rest } = balancer.accessLines[0]!;
  assert.ok(!Number.isNaN(Date.parse(String(time))));
  assert.equal(typeof durationMs, 'number');
  assert.deepEqual(rest, {
    client: '203.0.113.5',
    peer: '127.0.0.1',
    method: 'GET',
    host: 'test.example',
    target: '/a"b?c=%22',
    proto: 'HTTP/1.1',
    status: 200,
    bytes: 3,
    upstream: `127.0.0.1:${backend.port}`,
    attempts: 1,
    affinity: 'hit',
  });
});

test('a client that goes away is logged with the status it was sent, or 499', async (t) => {
  const backend = await startBackend(t, 'one', (request, response) => {
    if (request.url === '/begun') response.write('begin');
  });
  const balancer = await startBalancer(t, `${globals()}http://:0 {\n log\n reverse_proxy 127.0.0.1:${backend.port}\n}`);
  for (const path of ['/begun', '/waiting']) {
    const client = await openClient(balancer.port);
    client.send(`GET ${path} HTTP/1.1\r\nHost: test.example\r\n\r\n`);
    await eventually(() => backend.requests.at(-1)?.url === path, 'the request to arrive');
    if (path === '/begun') await client.until(() => client.received.includes('begin'));
    client.socket.resetAndDestroy();
    await eventually(() => balancer.accessLines.some(({ target }) => target === path), 'its access line');
  }
  assert.deepEqual(
    balancer.accessLines.map(({ target, status }) => [target, status]),
    [
      ['/begun', 200],
      ['/waiting', 499],
    ],
  );
});

test('the access lines of each site go to the output it names', async (t) => {
  const lines: string[] = [];
  const site = (host: string, log: string): string => `http://${host}:0 {\n${log}\nrespond ok\n}\n`;
  const balancer = await startBalancer(
    t,
    globals() +
      site('out.example', 'log {\noutput stdout\n}') +
      site('err.example', 'log') +
      site('none.example', 'log {\noutput discard\n}'),
    {
      accessLog: (batch, output) => {
        for (const line of batch.trim().split('\n'))
          lines.push(`${output} ${(JSON.parse(line) as { host: string }).host}`);
      },
    },
  );
  for (const host of ['out.example', 'none.example', 'err.example']) await get(balancer.port, '/', { Host: host });
  await eventually(() => lines.length >= 2, 'two access lines');
  assert.deepEqual(lines.toSorted(), ['stderr err.example', 'stdout out.example']);
});
