/** Clients that read late, slowly or not at all: nothing grows for them, and nothing of an answer is lost to them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { site, startBalancer } from '../support/balance.ts';
import { eventually } from '../support/backend.ts';
import { openClient } from '../support/raw-client.ts';
import { sampleOf, startRecorder } from '../support/recorder.ts';

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
  // More than the kernel takes: the rest waits in the balancer, which has nothing else to do for this connection.
  const body = 'z'.repeat(8_000_000);
  const balancer = await startBalancer(t, site(`respond "${body}"`));
  const client = await openClient(balancer.port);
  client.socket.pause();
  client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await sleep(6500);
  client.socket.resume();
  assert.equal((await client.response()).body.length, body.length);
  client.close();
});

test('interim answers without end are refused once they are larger than a head may be', async (t) => {
  const upstream = await startRecorder(t, async (socket) => {
    for (let count = 0; count < 100 && !socket.destroyed; count += 1) {
      socket.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(100));
      await sleep(1);
    }
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.send(GET);
  let interim = 0;
  let status = 103;
  for (; status === 103; interim += 1) ({ status } = await client.response());
  assert.equal(status, 502);
  assert.ok(interim > 100 && interim < 5000, `${interim} interim answers`);
  client.close();
});

test('what a broken off answer brought counts as received', async (t) => {
  const upstream = await startRecorder(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n0123456789', () => socket.resetAndDestroy());
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  await client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc').ended();
  const page = await balancer.metrics();
  const labels = `upstream="127.0.0.1:${upstream.port}"`;
  assert.equal(sampleOf(page, `holdfast_upstream_received_bytes_total{${labels}}`), 10);
  assert.equal(sampleOf(page, `holdfast_upstream_sent_bytes_total{${labels}}`), 3);
  assert.match(page, /^holdfast_http_received_bytes_total\{.*\} 3$/m);
});
