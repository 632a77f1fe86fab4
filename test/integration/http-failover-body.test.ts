/** A refused dial has sent nothing, so any request goes to the next server, its body whole and once. */
import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { startBackend, startScripted, type Backend } from '../support/backend.ts';
import { ask, openClient } from '../support/raw-client.ts';
import { startRecorder } from '../support/recorder.ts';

/** A port nobody listens on. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function startPair(t: TestContext): Promise<{ backend: Backend; balancer: TestBalancer }> {
  const backend = await startBackend(t, 'two');
  const config = `reverse_proxy 127.0.0.1:${await closedPort()} 127.0.0.1:${backend.port} {\n    lb_policy first\n  }`;
  return { backend, balancer: await startBalancer(t, site(config)) };
}

/** Bytes that show a hole, a repetition or an exchange of order. */
function numbered(length: number): string {
  let text = '';
  for (let line = 0; text.length < length; line += 1) text += `${line};`;
  return text.slice(0, length);
}

const BODY = numbered(1 << 20);

test('a POST with a length reaches the second server whole when the first refuses the dial', async (t) => {
  const { backend, balancer } = await startPair(t);
  const response = await ask(
    balancer.port,
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
  );
  assert.equal(response.status, 200);
  assert.deepEqual(
    backend.bodies.map((body) => body.toString('latin1') === BODY),
    [true],
  );
});

test('a chunked POST reaches the second server whole, with its trailers', async (t) => {
  const { backend, balancer } = await startPair(t);
  let chunks = '';
  for (let at = 0; at < BODY.length; at += 10_000) {
    const part = BODY.slice(at, at + 10_000);
    chunks += `${part.length.toString(16)}\r\n${part}\r\n`;
  }
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
  const response = await ask(balancer.port, `${head}${chunks}0\r\nX-Sum: 7\r\n\r\n`);
  assert.equal(response.status, 200);
  assert.deepEqual(
    backend.bodies.map((body) => body.toString('latin1') === BODY),
    [true],
  );
  assert.deepEqual(backend.requests[0]!.rawTrailers, ['X-Sum', '7']);
});

test('with Expect: 100-continue the client is asked for the body by the server that takes it', async (t) => {
  const { backend, balancer } = await startPair(t);
  const client = await openClient(balancer.port);
  client.send(`POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: ${BODY.length}\r\n\r\n`);
  assert.equal((await client.response()).status, 100);
  assert.equal((await client.send(BODY).response()).status, 200);
  assert.deepEqual(
    backend.bodies.map((body) => body.toString('latin1') === BODY),
    [true],
  );
  client.close();
});

test('a POST whose bytes were sent is not sent again to another server', async (t) => {
  const first = await startScripted(t, (socket) => socket.on('data', () => socket.resetAndDestroy()));
  const second = await startBackend(t, 'two');
  const config = `reverse_proxy 127.0.0.1:${first.port} 127.0.0.1:${second.port} {\n    lb_policy first\n  }`;
  const balancer = await startBalancer(t, site(config));
  const response = await ask(balancer.port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi');
  assert.equal(response.status, 502);
  assert.equal(second.requests.length, 0);
  assert.equal(first.sockets.length, 1);
});

test('a GET whose fresh connection breaks before the answer goes once to another server', async (t) => {
  const first = await startRecorder(t, (socket) => socket.resetAndDestroy());
  const second = await startRecorder(t, (socket) => socket.resetAndDestroy());
  const third = await startBackend(t, 'three');
  const upstreams = [first, second, third].map(({ port }) => `127.0.0.1:${port}`).join(' ');
  const balancer = await startBalancer(t, site(`reverse_proxy ${upstreams} {\n    lb_policy first\n  }`));
  const response = await ask(balancer.port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.equal(response.status, 502);
  assert.deepEqual([first.requests.length, second.requests.length, third.requests.length], [1, 1, 0]);
});

test('a broken answer is never followed by a second one: the client sees the cut', async (t) => {
  const first = await startRecorder(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', () => socket.destroy());
  });
  const second = await startBackend(t, 'two');
  const config = `reverse_proxy 127.0.0.1:${first.port} 127.0.0.1:${second.port} {\n    lb_policy first\n  }`;
  const balancer = await startBalancer(t, site(config));
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.equal(await client.ended(), 'reset');
  assert.match(client.received, /\r\n\r\n(half)?$/);
  assert.equal(second.requests.length, 0);
});
