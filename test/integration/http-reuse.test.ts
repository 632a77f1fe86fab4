/** An idle upstream connection that dies just as it is used again. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { openClient } from '../support/raw-client.ts';
import { assertNoRestarts, OK, startRecorder, type Recorder } from '../support/recorder.ts';

type Ending = 'reset' | 'fin';

/** Answers the first request of each connection and ends the connection when a second one arrives. */
async function startForgetful(t: TestContext, ending: Ending): Promise<{ upstream: Recorder; balancer: TestBalancer }> {
  const seen = new Set<number>();
  const upstream = await startRecorder(t, (socket, { connection }) => {
    if (!seen.has(connection)) {
      seen.add(connection);
      socket.write(OK);
    } else if (ending === 'reset') {
      socket.resetAndDestroy();
    } else {
      socket.end();
    }
  });
  return { upstream, balancer: await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`)) };
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const POST = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi';

async function failures(balancer: TestBalancer): Promise<string[]> {
  const page = await balancer.metrics();
  return page.split('\n').filter((line) => /^holdfast_upstream_failures_total\{/.test(line) && !line.endsWith(' 0'));
}

for (const ending of ['reset', 'fin'] as const) {
  test(`a GET whose reused connection ends by ${ending} is replayed once on a fresh one and is no failure`, async (t) => {
    const { upstream, balancer } = await startForgetful(t, ending);
    const client = await openClient(balancer.port);
    assert.equal((await client.send(GET).response()).status, 200);
    assert.equal((await client.send(GET).response()).status, 200);
    assert.deepEqual(
      upstream.requests.map(({ connection }) => connection),
      [0, 0, 1],
    );
    assert.deepEqual(await failures(balancer), []);
    client.close();
  });

  test(`a POST whose reused connection ends by ${ending} is answered 502, sent once, and is no failure`, async (t) => {
    const { upstream, balancer } = await startForgetful(t, ending);
    const client = await openClient(balancer.port);
    assert.equal((await client.send(GET).response()).status, 200);
    assert.equal((await client.send(POST).response()).status, 502);
    assert.deepEqual(
      upstream.requests.map(({ line }) => line),
      ['GET / HTTP/1.1', 'POST / HTTP/1.1'],
    );
    assert.deepEqual(await failures(balancer), []);
    // The client's own connection is whole: it goes on.
    assert.equal((await client.send(GET).response()).status, 200);
    client.close();
  });
}

test('a GET is replayed only once: a server that always hangs up is a failure and 502', async (t) => {
  let answered = false;
  const upstream = await startRecorder(t, (socket) => {
    if (answered) socket.resetAndDestroy();
    else socket.write(OK);
    answered = true;
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  assert.equal((await client.send(GET).response()).status, 200);
  assert.equal((await client.send(GET).response()).status, 502);
  assert.equal(upstream.requests.length, 3);
  assert.equal((await failures(balancer)).length, 1);
  client.close();
});

test('a reused connection that breaks inside the head of an answer is a failure of the server, not a lost race', async (t) => {
  const upstream = await startRecorder(t, (socket, _, index) => {
    if (index === 0) socket.write(OK);
    else socket.write('HTTP/1.1 2', () => socket.end());
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  assert.equal((await client.send(GET).response()).status, 200);
  assert.equal((await client.send(GET).response()).status, 502);
  assert.equal(upstream.requests.length, 2);
  assert.equal((await failures(balancer)).length, 1);
  client.close();
});

test('an idle connection closed by the server is not used again', async (t) => {
  const upstream = await startRecorder(t);
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  assert.equal((await client.send(GET).response()).status, 200);
  upstream.sockets[0]!.end();
  await eventually(() => upstream.open() === 0, 'the balancer closes its half');
  assert.equal((await client.send(POST).response()).status, 200);
  assert.deepEqual(
    upstream.requests.map(({ connection }) => connection),
    [0, 1],
  );
  client.close();
});

test('Keep-Alive: timeout=1 leaves no time to reuse the connection, timeout=100 does', async (t) => {
  let seconds = 100;
  const upstream = await startRecorder(t, (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nKeep-Alive: timeout=${seconds}\r\nContent-Length: 2\r\n\r\nok`);
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  for (const next of [100, 1, 1]) {
    seconds = next;
    const response = await client.send(GET).response();
    assert.equal(response.header('Keep-Alive'), undefined);
  }
  // Requests 1 and 2 share a connection; the answer to 2 said timeout=1, so 3 came on another one.
  assert.deepEqual(
    upstream.requests.map(({ connection }) => connection),
    [0, 0, 1],
  );
  client.close();
});

test('bytes an upstream sends after its answer are never taken for the answer to the next request', async (t) => {
  const upstream = await startRecorder(t, (socket, { line }) => {
    const stray = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen';
    socket.write(line.includes('/first') ? `${OK}${stray}` : OK);
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  // Pipelined, so that the second request starts in the very turn in which the stray bytes were read.
  client.send('GET /first HTTP/1.1\r\nHost: a\r\n\r\nGET /second HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.equal((await client.response()).body, 'ok');
  assert.equal((await client.response()).body, 'ok');
  assert.deepEqual(
    upstream.requests.map(({ connection }) => connection),
    [0, 1],
  );
  assertNoRestarts(await balancer.metrics());
  client.close();
});
