/** request_body max_size: counted as it streams, answered with 413, never kept back. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { eventually } from '../support/backend.ts';
import { ask, openClient } from '../support/raw-client.ts';
import { startRecorder, unchunk, type Recorder } from '../support/recorder.ts';

async function start(t: TestContext, rest = ''): Promise<{ upstream: Recorder; balancer: TestBalancer }> {
  const upstream = await startRecorder(t);
  const body = `request_body {\n    max_size 10\n  }\n  reverse_proxy 127.0.0.1:${upstream.port}\n  ${rest}`;
  return { upstream, balancer: await startBalancer(t, site(body)) };
}

const POST = 'POST / HTTP/1.1\r\nHost: a\r\n';

test('a body of exactly the size passes, with a length and in chunks', async (t) => {
  const { upstream, balancer } = await start(t);
  assert.equal((await ask(balancer.port, `${POST}Content-Length: 10\r\n\r\n0123456789`)).status, 200);
  const chunked = `${POST}Transfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n`;
  assert.equal((await ask(balancer.port, chunked)).status, 200);
  assert.deepEqual(
    [upstream.requests[0]!.rawBody, unchunk(upstream.requests[1]!.rawBody)],
    ['0123456789', '0123456789'],
  );
});

test('a larger announced length is refused before any byte of it, and nothing reaches the upstream', async (t) => {
  const { upstream, balancer } = await start(t);
  const client = await openClient(balancer.port);
  t.after(() => client.close());
  client.send(`${POST}Content-Length: 11\r\nExpect: 100-continue\r\n\r\n`);
  const response = await client.response('POST');
  assert.deepEqual([response.status, response.header('Connection')], [413, 'close']);
  assert.equal(await client.ended(), 'fin');
  assert.equal(upstream.received.length, 0);
});

test('chunks beyond the size are 413 at once, and the upstream sees no complete request', async (t) => {
  const { upstream, balancer } = await start(t);
  const client = await openClient(balancer.port);
  t.after(() => client.close());
  client.send(`${POST}Transfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n`);
  await eventually(() => upstream.received[0]?.includes('0123') ?? false, 'the first chunk to arrive');
  client.send('7\r\n4567890\r\n');
  const response = await client.response('POST');
  assert.deepEqual([response.status, response.header('Connection')], [413, 'close']);
  assert.equal(upstream.requests.length, 0);
  assert.ok(!upstream.received[0]!.includes('4567890'));
  await eventually(() => upstream.open() === 0, 'the upstream connection to be cut');
});

test('the limit goes through the error routes, and a page there is not fetched with a body that is refused', async (t) => {
  const { upstream, balancer } = await start(t, 'handle_errors 413 {\n    respond "too large" 413\n  }');
  const response = await ask(balancer.port, `${POST}Content-Length: 11\r\n\r\n`);
  assert.deepEqual([response.status, response.body], [413, 'too large']);
  assert.equal(upstream.received.length, 0);
});

test('every size is either passed whole or refused', async (t) => {
  const { upstream, balancer } = await start(t);
  let passed = 0;
  for (let size = 0; size <= 20; size += 1) {
    const chunks = Array.from({ length: size }, () => '1\r\nx\r\n').join('');
    const response = await ask(balancer.port, `${POST}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
    assert.equal(response.status, size <= 10 ? 200 : 413, String(size));
    if (size <= 10) passed += 1;
  }
  assert.equal(upstream.requests.length, passed);
});

test('read_timeout is the time for the whole body, however it dribbles: 408', async (t) => {
  const upstream = await startRecorder(t);
  const proxy = `reverse_proxy 127.0.0.1:${upstream.port}`;
  const balancer = await startBalancer(t, site(`request_body /slow {\n read_timeout 300ms\n}\n${proxy}`));
  const client = await openClient(balancer.port);
  client.send('POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n');
  const dribble = setInterval(() => client.send('x'), 50);
  const response = await client.response('POST').finally(() => clearInterval(dribble));
  assert.deepEqual([response.status, response.header('Connection')], [408, 'close']);
  client.close();
  assert.equal(upstream.requests.length, 0);
  // A body that is there in time is no concern of it, nor is the next request on the connection.
  const other = await openClient(balancer.port);
  other.send('POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx');
  assert.equal((await other.response('POST')).status, 200);
  other.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx');
  await new Promise((resolve) => setTimeout(resolve, 600));
  other.send('x');
  assert.equal((await other.response('POST')).status, 200);
  other.close();
});

test('write_timeout is the time for the whole response: a client that has not read it by then is cut', async (t) => {
  const piece = Buffer.alloc(1 << 20);
  const upstream = await startRecorder(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n');
    const more = (): void => void (socket.writable && socket.write(piece, () => more()));
    more();
  });
  const proxy = `reverse_proxy 127.0.0.1:${upstream.port}`;
  const balancer = await startBalancer(t, site(`request_body {\n write_timeout 300ms\n}\n${proxy}`));
  const client = await openClient(balancer.port);
  client.socket.pause();
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await eventually(() => upstream.open() === 0 && upstream.requests.length === 1, 'the end at the server');
  client.socket.resume();
  assert.equal(await client.ended(), 'reset');
});

test('set sends a body of its own, with placeholders, and the one of the client goes nowhere', async (t) => {
  const dead = await startRecorder(t, (socket) => socket.resetAndDestroy());
  const upstream = await startRecorder(t);
  const proxy = `reverse_proxy 127.0.0.1:${dead.port} 127.0.0.1:${upstream.port} {\n lb_policy first\n lb_retry_match method POST\n}`;
  const balancer = await startBalancer(t, site(`request_body {\n set "ü {method} {query.a}"\n}\n${proxy}`));
  const client = await openClient(balancer.port);
  for (const head of [
    'Content-Length: 5\r\n\r\nhello',
    'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    '\r\n',
  ]) {
    client.send(`POST /?a=%C3%A4 HTTP/1.1\r\nHost: a\r\n${head}`);
    assert.equal((await client.response('POST')).status, 200);
  }
  assert.equal(upstream.requests.length, 3);
  for (const request of [...upstream.requests, ...dead.requests]) {
    assert.equal(Buffer.from(request.rawBody, 'latin1').toString('utf8'), 'ü POST ä');
    assert.deepEqual([request.values('Content-Length'), request.values('Transfer-Encoding')], [['10'], []]);
  }
  client.close();
});

test('an empty set sends no body, and max_size is about the body of the client', async (t) => {
  const upstream = await startRecorder(t);
  const proxy = `reverse_proxy 127.0.0.1:${upstream.port}`;
  const balancer = await startBalancer(t, site(`request_body {\n max_size 10\n set {header.X}\n}\n${proxy}`));
  const post = `${POST}Content-Length: 4\r\n`;
  assert.equal((await ask(balancer.port, `${post}\r\nbody`)).status, 200);
  assert.equal((await ask(balancer.port, `${post}X: a longer body than was let in\r\n\r\nbody`)).status, 200);
  assert.deepEqual(
    upstream.requests.map(({ rawBody }) => rawBody),
    ['', 'a longer body than was let in'],
  );
  assert.equal((await ask(balancer.port, `${POST}Content-Length: 11\r\n\r\n`)).status, 413);
});
