/** `method` and `rewrite` of `reverse_proxy` change what goes upstream, and nothing that the client or a route sees. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { ask, openClient } from '../support/raw-client.ts';
import { OK, startRecorder, type Recorder } from '../support/recorder.ts';

async function start(
  t: TestContext,
  options: string,
  answer?: Parameters<typeof startRecorder>[1],
): Promise<{ readonly upstream: Recorder; readonly balancer: TestBalancer }> {
  const upstream = await startRecorder(t, answer);
  const body = `log\nreverse_proxy 127.0.0.1:${upstream.port} {\n${options}\n}`;
  return { upstream, balancer: await startBalancer(t, site(body)) };
}

test('target and method are changed on the way up; headers and the access line tell of those that were routed', async (t) => {
  const { upstream, balancer } = await start(
    t,
    'method post\nrewrite /in{path}?from={query}\nheader_up X-Was {method}:{path}',
  );
  const response = await ask(balancer.port, 'GET /a%20b?c=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  assert.equal(response.status, 200);
  assert.equal(upstream.requests[0]!.line, 'POST /in/a%20b?from=c=1 HTTP/1.1');
  assert.deepEqual(upstream.requests[0]!.values('X-Was'), ['GET:/a b']);
});

for (const [framing, rest] of [
  ['of known length', 'Content-Length: 5\r\n\r\nhello'],
  ['in chunks', 'Transfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n5\r\nhello\r\n0\r\nX-End: 1\r\n\r\n'],
] as const) {
  test(`a POST that becomes a GET loses its body and all that announces it, ${framing}`, async (t) => {
    const { upstream, balancer } = await start(t, 'method GET');
    const client = await openClient(balancer.port);
    for (let count = 0; count < 2; count += 1) {
      const response = await client
        .send(`POST /x HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n${rest}`)
        .response();
      assert.deepEqual([response.status, response.body], [200, 'ok']);
    }
    client.close();
    for (const request of upstream.requests) {
      assert.deepEqual([request.line, request.rawBody], ['GET /x HTTP/1.1', '']);
      for (const name of ['Content-Length', 'Transfer-Encoding', 'Trailer']) assert.deepEqual(request.values(name), []);
      assert.deepEqual(request.values('Content-Type'), ['text/plain']);
    }
    assert.equal(upstream.requests.length, 2);
  });
}

test('a client that waits for leave to send a body that is dropped gets its answer instead', async (t) => {
  const { upstream, balancer } = await start(t, 'method GET');
  const client = await openClient(balancer.port);
  const head = 'PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n';
  const response = await client.send(head).response();
  assert.deepEqual([response.status, response.header('Connection')], [200, 'close']);
  assert.deepEqual(upstream.requests[0]!.values('Expect'), []);
  client.close();
});

test('a body that comes behind the answer is dropped too, and upstream stands one request', async (t) => {
  const { upstream, balancer } = await start(t, 'method GET');
  const client = await openClient(balancer.port);
  const response = await client.send('PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe').response();
  assert.equal(response.status, 200);
  client.send('llo');
  client.close();
  assert.equal(upstream.received.length, 1);
  assert.equal(upstream.requests.length, 1);
});

test('a method that is the same already drops nothing', async (t) => {
  const { upstream, balancer } = await start(t, 'method GET');
  const response = await ask(
    balancer.port,
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi',
  );
  assert.equal(response.status, 200);
  assert.equal(upstream.requests[0]!.rawBody, 'hi');
});

test('a HEAD that goes up as GET is answered without the body', async (t) => {
  const { balancer } = await start(t, 'method GET');
  const client = await openClient(balancer.port);
  for (let count = 0; count < 2; count += 1) {
    const response = await client.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n').response('HEAD');
    assert.deepEqual([response.status, response.body], [200, '']);
  }
  client.close();
});

test('a GET that goes up as POST is not sent twice when its connection breaks', async (t) => {
  const { upstream, balancer } = await start(t, 'method POST', (socket, _request, index) => {
    if (index === 0) socket.destroy();
    else socket.write(OK);
  });
  const response = await ask(balancer.port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  assert.deepEqual([response.status, upstream.requests.length], [502, 1]);
});

test('a handler that changes nothing behind one that failed sends what was routed', async (t) => {
  const upstream = await startRecorder(t);
  const dead = await startRecorder(t, (socket) => void socket.destroy());
  const body =
    `reverse_proxy 127.0.0.1:${dead.port} {\nmethod POST\nrewrite /other\n}\n` +
    `handle_errors {\nreverse_proxy 127.0.0.1:${upstream.port}\n}`;
  const balancer = await startBalancer(t, site(body));
  await ask(balancer.port, 'GET /mine HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  assert.equal(upstream.requests[0]!.line, 'GET /mine HTTP/1.1');
});
