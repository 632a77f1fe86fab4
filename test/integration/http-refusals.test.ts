/** Heads that are refused: what their client is told, how soon, and what the access log says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, startBackend } from '../support/backend.ts';
import { globals, site, startBalancer } from '../support/balance.ts';
import { ask, openClient } from '../support/raw-client.ts';

const LOGGED = site('  log\n  respond ok');
/** None of these tests would end before this passed. */
const SLOW_HEADS = `${globals('  servers {\n    timeouts {\n      read_header 10m\n    }\n  }')}http://:0 {
  bind 127.0.0.1
  log
  respond ok
}
`;

test('a 400 says which rule was broken and repeats nothing of what was sent', async (t) => {
  const balancer = await startBalancer(t, LOGGED);
  const cases: readonly (readonly [string, RegExp])[] = [
    ['GET / HTTP/1.1\r\nHost: a\r\nX-Evil : zzz\r\n\r\n', /space before the colon \(RFC 9112 section 5\.1\)\.\n$/],
    ['GET /zzz HTTP/1.1\r\n\r\n', /no Host line \(RFC 9112 section 3\.2\)\.\n$/],
    ['GET / HTTP/1.1\nHost: zzz\n\n', /does not end with CR LF \(RFC 9112 section 2\.2\)\.\n$/],
    ['POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', /section 6\.3\)\.\n$/],
  ];
  for (const [request, rule] of cases) {
    const { status, body } = await ask(balancer.port, request);
    assert.equal(status, 400);
    assert.match(body, rule);
    assert.match(body, /^The request is not well-formed HTTP: [^\n]+\n$/);
    assert.doesNotMatch(body, /zzz|Evil/);
  }
});

test('a body that breaks a rule is told of and logged in the same way', async (t) => {
  const backend = await startBackend(t, 'one');
  const balancer = await startBalancer(t, site(`  log\n  reverse_proxy 127.0.0.1:${backend.port}`));
  const head = 'POST /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
  const { status, body } = await ask(balancer.port, `${head}zzz\r\n`);
  assert.equal(status, 400);
  assert.match(body, /: a chunk size is not a hexadecimal number \(RFC 9112 section 7\.1\)\.\n$/);
  await eventually(() => balancer.accessLines.length === 1, 'one access line');
  assert.partialDeepStrictEqual(balancer.accessLines[0], { target: '/up', status: 400, fault: 'chunk_size' });
});

test('a refused head leaves an access line that names the rule and no byte of the client', async (t) => {
  const balancer = await startBalancer(t, LOGGED);
  await ask(balancer.port, 'GET /zzz HTTP/1.1\r\nHost: a\r\nX: \u0001\r\n\r\n');
  await eventually(() => balancer.accessLines.length === 1, 'one access line');
  const { time, bytes, ...rest } = balancer.accessLines[0]!;
  assert.ok(!Number.isNaN(Date.parse(String(time))));
  assert.ok(Number(bytes) > 0);
  assert.deepEqual(rest, {
    client: '127.0.0.1',
    peer: '127.0.0.1',
    method: '',
    host: '',
    target: '',
    proto: '',
    status: 400,
    duration_ms: 0,
    upstream: '',
    attempts: 0,
    affinity: '',
    fault: 'field_value',
  });
});

test('a head that does not come in time is logged too, and a request that is fine names no fault', async (t) => {
  const config = `${globals('  servers {\n    timeouts {\n      read_header 100ms\n    }\n  }')}http://:0 {
    bind 127.0.0.1
    log
    respond ok
  }`;
  const balancer = await startBalancer(t, config);
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost:');
  await client.ended();
  await ask(balancer.port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await eventually(() => balancer.accessLines.length === 2, 'two access lines');
  assert.deepEqual(
    balancer.accessLines.map(({ status, fault }) => [status, fault]),
    [
      [408, undefined],
      [200, undefined],
    ],
  );
});

test('what cannot begin a method is answered at once', async (t) => {
  const balancer = await startBalancer(t, SLOW_HEADS);
  for (const bytes of ['\x16\x03\x01', '\x00', '\x80\x2e\x01', ' GET', '\rG', 'GE\x01', '"']) {
    const client = await openClient(balancer.port);
    client.send(bytes);
    await client.ended();
    assert.match(client.received, /^HTTP\/1\.1 400 [\s\S]*the method is not a token/, JSON.stringify(bytes));
  }
  await eventually(() => balancer.accessLines.length === 7, 'an access line for each');
});

test('what may become a head is waited for', async (t) => {
  const balancer = await startBalancer(t, SLOW_HEADS);
  const client = await openClient(balancer.port);
  for (const piece of ['\r', '\n', 'G', 'ET', ' ', '/ HTTP/1.1\r', '\nHost: a\r\n\r', '\n']) {
    client.send(piece);
    await sleep(10);
  }
  assert.equal((await client.response()).status, 200);
});
