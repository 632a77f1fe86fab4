/** `handle_response` and its parts: what a client gets instead of the response of a server. */
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { test } from 'node:test';
import { startBackend, startScripted, eventually } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { ask, get, openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

/** Reads the body, then answers. */
function answering(status: number, body: string, fields: Readonly<Record<string, string>> = {}): RequestListener {
  return (request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(status, fields).end(body));
  };
}

function post(body: string): string {
  return `POST /form HTTP/1.1\r\nHost: x.test\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
}

test('responses that fit get an answer of our own, which can name theirs; others pass', async (t) => {
  const backend = await startBackend(t, 'a', (request, response) => {
    response
      .writeHead(request.url === '/ok' ? 200 : 503, { 'X-Reason': 'too busy', 'Set-Cookie': 'theirs=1' })
      .end('theirs');
  });
  const options = `
    @down status 5xx
    handle_response @down {
      header X-Was {rp.status_text}
      respond "{http.request.uri.path}: {rp.status_code}, {rp.header.X-Reason}" 502
    }`;
  const balancer = await startBalancer(t, site(proxyTo([backend], options)));
  const handled = await get(balancer.port, '/bad');
  assert.deepEqual([handled.status, handled.body], [502, '/bad: 503, too busy']);
  assert.deepEqual([handled.header('x-was'), handled.header('set-cookie')], ['503 Service Unavailable', undefined]);
  const passed = await get(balancer.port, '/ok');
  assert.deepEqual([passed.status, passed.body, passed.header('set-cookie')], [200, 'theirs', 'theirs=1']);
  await eventually(() => balancer.accessLines.length === 2, 'the access lines');
  assert.deepEqual(
    [502, 200],
    balancer.accessLines.map((line) => line['status']),
  );
});

test('fields must all fit, and the first entry that fits is used', async (t) => {
  const backend = await startBackend(t, 'a', (request, response) => {
    response.setHeader('X-Kind', request.url === '/b' ? 'bee' : 'ant').end('theirs');
  });
  const options = `
    @bee {
      status 200
      header X-Kind b*
    }
    @plain header !X-Other
    handle_response @bee {
      respond "bee"
    }
    handle_response @plain {
      respond "plain"
    }
    handle_response {
      respond "never"
    }`;
  const balancer = await startBalancer(t, site(proxyTo([backend], options)));
  assert.equal((await get(balancer.port, '/b')).body, 'bee');
  assert.equal((await get(balancer.port, '/a')).body, 'plain');
});

test('the connection of a response nobody wants is used again, unless its body is long', async (t) => {
  const backend = await startBackend(t, 'a', (request, response) => {
    response.end(request.url === '/long' ? Buffer.alloc(4_000_000) : 'theirs');
  });
  const balancer = await startBalancer(t, site(proxyTo([backend], 'handle_response {\nrespond "ours"\n}')));
  for (const target of ['/', '/', '/long']) assert.equal((await get(balancer.port, target)).body, 'ours');
  assert.equal(backend.accepted, 1);
  await eventually(() => backend.sockets.size === 0, 'the end of the connection with the long body');
  assert.equal((await get(balancer.port)).body, 'ours');
  assert.equal(backend.accepted, 2);
});

test('copy_response relays the body, with a status and fields of our own; header_down counts', async (t) => {
  const body = 'x'.repeat(300_000);
  const backend = await startBackend(t, 'a', answering(418, body, { 'X-Theirs': '1', 'X-Secret': 's' }));
  const options = `
    header_down -X-Secret
    @tea status 418
    handle_response @tea {
      header X-Ours 1
      copy_response 203
    }`;
  const balancer = await startBalancer(t, site(proxyTo([backend], options)));
  const response = await get(balancer.port);
  assert.deepEqual([response.status, response.body.length], [203, body.length]);
  assert.deepEqual(
    ['x-theirs', 'x-ours', 'x-secret'].map((name) => response.header(name)),
    ['1', '1', undefined],
  );
});

test('copy_response_headers takes the fields it is told to into another answer', async (t) => {
  const backend = await startBackend(
    t,
    'a',
    answering(401, 'theirs', { 'WWW-Authenticate': 'Basic', 'X-A': '1', 'X-B': '2' }),
  );
  const config = (line: string): string =>
    proxyTo([backend], `handle_response {\ncopy_response_headers {\n${line}\n}\nrespond "ours" 403\n}`);
  const including = await startBalancer(t, site(config('include X-A WWW-Authenticate')));
  const one = await get(including.port);
  assert.deepEqual([one.status, one.body], [403, 'ours']);
  assert.deepEqual(
    ['www-authenticate', 'x-a', 'x-b'].map((name) => one.header(name)),
    ['Basic', '1', undefined],
  );
  const excluding = await startBalancer(t, site(config('exclude X-A')));
  const two = await get(excluding.port);
  assert.deepEqual(
    ['x-a', 'x-b', 'content-length'].map((name) => two.header(name)),
    [undefined, '2', '4'],
  );
});

test('replace_status changes nothing else, also where the new status or the old one has no body', async (t) => {
  const backend = await startBackend(t, 'a', (request, response) => {
    if (request.url === '/empty') response.writeHead(204).end();
    else response.writeHead(request.url === '/gone' ? 410 : 404, { 'X-Theirs': '1' }).end('theirs');
  });
  const options = `
    @missing status 404
    @gone status 410
    @empty status 204
    replace_status @missing 200
    replace_status @gone 204
    replace_status @empty 200`;
  const balancer = await startBalancer(t, site(proxyTo([backend], options)));
  const client = await openClient(balancer.port);
  const seen: unknown[] = [];
  // One connection for all: a wrong end of one answer would spoil the next.
  for (const target of ['/', '/gone', '/empty', '/']) {
    client.send(`GET ${target} HTTP/1.1\r\nHost: x.test\r\n\r\n`);
    const response = await client.response();
    seen.push([response.status, response.body]);
  }
  client.close();
  assert.deepEqual(seen, [
    [200, 'theirs'],
    [204, ''],
    [200, ''],
    [200, 'theirs'],
  ]);
});

test('another server can be asked, with the request as the client sent it', async (t) => {
  const first = await startBackend(t, 'first', answering(404, 'not here', { 'X-Hint': 'try-second' }));
  const second = await startBackend(t, 'second');
  const inner = proxyTo([second], 'header_up X-Hint {rp.header.X-Hint}');
  const options = (buffers: string): string =>
    `${buffers}\n@missing status 404\nhandle_response @missing {\n${inner}\n}`;
  const balancer = await startBalancer(t, site(proxyTo([first], options(''))));
  assert.equal((await get(balancer.port, '/a?b')).body, 'second');
  assert.deepEqual([second.requests[0]?.url, second.requests[0]?.headers['x-hint']], ['/a?b', 'try-second']);
  // The body went to the first one and is gone.
  assert.equal((await ask(balancer.port, post('abc'))).status, 502);
  const keeping = await startBalancer(t, site(proxyTo([first], options('request_buffers 1KB'))));
  assert.equal((await ask(keeping.port, post('abc'))).body, 'second');
  assert.equal(second.bodies.at(-1)?.toString(), 'abc');
});

test('routes that do not answer go on with what stands behind the proxy', async (t) => {
  const check = await startBackend(t, 'check', answering(204, '', { 'X-User': 'ann' }));
  const app = await startBackend(t, 'app');
  const allowed = proxyTo(
    [check],
    '@ok status 2xx\nhandle_response @ok {\nrequest_header X-User {rp.header.X-User}\n}',
  );
  const balancer = await startBalancer(t, site(`route {\n${allowed}\n${proxyTo([app])}\n}`));
  assert.equal((await get(balancer.port)).body, 'app');
  assert.equal(app.requests[0]?.headers['x-user'], 'ann');
  const alone = await startBalancer(t, site(allowed));
  const nothing = await get(alone.port);
  assert.deepEqual([nothing.status, nothing.body], [200, '']);
});

test('an error goes to handle_errors, and an abort ends both connections', async (t) => {
  const backend = await startBackend(t, 'a', (request, response) => {
    response.writeHead(request.url === '/abort' ? 502 : 500).end('theirs');
  });
  const options = `
    @abort status 502
    handle_response @abort {
      abort
    }
    handle_response {
      error "server said {rp.status_code}" 503
    }`;
  const balancer = await startBalancer(
    t,
    site(`${proxyTo([backend], options)}\nhandle_errors {\nrespond "{err.message}" 599\n}`),
  );
  const response = await get(balancer.port);
  assert.deepEqual([response.status, response.body], [599, 'server said 500']);
  const client = await openClient(balancer.port);
  client.send('GET /abort HTTP/1.1\r\nHost: x.test\r\n\r\n');
  assert.equal(await client.ended(), 'reset');
});

test('an answer of our own does not wait for a request body that is still on its way', async (t) => {
  const backend = await startScripted(t, (socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno'));
  });
  const balancer = await startBalancer(t, site(proxyTo([backend], 'handle_response {\nrespond "ours" 403\n}')));
  const client = await openClient(balancer.port);
  client.send('POST / HTTP/1.1\r\nHost: x.test\r\nContent-Length: 100000\r\n\r\nabc');
  const response = await client.response();
  assert.deepEqual([response.status, response.body, response.header('connection')], [403, 'ours', 'close']);
});
