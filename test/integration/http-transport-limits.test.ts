/** `read_timeout`, `write_timeout` and `local_address` of a transport. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventually, startScripted } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { ask, get, openClient } from '../support/raw-client.ts';
import { startRecorder } from '../support/recorder.ts';

function front(t: TestContext, port: number, option: string): Promise<TestBalancer> {
  return startBalancer(t, site(`reverse_proxy 127.0.0.1:${port} {\ntransport http {\n${option}\n}\n}`));
}

test('a server that is silent before its response head is 504', async (t) => {
  const upstream = await startRecorder(t, () => {});
  const balancer = await front(t, upstream.port, 'read_timeout 200ms');
  assert.equal((await get(balancer.port)).status, 504);
});

test('a server that falls silent in the middle of a response cuts its client off', async (t) => {
  const upstream = await startRecorder(
    t,
    (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'),
  );
  const balancer = await front(t, upstream.port, 'read_timeout 200ms');
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.equal(await client.ended(), 'reset');
  await eventually(() => upstream.open() === 0, 'the connection to end');
});

test('a response that goes on in small pieces outlasts the timeout, and the connection is used again', async (t) => {
  const upstream = await startRecorder(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n');
    for (let piece = 0; piece < 12; piece += 1) setTimeout(() => void socket.write('x'), 100 * piece);
  });
  const balancer = await front(t, upstream.port, 'read_timeout 800ms');
  for (let count = 0; count < 2; count += 1) assert.equal((await get(balancer.port)).body, 'x'.repeat(12));
  assert.equal(upstream.sockets.length, 1);
});

test('a server that takes no bytes of a request is 504', async (t) => {
  const upstream = await startScripted(t, (socket) => void socket.pause());
  const balancer = await front(t, upstream.port, 'write_timeout 200ms');
  const client = await openClient(balancer.port);
  client.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n`);
  client.send(Buffer.alloc(20_000_000));
  assert.equal((await client.response()).status, 504);
  client.close();
});

test('connections come from the local address, and are shared with none that do not', async (t) => {
  const upstream = await startRecorder(t);
  const to = `reverse_proxy 127.0.0.1:${upstream.port}`;
  const body = `handle /from {\n${to} {\ntransport http {\nlocal_address 127.0.0.7\n}\n}\n}\nhandle {\n${to}\n}`;
  const balancer = await startBalancer(t, site(body));
  for (const target of ['/', '/from', '/', '/from']) assert.equal((await get(balancer.port, target)).status, 200);
  assert.deepEqual(
    upstream.sockets.map((socket) => socket.remoteAddress),
    ['127.0.0.1', '127.0.0.7'],
  );
  assert.deepEqual(
    upstream.requests.map(({ connection }) => connection),
    [0, 1, 0, 1],
  );
});

test('health checks come from the local address too', async (t) => {
  const sources: (string | undefined)[] = [];
  const upstream = await startScripted(t, (socket) => void sources.push(socket.remoteAddress));
  const options = 'health_uri /up\ntransport http {\nlocal_address 127.0.0.7\n}';
  await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port} {\n${options}\n}`));
  await eventually(() => sources.length > 0, 'a check');
  assert.equal(sources[0], '127.0.0.7');
});

test('a local address of the other family than an upstream is refused at its line', async (t) => {
  await assert.rejects(
    front(t, 80, 'local_address ::1'),
    /local_address ::1 has no way to 127\.0\.0\.1:80: it is no IPv6 address, at Caddyfile:\d+$/,
  );
  await assert.rejects(front(t, 80, 'local_address eth0'), /expected an IP address of this machine, found "eth0", at /);
});

test('a request without a body is not held up by the write timeout', async (t) => {
  const upstream = await startRecorder(
    t,
    (socket) => void setTimeout(() => socket.write('HTTP/1.1 204 No Content\r\n\r\n'), 500),
  );
  const balancer = await front(t, upstream.port, 'write_timeout 100ms');
  assert.equal((await ask(balancer.port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).status, 204);
});
