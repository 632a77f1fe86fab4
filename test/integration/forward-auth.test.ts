/** `forward_auth`: a server is asked whether a request may go on. */
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { ask, get, openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

/** Lets in whoever knows the word. */
const GATE: RequestListener = (request, response) => {
  request.resume();
  if (request.headers['x-word'] === 'sesame')
    response.writeHead(200, { 'Remote-User': 'ann', 'Remote-Groups': '' }).end('in');
  else response.writeHead(401, { 'WWW-Authenticate': 'Word' }).end('who are you?');
};

function asking(gate: { readonly port: number }, app: { readonly port: number }): string {
  return site(`forward_auth 127.0.0.1:${gate.port} {
    uri /verify?from=proxy
    copy_headers Remote-User>X-User Remote-Groups
  }
  ${proxyTo([app])}`);
}

test('a request that is let in goes on as it was, with fields of the answer and without forged ones', async (t) => {
  const gate = await startBackend(t, 'gate', GATE);
  const app = await startBackend(t, 'app');
  const balancer = await startBalancer(t, asking(gate, app));
  const response = await get(balancer.port, '/a?b', {
    'X-Word': 'sesame',
    'X-User': 'root',
    'Remote-Groups': 'admins',
  });
  assert.deepEqual([response.status, response.body], [200, 'app']);
  const asked = gate.requests[0]!;
  assert.deepEqual([asked.method, asked.url], ['GET', '/verify?from=proxy']);
  assert.deepEqual([asked.headers['x-forwarded-method'], asked.headers['x-forwarded-uri']], ['GET', '/a?b']);
  const { url, headers } = app.requests[0]!;
  assert.deepEqual([url, headers['x-user'], headers['remote-groups']], ['/a?b', 'ann', undefined]);
});

test('whoever is not let in gets the answer of the server that was asked', async (t) => {
  const gate = await startBackend(t, 'gate', GATE);
  const app = await startBackend(t, 'app');
  const balancer = await startBalancer(t, asking(gate, app));
  const response = await get(balancer.port);
  assert.deepEqual(
    [response.status, response.body, response.header('www-authenticate')],
    [401, 'who are you?', 'Word'],
  );
  assert.equal(app.requests.length, 0);
});

test('a server that is down lets nobody in', async (t) => {
  const gate = await startBackend(t, 'gate', GATE);
  const app = await startBackend(t, 'app');
  const balancer = await startBalancer(t, asking(gate, app));
  await gate.kill();
  assert.equal((await get(balancer.port, '/', { 'X-Word': 'sesame' })).status, 502);
  assert.equal(app.requests.length, 0);
});

test('the body goes past the server that is asked, whole, whatever its length', async (t) => {
  const gate = await startBackend(t, 'gate', GATE);
  const app = await startBackend(t, 'app');
  const balancer = await startBalancer(t, asking(gate, app));
  for (const length of [3, 1_000_000]) {
    const body = 'x'.repeat(length);
    const head = `POST /form HTTP/1.1\r\nHost: x.test\r\nX-Word: sesame\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`;
    assert.equal((await ask(balancer.port, head + body)).body, 'app');
    assert.equal(app.bodies.at(-1)?.toString(), body);
    assert.equal(gate.requests.at(-1)?.headers['content-length'], undefined);
    assert.equal(gate.requests.at(-1)?.headers['x-forwarded-method'], 'POST');
  }
  const chunked = 'POST / HTTP/1.1\r\nHost: x.test\r\nX-Word: sesame\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n';
  const client = await openClient(balancer.port);
  client.send(chunked);
  await client.until(() => app.requests.length === 3);
  client.send('2\r\nde\r\n0\r\n\r\n');
  assert.equal((await client.response('POST')).body, 'app');
  assert.equal(app.bodies.at(-1)?.toString(), 'abcde');
  client.send('POST / HTTP/1.1\r\nHost: x.test\r\nContent-Length: 3\r\n\r\nabc');
  assert.equal((await client.response('POST')).status, 401);
  client.close();
});

test('a client that waits for 100 gets it from the server that takes the body', async (t) => {
  const gate = await startBackend(t, 'gate', GATE);
  const app = await startBackend(t, 'app');
  const balancer = await startBalancer(t, asking(gate, app));
  const client = await openClient(balancer.port);
  client.send('PUT / HTTP/1.1\r\nHost: x.test\r\nX-Word: sesame\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n');
  assert.equal((await client.response('PUT')).status, 100);
  client.send('abc');
  assert.equal((await client.response('PUT')).body, 'app');
  assert.equal(app.bodies.at(-1)?.toString(), 'abc');
  client.close();
});
