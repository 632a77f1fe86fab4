/** `response_buffers`: nothing of a response reaches the client before its whole body is here, or more than is held. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { eventually } from '../support/backend.ts';
import { site, startBalancer } from '../support/balance.ts';
import { get, openClient } from '../support/raw-client.ts';
import { assertNoRestarts, startRecorder } from '../support/recorder.ts';

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

for (const [framing, head, end] of [
  ['in chunks', CHUNKED, `${chunk('two')}0\r\nX-Sum: 6\r\n\r\n`],
  ['of known length', 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n', 'two'],
] as const) {
  test(`a body ${framing} is sent when it is whole`, async (t) => {
    const sockets: Socket[] = [];
    const upstream = await startRecorder(t, (socket) => {
      sockets.push(socket);
      socket.write(head + (framing === 'in chunks' ? chunk('one') : 'one'));
    });
    const balancer = await startBalancer(
      t,
      site(`reverse_proxy 127.0.0.1:${upstream.port} {\n response_buffers 1KiB\n}`),
    );
    const client = await openClient(balancer.port);
    client.send(REQUEST);
    await eventually(() => sockets.length === 1, 'the request');
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(client.received, '');
    sockets[0]!.write(end);
    const response = await client.response();
    assert.deepEqual([response.status, response.body], [200, 'onetwo']);
    client.close();
    assertNoRestarts(await balancer.metrics());
  });
}

test('a body longer than is held goes on as it comes', async (t) => {
  const sockets: Socket[] = [];
  const upstream = await startRecorder(t, (socket) => {
    sockets.push(socket);
    socket.write(CHUNKED + chunk('x'.repeat(1000)));
  });
  const balancer = await startBalancer(
    t,
    site(`reverse_proxy 127.0.0.1:${upstream.port} {\n response_buffers 1KiB\n}`),
  );
  const client = await openClient(balancer.port);
  client.send(REQUEST);
  await eventually(() => sockets.length === 1, 'the request');
  assert.equal(client.received, '');
  sockets[0]!.write(chunk('y'.repeat(25)));
  await client.until(() => client.received.includes('y'));
  sockets[0]!.write(`${chunk('z')}0\r\n\r\n`);
  assert.equal((await client.response()).body, `${'x'.repeat(1000)}${'y'.repeat(25)}z`);
  client.close();
});

test('a server that breaks off while its response is held is no answer: another one gives it', async (t) => {
  const broken = await startRecorder(t, (socket) => {
    socket.write(CHUNKED + chunk('half'));
    setTimeout(() => socket.resetAndDestroy(), 50);
  });
  const whole = await startRecorder(t, (socket) => void socket.write(`${CHUNKED}${chunk('whole')}0\r\n\r\n`));
  const proxy = `reverse_proxy 127.0.0.1:${broken.port} 127.0.0.1:${whole.port}`;
  const balancer = await startBalancer(t, site(`${proxy} {\n lb_policy first\n response_buffers 1KiB\n}`));
  const client = await openClient(balancer.port);
  const first = await client.send(REQUEST).response();
  assert.deepEqual([first.status, first.body, broken.requests.length], [200, 'whole', 1]);
  // A POST is not sent twice: it gets an error, not half of an answer.
  const post = await client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n').response();
  assert.deepEqual([post.status, post.body.includes('half')], [502, false]);
  client.close();
  // The client may have its answer before the worker has counted it.
  await eventually(
    async () => /holdfast_http_requests_active\{.*\} 0\n/.test(await balancer.metrics()),
    'nothing to be running',
  );
  assertNoRestarts(await balancer.metrics());
});

test('an answer without a body in the place of one that broke off is just that', async (t) => {
  const broken = await startRecorder(t, (socket) => {
    socket.write(CHUNKED + chunk('half'));
    setTimeout(() => socket.resetAndDestroy(), 50);
  });
  const empty = await startRecorder(
    t,
    (socket) => void socket.write('HTTP/1.1 204 No Content\r\nX-From: empty\r\n\r\n'),
  );
  const proxy = `reverse_proxy 127.0.0.1:${broken.port} 127.0.0.1:${empty.port}`;
  const balancer = await startBalancer(t, site(`${proxy} {\n lb_policy first\n response_buffers 1KiB\n}`));
  const client = await openClient(balancer.port);
  const response = await client.send(REQUEST).response();
  assert.deepEqual([response.status, broken.requests.length], [204, 1]);
  // Nothing of the other one stands behind it: the next response is read where it begins.
  assert.equal((await client.send(REQUEST.replace('GET', 'OPTIONS')).response()).status, 204);
  client.close();
  assertNoRestarts(await balancer.metrics());
});

test('an error page from another server has nothing of the response that broke off', async (t) => {
  const broken = await startRecorder(t, (socket) => {
    socket.write(CHUNKED + chunk('half'));
    setTimeout(() => socket.resetAndDestroy(), 50);
  });
  const pages = await startRecorder(t, (socket) => void socket.write(`${CHUNKED}${chunk('sorry')}0\r\n\r\n`));
  const proxy = `reverse_proxy 127.0.0.1:${broken.port} {\n response_buffers 1KiB\n}`;
  const errors = `handle_errors {\n reverse_proxy 127.0.0.1:${pages.port}\n}`;
  const balancer = await startBalancer(t, site(`${proxy}\n${errors}`));
  const response = await get(balancer.port);
  assert.equal(response.body, 'sorry');
  assertNoRestarts(await balancer.metrics());
});

test('a client that leaves meanwhile ends the response at the server', async (t) => {
  const upstream = await startRecorder(t, (socket) => void socket.write(CHUNKED + chunk('half')));
  const balancer = await startBalancer(
    t,
    site(`reverse_proxy 127.0.0.1:${upstream.port} {\n response_buffers 1KiB\n}`),
  );
  const client = await openClient(balancer.port);
  client.send(REQUEST);
  await eventually(() => upstream.requests.length === 1, 'the request');
  client.socket.resetAndDestroy();
  await eventually(() => upstream.open() === 0, 'the end at the server');
  assertNoRestarts(await balancer.metrics());
});

test('what is held is encoded when it is let go', async (t) => {
  const body = 'again and again '.repeat(100);
  const upstream = await startRecorder(t, (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n`);
    socket.write(body);
  });
  for (const size of ['1KiB', '1MiB']) {
    const proxy = `reverse_proxy 127.0.0.1:${upstream.port} {\n response_buffers ${size}\n}`;
    const balancer = await startBalancer(t, site(`encode gzip\n${proxy}`));
    const response = await get(balancer.port, '/', { 'Accept-Encoding': 'gzip' });
    assert.equal(gunzipSync(Buffer.from(response.body, 'latin1')).toString(), body);
  }
});
