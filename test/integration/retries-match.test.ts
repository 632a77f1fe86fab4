/** `lb_retry_match` and `request_buffers`: what goes to another server besides refused connections, and with which bytes. */
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { test } from 'node:test';
import { checkConfig } from '../../src/cli/check-config.ts';
import { startBackend, startScripted, eventually } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { ask, get, openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

const FIRST = 'lb_policy first\n';

/** Reads the body, then answers. */
function answering(status: number, body: string, fields: Readonly<Record<string, string>> = {}): RequestListener {
  return (request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(status, fields).end(body));
  };
}

function post(body: string, extra = ''): string {
  return `POST /form HTTP/1.1\r\nHost: x.test\r\nContent-Length: ${body.length}\r\n${extra}Connection: close\r\n\r\n${body}`;
}

test('a response that the expression matches is dropped and another server answers', async (t) => {
  const bad = await startBackend(t, 'bad', answering(503, 'sorry', { 'X-Bad': '1' }));
  const good = await startBackend(t, 'good');
  const options = `${FIRST}lb_retry_match \`{rp.status_code} in [502, 503]\``;
  const balancer = await startBalancer(t, site(proxyTo([bad, good], options)));
  const response = await get(balancer.port);
  assert.deepEqual([response.status, response.body, response.header('x-bad')], [200, 'good', undefined]);
  await eventually(() => balancer.accessLines.length === 1, 'the access line');
  assert.deepEqual([balancer.accessLines[0]?.['status'], balancer.accessLines[0]?.['attempts']], [200, 2]);
});

test('a field of the response can ask for another try', async (t) => {
  const busy = await startBackend(t, 'busy', answering(200, 'busy', { 'X-Retry': 'true' }));
  const good = await startBackend(t, 'good');
  const options = `${FIRST}lb_retry_match {\nexpression \`{rp.header.X-Retry} == "true"\`\n}`;
  const balancer = await startBalancer(t, site(proxyTo([busy, good], options)));
  assert.equal((await get(balancer.port)).body, 'good');
});

test('all matchers of a set must hold, and one set of several is enough', async (t) => {
  const bad = await startBackend(t, 'bad', answering(503, 'sorry'));
  const good = await startBackend(t, 'good');
  const options = `${FIRST}lb_retry_match {
    path /safe/*
    expression \`{rp.status_code} == 503\`
  }
  lb_retry_match \`{rp.status_code} == 503 && method("PUT")\``;
  const balancer = await startBalancer(t, site(proxyTo([bad, good], options)));
  assert.equal((await get(balancer.port, '/safe/a')).body, 'good');
  assert.equal((await get(balancer.port, '/other')).body, 'sorry');
  assert.equal((await ask(balancer.port, 'PUT / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).body, 'good');
});

test('when every server answers so, the client gets the last answer as it is', async (t) => {
  const one = await startBackend(t, 'one', answering(503, 'sorry from one'));
  const two = await startBackend(t, 'two', answering(503, 'sorry from two', { 'Retry-After': '7' }));
  const options = `${FIRST}lb_retry_match \`{rp.status_code} == 503\``;
  const balancer = await startBalancer(t, site(proxyTo([one, two], options)));
  const response = await get(balancer.port);
  assert.deepEqual([response.status, response.body, response.header('retry-after')], [503, 'sorry from two', '7']);
  assert.deepEqual([one.requests.length, two.requests.length], [1, 1]);
});

test('lb_retries bounds them, and a lone server is asked again after the pause', async (t) => {
  const bad = await startBackend(t, 'bad', answering(503, 'sorry'));
  const options = 'lb_retries 2\nlb_try_interval 10ms\nlb_retry_match `{rp.status_code} == 503`';
  const balancer = await startBalancer(t, site(proxyTo([bad], options)));
  const response = await get(balancer.port);
  assert.deepEqual([response.status, response.body, bad.requests.length], [503, 'sorry', 3]);
});

test('lb_retries 0 passes the first answer on', async (t) => {
  const bad = await startBackend(t, 'bad', answering(503, 'sorry'));
  const good = await startBackend(t, 'good');
  const options = `${FIRST}lb_retries 0\nlb_retry_match \`{rp.status_code} == 503\``;
  const balancer = await startBalancer(t, site(proxyTo([bad, good], options)));
  assert.equal((await get(balancer.port)).body, 'sorry');
});

test('a set that is only about requests does not retry good answers', async (t) => {
  const one = await startBackend(t, 'one');
  const two = await startBackend(t, 'two');
  const options = `${FIRST}lb_retry_match \`method("GET")\`\nlb_retry_match {\nmethod GET\n}`;
  const balancer = await startBalancer(t, site(proxyTo([one, two], options)));
  assert.equal((await get(balancer.port)).body, 'one');
  assert.equal(two.requests.length, 0);
});

test('a request with a body that is not kept gets the answer that is there', async (t) => {
  const bad = await startBackend(t, 'bad', answering(503, 'sorry'));
  const good = await startBackend(t, 'good');
  const options = `${FIRST}lb_retry_match \`{rp.status_code} == 503\``;
  const balancer = await startBalancer(t, site(proxyTo([bad, good], options)));
  assert.equal((await ask(balancer.port, post('a=1'))).body, 'sorry');
  assert.equal(good.requests.length, 0);
});

test('a kept body goes to every server that is tried, each byte once', async (t) => {
  const seen: string[] = [];
  const bad = await startBackend(t, 'bad', (request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      seen.push(body);
      response.writeHead(503).end();
    });
  });
  const good = await startBackend(t, 'good');
  const options = `${FIRST}request_buffers 300KB\nlb_retry_match \`{rp.status_code} == 503\``;
  const balancer = await startBalancer(t, site(proxyTo([bad, good], options)));
  const large = Array.from({ length: 25_000 }, (_, at) => `${at},`).join('');
  assert.equal((await ask(balancer.port, post(large))).body, 'good');
  const chunks = Array.from({ length: 3000 }, (_, at) => `1\r\n${at % 10}\r\n`).join('');
  const chunked = 'POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n';
  assert.equal((await ask(balancer.port, `${chunked}${chunks}0\r\n\r\n`)).body, 'good');
  const digits = Array.from({ length: 3000 }, (_, at) => String(at % 10)).join('');
  assert.deepEqual(seen, [large, digits]);
  assert.deepEqual(
    good.bodies.map((body) => body.toString('latin1')),
    [large, digits],
  );
});

test('no server is asked before the body is here', async (t) => {
  const server = await startBackend(t, 'server');
  const balancer = await startBalancer(t, site(proxyTo([server], 'request_buffers 1KB')));
  const client = await openClient(balancer.port);
  t.after(() => client.close());
  client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nConnection: close\r\n\r\n12345');
  assert.equal((await get(balancer.port)).body, 'server');
  assert.equal(server.requests.length, 1);
  client.send('67890');
  await eventually(() => server.bodies.length === 2, 'the whole body');
  assert.equal(server.bodies[1]?.toString(), '1234567890');
});

test('a body larger than request_buffers is streamed, once', async (t) => {
  const bad = await startBackend(t, 'bad', answering(503, 'sorry'));
  const good = await startBackend(t, 'good');
  const options = `${FIRST}request_buffers 1000\nlb_retry_match \`{rp.status_code} == 503\``;
  const balancer = await startBalancer(t, site(proxyTo([bad, good], options)));
  assert.equal((await ask(balancer.port, post('x'.repeat(1000)))).body, 'good');
  assert.equal((await ask(balancer.port, post('x'.repeat(1001)))).body, 'sorry');
  assert.equal((await ask(balancer.port, post('y'.repeat(500_000)))).body, 'sorry');
  assert.deepEqual([bad.requests.length, good.bodies.map(({ length }) => length)], [3, [1000]]);
});

test('a streamed body reaches a server behind a dead one, byte for byte', async (t) => {
  const dead = await startBackend(t, 'dead');
  const alive = await startBackend(t, 'alive');
  await dead.kill();
  const balancer = await startBalancer(t, site(proxyTo([dead, alive], `${FIRST}request_buffers 70KB`)));
  const bodies = [10, 65_536, 70_000, 70_001, 400_000].map((size) => 'abcdefg'.repeat(size / 7 + 1).slice(0, size));
  for (const body of bodies) assert.equal((await ask(balancer.port, post(body))).body, 'alive');
  assert.deepEqual(
    alive.bodies.map((body) => body.toString('latin1')),
    bodies,
  );
});

test('a client that waits for 100 Continue gets one, and only one', async (t) => {
  const server = await startScripted(t, (socket, _index, received) => {
    socket.on('data', () => {
      if (!received().endsWith('hello')) return;
      socket.write('HTTP/1.1 100 Continue\r\n\r\n');
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
  });
  const balancer = await startBalancer(t, site(proxyTo([server], 'request_buffers 1KB')));
  const client = await openClient(balancer.port);
  t.after(() => client.close());
  client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n');
  await eventually(() => client.received.includes('100 Continue'), 'the 100');
  client.send('hello');
  await eventually(() => client.received.endsWith('ok'), 'the answer');
  assert.equal(client.received.split('100 Continue').length, 2);
});

test('a broken connection is retried for the methods that the matcher names, and for no others', async (t) => {
  const breaking = await startScripted(t, (socket) => socket.on('data', () => socket.resetAndDestroy()));
  const good = await startBackend(t, 'good');
  const options = `${FIRST}request_buffers 1KB\nlb_retry_match method POST`;
  const balancer = await startBalancer(t, site(proxyTo([breaking, good], options)));
  assert.equal((await ask(balancer.port, post('once'))).body, 'good');
  assert.deepEqual(good.bodies.map(String), ['once']);
  assert.equal((await get(balancer.port)).status, 502);
});

test('an answer that does not come in time, or is no HTTP, is a failure of that kind', async (t) => {
  const silent = await startScripted(t, () => {});
  const garbage = await startScripted(t, (socket) => socket.on('data', () => socket.write('nonsense\r\n\r\n')));
  const good = await startBackend(t, 'good');
  const options = `${FIRST}lb_retry_match \`{rp.is_transport_error}\`
  transport http {
    response_header_timeout 100ms
  }`;
  const balancer = await startBalancer(t, site(proxyTo([silent, garbage, good], options)));
  const response = await get(balancer.port);
  assert.deepEqual([response.status, response.body], [200, 'good']);
});

test('the expression matcher routes', async (t) => {
  const body = `
  @api expression \`path("/api/*") && {http.request.header.X-Key}.startsWith("k-") || {query.debug} == "1"\`
  @named {
    expression {method} == "DELETE"
  }
  respond @api "api"
  respond @named "named"
  respond "rest"`;
  const balancer = await startBalancer(t, site(body));
  const asked = async (line: string): Promise<string> =>
    (await ask(balancer.port, `${line}\r\nHost: x\r\nConnection: close\r\n\r\n`)).body;
  assert.equal(await asked('GET /api/a HTTP/1.1\r\nX-Key: k-1'), 'api');
  assert.equal(await asked('GET /api/a HTTP/1.1\r\nX-Key: z'), 'rest');
  assert.equal(await asked('GET /?debug=1 HTTP/1.1'), 'api');
  assert.equal(await asked('DELETE / HTTP/1.1'), 'named');
});

const REFUSED: readonly (readonly [what: string, lines: string, message: RegExp])[] = [
  [
    'an expression that cannot hold',
    'lb_retry_match `{rp.status_code} == "503"`',
    /an integer never equals a text.*:10$/,
  ],
  ['a broken expression', 'lb_retry_match `{rp.status_code} ==`', /something is missing, at its end.*:10$/],
  [
    'request_buffers without end',
    'request_buffers unlimited',
    /request_buffers: expected a whole number from 0 to 67108864, found -1.*:10$/,
  ],
  ['too large request_buffers', 'request_buffers 1GB', /request_buffers: expected a whole number.*:10$/],
];

for (const [what, lines, message] of REFUSED) {
  test(`${what} is refused with its line`, () => {
    const text = site(proxyTo([{ port: 80 }], lines));
    assert.throws(() => checkConfig({ text, adapter: 'caddyfile', filename: 'Caddyfile' }, {}), message);
  });
}

test('a body that is announced as too large to keep goes on at once, its 100 Continue included', async (t) => {
  const server = await startScripted(t, (socket, _index, received) => {
    socket.on('data', () => {
      if (received().endsWith('\r\n\r\n')) socket.write('HTTP/1.1 100 Continue\r\n\r\n');
      if (received().endsWith('hello')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
  });
  const balancer = await startBalancer(t, site(proxyTo([server], 'request_buffers 4')));
  const client = await openClient(balancer.port);
  t.after(() => client.close());
  client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n');
  await eventually(() => client.received.includes('100 Continue'), 'the 100 of the server');
  client.send('hello');
  await eventually(() => client.received.endsWith('ok'), 'the answer');
  assert.equal(client.received.split('100 Continue').length, 2);
});
