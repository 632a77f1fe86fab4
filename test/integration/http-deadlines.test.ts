/** Slow and silent peers: who is cut, who is answered, who is left alone. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { eventually, startScripted } from '../support/backend.ts';
import { openClient, type RawClient } from '../support/raw-client.ts';
import { sampleOf, startRecorder } from '../support/recorder.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

function start(t: TestContext, timeouts: string, directives: string): Promise<TestBalancer> {
  return startBalancer(t, site(directives, `  servers {\n    timeouts {\n${timeouts}\n    }\n  }`));
}

/** Sends a byte every 50 ms until the connection ends; returns how often. */
async function dribble(client: RawClient, byte: string): Promise<number> {
  let count = 0;
  for (; client.end === undefined && client.socket.writable && count < 200; count += 1) {
    client.send(byte);
    await sleep(50);
  }
  return count;
}

test('a header that dribbles is 408 a fixed time after its first byte, however often bytes come', async (t) => {
  const upstream = await startRecorder(t);
  const balancer = await start(t, 'read_header 500ms\nidle 20s', `reverse_proxy 127.0.0.1:${upstream.port}`);
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\nX: ');
  const dribbled = dribble(client, 'x');
  const response = await client.response();
  assert.deepEqual([response.status, response.header('Connection')], [408, 'close']);
  // What still comes is read and dropped until the client closes too: the answer is not lost to a reset.
  client.socket.end();
  assert.equal(await client.ended(), 'fin');
  await dribbled;
  assert.equal(upstream.received.length, 0);
  assert.match(await balancer.metrics(), /^holdfast_http_client_timeouts_total\{.*\} 1$/m);
});

test('three hundred dribbling clients do not keep an honest one from its answer', async (t) => {
  const upstream = await startRecorder(t);
  const balancer = await start(t, 'read_header 2s', `reverse_proxy 127.0.0.1:${upstream.port}`);
  const dribblers = await Promise.all(Array.from({ length: 300 }, () => openClient(balancer.port)));
  for (const client of dribblers) client.send('G');
  const honest = await openClient(balancer.port);
  assert.equal((await honest.send(GET).response()).status, 200);
  const answers = await Promise.all(dribblers.map((client) => client.response()));
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [408]);
  for (const client of [...dribblers, honest]) client.close();
});

test('a connection without a request, fresh or after an answer, is closed without a word', async (t) => {
  const balancer = await start(t, 'idle 500ms\nread_header 20s', 'respond ok');
  const fresh = await openClient(balancer.port);
  const used = await openClient(balancer.port);
  assert.equal((await used.send(GET).response()).status, 200);
  assert.deepEqual([await fresh.ended(), await used.ended()], ['fin', 'fin']);
  assert.deepEqual([fresh.received, used.received], ['', '']);
});

test('an upload may take many times the idle limit as long as bytes come', async (t) => {
  const upstream = await startRecorder(t);
  const balancer = await start(
    t,
    'read_body_idle 1s\nread_header 1s\nidle 1s',
    `reverse_proxy 127.0.0.1:${upstream.port}`,
  );
  const client = await openClient(balancer.port);
  client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 15\r\n\r\n');
  for (let count = 0; count < 15; count += 1) {
    await sleep(200);
    client.send('x');
  }
  assert.equal((await client.response()).status, 200);
  assert.equal(upstream.requests[0]!.rawBody.length, 15);
  client.close();
});

test('a body that stands still is 408, and the request upstream is cut', async (t) => {
  const upstream = await startRecorder(t);
  const balancer = await start(t, 'read_body_idle 500ms', `reverse_proxy 127.0.0.1:${upstream.port}`);
  for (const framing of ['Content-Length: 10\r\n\r\nhalf', 'Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n']) {
    const client = await openClient(balancer.port);
    const response = await client.send(`POST / HTTP/1.1\r\nHost: a\r\n${framing}`).response();
    assert.deepEqual([response.status, response.header('Connection')], [408, 'close']);
    client.close();
  }
  await eventually(() => upstream.open() === 0, 'no connection upstream');
  assert.equal(upstream.requests.length, 0);
});

test('a total limit for bodies, if set, holds against a client that dribbles', async (t) => {
  const upstream = await startRecorder(t);
  const balancer = await start(t, 'read_body 700ms', `reverse_proxy 127.0.0.1:${upstream.port}`);
  const client = await openClient(balancer.port);
  client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n');
  const dribbled = dribble(client, 'x');
  assert.equal((await client.response()).status, 408);
  client.socket.end();
  await dribbled;
});

test('a client that does not read its answer is cut, and the server is let go', async (t) => {
  const upstream = await startRecorder(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 200000000\r\n\r\n');
    const piece = Buffer.alloc(1 << 20);
    const more = (): void => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', more);
    more();
  });
  const balancer = await start(t, 'write_idle 500ms', `reverse_proxy 127.0.0.1:${upstream.port}`);
  const client = await openClient(balancer.port);
  client.send(GET).socket.pause();
  await eventually(() => upstream.sockets.length === 1, 'the request upstream');
  await eventually(() => upstream.open() === 0, 'the connection upstream to be cut');
  client.socket.resume();
  assert.equal(await client.ended(), 'reset');
  assert.match(await balancer.metrics(), /^holdfast_http_client_timeouts_total\{.*\} 1$/m);
});

test('an upload the server does not read is 504, not the fault of the client', async (t) => {
  const upstream = await startScripted(t, (socket) => socket.pause());
  const balancer = await start(t, 'read_body_idle 500ms', `reverse_proxy 127.0.0.1:${upstream.port}`);
  const client = await openClient(balancer.port);
  client.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n`).send(Buffer.alloc(50_000_000));
  const response = await client.response();
  assert.equal(response.status, 504);
  const page = await balancer.metrics();
  assert.equal(
    sampleOf(page, `holdfast_upstream_failures_total{upstream="127.0.0.1:${upstream.port}",cause="timeout"}`),
    1,
  );
  client.close();
});

test('a server that takes the request and never answers is 504, counted, and a POST is not tried elsewhere', async (t) => {
  const silent = await startRecorder(t, () => {});
  const other = await startRecorder(t);
  const transport = '    lb_policy first\n    transport http {\n      response_header_timeout 500ms\n    }';
  const upstreams = `127.0.0.1:${silent.port} 127.0.0.1:${other.port}`;
  const balancer = await startBalancer(t, site(`reverse_proxy ${upstreams} {\n${transport}\n  }`));
  const client = await openClient(balancer.port);
  const response = await client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi').response();
  assert.equal(response.status, 504);
  assert.deepEqual([silent.requests.length, other.requests.length], [1, 0]);
  const page = await balancer.metrics();
  assert.equal(
    sampleOf(page, `holdfast_upstream_failures_total{upstream="127.0.0.1:${silent.port}",cause="timeout"}`),
    1,
  );
  await eventually(() => silent.open() === 0, 'the silent connection to be given up');
  // The client did nothing wrong: its connection goes on.
  assert.equal((await client.send(GET).response()).status, 504);
  client.close();
});

test('the limit for the header of an answer leaves slow uploads and quiet streams alone', async (t) => {
  const upstream = await startRecorder(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n');
    setTimeout(() => socket.end('data: 1\n\n'), 1500);
  });
  const block = '{\n    transport http {\n      response_header_timeout 600ms\n    }\n  }';
  const balancer = await start(
    t,
    'idle 600ms\nread_header 600ms\nwrite_idle 600ms',
    `reverse_proxy 127.0.0.1:${upstream.port} ${block}`,
  );
  const client = await openClient(balancer.port);
  client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n');
  await sleep(1200);
  assert.equal((await client.send('hi').response()).body, 'data: 1\n\n');
  client.close();
});

test('a silent tunnel outlives every deadline', async (t) => {
  const upstream = await startScripted(t, (socket, _, received) => {
    socket.on('data', () => {
      if (received().endsWith('ping')) socket.write('pong');
      else socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    });
  });
  const timeouts =
    'idle 300ms\nread_header 300ms\nread_body_idle 300ms\nwrite_idle 300ms\nread_body 300ms\nwrite 300ms';
  const balancer = await start(t, timeouts, `reverse_proxy 127.0.0.1:${upstream.port}`);
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  assert.equal((await client.response()).status, 101);
  await sleep(1500);
  client.send('ping');
  await client.until(() => client.received === 'pong');
  client.close();
});

test('a total limit for answers, if set, holds for a stream that the client reads as it trickles', async (t) => {
  const upstream = await startScripted(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const timer = setInterval(() => socket.write('x'), 50);
      socket.on('close', () => clearInterval(timer));
    });
  });
  const balancer = await start(t, 'write 600ms', `reverse_proxy 127.0.0.1:${upstream.port}`);
  const client = await openClient(balancer.port);
  assert.equal(await client.send(GET).ended(), 'reset');
});
