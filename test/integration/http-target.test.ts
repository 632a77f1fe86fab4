/** Path and query are the client's: they reach the server byte for byte. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { ask } from '../support/raw-client.ts';
import { startRecorder, type Recorder } from '../support/recorder.ts';

const QUERY_8K = `/?q=${'0123456789abcdef'.repeat(512)}`;
const TARGETS: readonly string[] = [
  '/a%2Fb',
  '//a///b//',
  '/a/../b',
  '/a/./b',
  '/%2e%2e/x',
  '/a;p=1',
  '/a?',
  '/a?b?c',
  '/a?x=%zz',
  '/a%00b',
  '/A%c3%a9',
  '/%C3%A9',
  '/a+b%20c',
  '/a|b^c',
  '/?q=[]{}',
  '/?q="<>\\`',
  '/a?x=1&x=2&&=',
  "/!$&'()*+,;=:@",
  '/',
  '/a%',
  QUERY_8K,
];

async function startFront(
  t: TestContext,
  directives: (proxy: string) => string,
): Promise<{ upstream: Recorder; balancer: TestBalancer }> {
  const upstream = await startRecorder(t);
  return { upstream, balancer: await startBalancer(t, site(directives(`reverse_proxy 127.0.0.1:${upstream.port}`))) };
}

async function targetsUpstream(
  { upstream, balancer }: { upstream: Recorder; balancer: TestBalancer },
  targets: readonly string[],
): Promise<string[]> {
  for (const target of targets) {
    const { status } = await ask(balancer.port, `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    assert.equal(status, 200, target);
  }
  return upstream.requests.map(({ line }) => line.split(' ')[1]!);
}

test('without a rewrite every target arrives as it was sent', async (t) => {
  const front = await startFront(t, (proxy) => proxy);
  assert.deepEqual(await targetsUpstream(front, TARGETS), TARGETS);
});

test('a path matcher looks at a tidied copy and leaves the target alone', async (t) => {
  const front = await startFront(t, (proxy) => `@b path /b /a/*\n  handle @b {\n    ${proxy}\n  }\n  respond 404`);
  const matching = ['/a/x', '/a/../b', '/%62', '/a/%2e%2e/b', '/a/b%2Fc?x=%zz', '/A/x'];
  assert.deepEqual(await targetsUpstream(front, matching), matching);
  const { status } = await ask(front.balancer.port, 'GET /a/../c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  assert.equal(status, 404);
});

test('handle_path cuts the prefix and leaves the rest as received', async (t) => {
  const front = await startFront(t, (proxy) => `handle_path /a/* {\n    ${proxy}\n  }`);
  const tails = ['/x%2Fy', '//b//', '/%C3%A9?q=[]{}', '/c?x=%zz', '/', '/d;p=1|^'];
  assert.deepEqual(
    await targetsUpstream(
      front,
      tails.map((tail) => `/a${tail}`),
    ),
    tails,
  );
});

test('rewrite to {uri} and uri strip_prefix keep the bytes they do not cut', async (t) => {
  const rewritten = await startFront(t, (proxy) => `rewrite * /new{uri}\n  ${proxy}`);
  const plain = ['/x', '/a%2Fb?q=1', '/A%c3%a9?x=%zz'];
  assert.deepEqual(
    await targetsUpstream(rewritten, plain),
    plain.map((target) => `/new${target}`),
  );
  const stripped = await startFront(t, (proxy) => `uri strip_prefix /a\n  ${proxy}`);
  assert.deepEqual(
    await targetsUpstream(
      stripped,
      plain.map((target) => `/a${target}`),
    ),
    plain,
  );
});

test('control bytes, space, # and raw bytes from 0x80 up are 400 and never reach the server', async (t) => {
  const { upstream, balancer } = await startFront(t, (proxy) => proxy);
  for (const target of ['/a b', '/a\tb', '/a\x01', '/a\x7f', '/a\0', '/#f', '/caf\xc3\xa9', '/\xff', 'a', '*', '']) {
    const { status } = await ask(balancer.port, `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
    assert.equal(status, 400, JSON.stringify(target));
  }
  assert.equal(upstream.received.length, 0);
});

test('absolute-form becomes origin-form and its authority replaces Host', async (t) => {
  const { upstream, balancer } = await startFront(t, (proxy) => proxy);
  const targets = ['http://real.example/a%2Fb?x', 'http://real.example', 'HTTP://real.example:8080?q'];
  for (const target of targets) {
    const { status } = await ask(
      balancer.port,
      `GET ${target} HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n`,
    );
    assert.equal(status, 200);
  }
  assert.deepEqual(
    upstream.requests.map((request) => [request.line, ...request.values('Host')]),
    [
      ['GET /a%2Fb?x HTTP/1.1', 'real.example'],
      ['GET / HTTP/1.1', 'real.example'],
      ['GET /?q HTTP/1.1', 'real.example:8080'],
    ],
  );
});

test('OPTIONS * arrives as OPTIONS *', async (t) => {
  const { upstream, balancer } = await startFront(t, (proxy) => proxy);
  await ask(balancer.port, 'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  assert.deepEqual(
    upstream.requests.map(({ line }) => line),
    ['OPTIONS * HTTP/1.1'],
  );
});

test('a request line that is too long is 414, a header that is too large 431', async (t) => {
  const { upstream, balancer } = await startFront(t, (proxy) => proxy);
  const long = 'x'.repeat(70_000);
  assert.equal((await ask(balancer.port, `GET /${long} HTTP/1.1\r\nHost: a\r\n\r\n`)).status, 414);
  assert.equal((await ask(balancer.port, `GET / HTTP/1.1\r\nHost: a\r\nX: ${long}\r\n\r\n`)).status, 431);
  const many = 'X: 1\r\n'.repeat(300);
  assert.equal((await ask(balancer.port, `GET / HTTP/1.1\r\nHost: a\r\n${many}\r\n`)).status, 431);
  assert.equal(upstream.received.length, 0);
});
