/** Clients that read late, slowly or not at all: nothing grows for them, and nothing of an answer is lost to them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { site, startBalancer } from '../support/balance.ts';
import { eventually } from '../support/backend.ts';
import { openClient } from '../support/raw-client.ts';
import { startRecorder } from '../support/recorder.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const PIECE = Buffer.alloc(60_000, 'x');
const ANSWER = `HTTP/1.1 200 OK\r\nContent-Length: ${PIECE.length}\r\n\r\n`;

test('a client that pipelines and does not read has no more requests served than its socket takes answers', async (t) => {
  const upstream = await startRecorder(t, (socket) => {
    socket.write(ANSWER);
    socket.write(PIECE);
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.socket.pause();
  const asked = 1500;
  client.send(GET.repeat(asked));
  let before = -1;
  await eventually(async () => {
    const still = upstream.requests.length === before && before > 0;
    before = upstream.requests.length;
    if (!still) await sleep(300);
    return still;
  }, 'the requests to stop');
  // 1500 answers are 90 MB; the buffers of the kernel take a few.
  assert.ok(upstream.requests.length < asked / 2, `${upstream.requests.length} requests were served`);
  client.socket.resume();
  await client.until(() => client.received.length >= asked * (ANSWER.length + PIECE.length), 30_000);
  assert.equal(upstream.requests.length, asked);
  client.close();
});

test('our own answers wait for a client that does not read, too, and it is cut when it never does', async (t) => {
  const body = 'y'.repeat(60_000);
  const balancer = await startBalancer(
    t,
    site(`respond "${body}"`, '  servers {\n    timeouts {\n      write_idle 1s\n    }\n  }'),
  );
  const client = await openClient(balancer.port);
  client.socket.pause();
  client.send(GET.repeat(3000));
  await eventually(
    async () => /^holdfast_http_client_timeouts_total\{.*\} 1$/m.test(await balancer.metrics()),
    'the client to be cut',
  );
  client.socket.resume();
  assert.equal(await client.ended(), 'reset');
  assert.ok(client.received.length < 3000 * body.length);
});

test('the end of the last answer reaches a client that takes longer to read it than a closing connection lingers', async (t) => {
  const size = 30_000_000;
  const upstream = await startRecorder(t, (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
    socket.write(Buffer.alloc(size, 'z'));
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  // Reads until nothing of the answer is left upstream, but much of it in the balancer and the kernel.
  while (upstream.sockets[0] === undefined || upstream.sockets[0].writableLength > 0 || client.received.length === 0) {
    client.socket.resume();
    await sleep(1);
    client.socket.pause();
    await sleep(5);
  }
  client.socket.pause();
  await sleep(7000);
  client.socket.resume();
  const response = await client.response();
  assert.equal(response.body.length, size);
  client.close();
});
