/** Answers that come before the request body: the client sees them, and nobody reads body bytes as a request. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { site, startBalancer } from '../support/balance.ts';
import { eventually, startScripted } from '../support/backend.ts';
import { openClient, type RawClient } from '../support/raw-client.ts';
import { startRecorder } from '../support/recorder.ts';

const LENGTH = 50_000_000;
const PIECE = Buffer.alloc(1 << 18, 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n');
const REFUSAL = 'HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig';
const HEAD = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${LENGTH}\r\n\r\n`;

/** Pushes the whole body whatever comes back, as simple clients do. Stops when the connection is gone. */
async function push(client: RawClient): Promise<void> {
  for (let sent = 0; sent < LENGTH && client.end !== 'reset'; sent += PIECE.length) {
    const piece = PIECE.subarray(0, Math.min(PIECE.length, LENGTH - sent));
    if (client.socket.write(piece)) continue;
    await new Promise<void>((resolve) => {
      const go = (): void => {
        client.socket.off('drain', go).off('close', go);
        resolve();
      };
      client.socket.on('drain', go).on('close', go);
    });
  }
}

for (const [what, closes] of [
  ['keeps its connection', false],
  ['closes its connection', true],
] as const) {
  test(`a 413 sent on the head reaches a client that pushes 50 MB, when the server ${what}`, async (t) => {
    const upstream = await startScripted(t, (socket, _, received) => {
      socket.on('data', function answer() {
        if (!received().includes('\r\n\r\n')) return;
        socket.off('data', answer);
        if (closes) socket.pause();
        socket.write(REFUSAL, () => closes && socket.destroy());
      });
    });
    const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
    for (let round = 0; round < 5; round += 1) {
      const client = await openClient(balancer.port);
      client.send(HEAD);
      const [response] = await Promise.all([client.response('POST'), push(client)]);
      assert.equal(response.status, 413);
      assert.equal(response.body, 'big');
      assert.equal(response.header('Connection'), 'close');
      // The rest was read and dropped: no reset, and nothing of it was answered.
      client.send('GET /after HTTP/1.1\r\nHost: a\r\n\r\n').socket.end();
      assert.equal(await client.ended(), 'fin');
      assert.equal(client.received, '');
    }
    // A connection with an unfinished body is never used again.
    assert.equal(upstream.sockets.length, 5);
    for (const bytes of upstream.received) assert.equal(bytes.split('HTTP/1.1\r\nHost: a\r\nContent-Length').length, 2);
  });
}

test('with Expect: 100-continue the refusal comes without a 100 from the balancer', async (t) => {
  const upstream = await startScripted(t, (socket, _, received) => {
    socket.on('data', () => received().includes('\r\n\r\n') && socket.write(REFUSAL));
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  const response = await client.send(HEAD.replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n')).response('POST');
  assert.equal(response.status, 413);
  assert.match(upstream.received[0]!, /\r\nExpect: 100-continue\r\n/);
  assert.equal(response.header('Connection'), 'close');
  client.close();
});

test('a server that sends no 100 but a final 200 after the body is fine', async (t) => {
  const upstream = await startRecorder(t);
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
  await eventually(() => (upstream.received[0] ?? '').includes('\r\n\r\n'), 'the head, without waiting for the body');
  // RFC 9110 section 10.1.1: a client that has waited long enough sends the body anyway.
  assert.equal((await client.send('ab').response('POST')).status, 200);
  assert.equal(upstream.requests[0]!.rawBody, 'ab');
  client.close();
});

test('another expectation is 417', async (t) => {
  const upstream = await startRecorder(t);
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: something-else\r\nContent-Length: 2\r\n\r\nab');
  assert.equal((await client.response('POST')).status, 417);
  assert.equal(upstream.received.length, 0);
  client.close();
});

test('a 100 that no client asked for is not passed on, the answer is', async (t) => {
  const upstream = await startRecorder(t, (socket) => {
    socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  assert.equal((await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n').response()).status, 200);
  client.close();
});

test('an answer of our own to a request with a body ends the connection, and the body is no request', async (t) => {
  const balancer = await startBalancer(t, site('respond "mine" 200'));
  const client = await openClient(balancer.port);
  client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n');
  const response = await client.response('POST');
  assert.deepEqual([response.status, response.body, response.header('Connection')], [200, 'mine', 'close']);
  client.send('GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.equal(await client.ended(), 'fin');
  assert.equal(client.received, '');
  client.close();
});
