/** Error routes: what `handle_errors` makes of `error`, of upstreams that fail, and of requests that break. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend, startScripted } from '../support/backend.ts';
import { site, startBalancer } from '../support/balance.ts';
import { ask, get, openClient } from '../support/raw-client.ts';
import { freePort } from '../support/named-servers.ts';

const PAGE = 'handle_errors {\n    respond "{err.status_code} {err.status_text}: {err.message}"\n  }';

test('error is answered by the first error route whose codes fit, with its own status', async (t) => {
  const balancer = await startBalancer(
    t,
    site(`
  error /teapot "no coffee" 418
  error /gone 410
  error /broken "it broke"
  respond "ok"
  handle_errors 410 4xx {
    header X-Route four
    respond "{http.error.status_code} {http.error.message}"
  }
  handle_errors {
    respond "other {err.status_code} {err.status_text}" 599
  }`),
  );
  const teapot = await get(balancer.port, '/teapot');
  assert.deepEqual([teapot.status, teapot.body, teapot.header('X-Route')], [418, '418 no coffee', 'four']);
  const gone = await get(balancer.port, '/gone');
  assert.deepEqual([gone.status, gone.body], [410, '410 ']);
  const broken = await get(balancer.port, '/broken');
  assert.deepEqual(
    [broken.status, broken.body, broken.header('X-Route')],
    [599, 'other 500 Internal Server Error', undefined],
  );
  assert.equal((await get(balancer.port, '/')).body, 'ok');
});

test('without an error route that fits, the plain answer has the status, and the fields set before', async (t) => {
  const balancer = await startBalancer(
    t,
    site(
      'header X-Early yes\n  header Content-Type text/html\n  error /gone 410\n  error 404\n  handle_errors 410 {\n    error 451\n  }',
    ),
  );
  const missing = await get(balancer.port, '/');
  assert.deepEqual([missing.status, missing.body, missing.header('X-Early')], [404, 'Not Found\n', 'yes']);
  assert.deepEqual(missing.headers('Content-Type'), ['text/plain; charset=utf-8']);
  assert.equal((await get(balancer.port, '/gone')).status, 451);
});

test('an upstream that refuses, and no upstream at all, go through the error routes', async (t) => {
  const port = await freePort();
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${port}\n  ${PAGE}`));
  const response = await get(balancer.port, '/x');
  assert.deepEqual(
    [response.status, response.body],
    [502, '502 Bad Gateway: The server behind this balancer could not be reached or answered badly.'],
  );
  assert.equal(balancer.accessLines.length, 0);
});

test('an upstream that never answers is a 504 for the error routes', async (t) => {
  const upstream = await startScripted(t, () => {});
  const block = '{\n    transport http {\n      response_header_timeout 100ms\n    }\n  }';
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port} ${block}\n  ${PAGE}`));
  const response = await get(balancer.port);
  assert.equal(response.status, 504);
  assert.match(response.body, /^504 Gateway Timeout: /);
});

test('error routes see method and target as they came, and headers as handlers left them', async (t) => {
  const body = `
  rewrite * /rewritten
  method POST
  request_header X-A changed
  error 404
  handle_errors {
    respond "{method} {uri} {header.X-A}"
  }`;
  const balancer = await startBalancer(t, site(body));
  assert.equal((await get(balancer.port, '/came?q=1', { 'X-A': 'sent' })).body, 'GET /came?q=1 changed');
});

test('an error page may come from another upstream, with its body intact when none was sent yet', async (t) => {
  const pages = await startBackend(t, 'pages');
  const port = await freePort();
  const balancer = await startBalancer(
    t,
    site(`
  reverse_proxy 127.0.0.1:${port}
  handle_errors 502 {
    rewrite * /errors/{err.status_code}.html
    reverse_proxy 127.0.0.1:${pages.port}
  }`),
  );
  const response = await ask(
    balancer.port,
    'POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello',
  );
  assert.deepEqual([response.status, response.body], [200, 'pages']);
  assert.equal(pages.requests[0]!.url, '/errors/502.html');
  assert.equal(pages.bodies[0]!.toString(), 'hello');
});

test('when the error page cannot be fetched either, the answer is plain', async (t) => {
  const port = await freePort();
  const balancer = await startBalancer(
    t,
    site(`reverse_proxy 127.0.0.1:${port}\n  handle_errors {\n    reverse_proxy 127.0.0.1:${port}\n  }`),
  );
  const response = await get(balancer.port);
  assert.equal(response.status, 502);
  assert.match(response.body, /could not be reached/);
});

test('a body that was partly sent is not sent to an error page', async (t) => {
  const pages = await startBackend(t, 'pages');
  const dying = await startScripted(t, (socket, _index, received) => {
    socket.on('data', () => {
      if (received().includes('first')) socket.destroy();
    });
  });
  const balancer = await startBalancer(
    t,
    site(`reverse_proxy 127.0.0.1:${dying.port}\n  handle_errors {\n    reverse_proxy 127.0.0.1:${pages.port}\n  }`),
  );
  const client = await openClient(balancer.port);
  t.after(() => client.close());
  client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nfirst');
  assert.equal((await client.response('POST')).status, 502);
  assert.equal(pages.requests.length, 0);
});

test('a broken request body is answered by the error routes, and the connection ends', async (t) => {
  const upstream = await startScripted(t, () => {});
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}\n  ${PAGE}`));
  const client = await openClient(balancer.port);
  t.after(() => client.close());
  client.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n');
  const response = await client.response('POST');
  assert.deepEqual([response.status, response.header('Connection')], [400, 'close']);
  assert.match(response.body, /^400 Bad Request: /);
  assert.equal(await client.ended(), 'fin');
});

test('HEAD gets the head of an error page and no body; the connection goes on', async (t) => {
  const balancer = await startBalancer(t, site(`error 404\n  ${PAGE}`));
  const client = await openClient(balancer.port);
  t.after(() => client.close());
  client.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const head = await client.response('HEAD');
  assert.deepEqual([head.status, head.header('Content-Length')], [404, '15']);
  assert.deepEqual([(await client.response()).body], ['404 Not Found: ']);
});

test('abort inside an error route resets the connection', async (t) => {
  const balancer = await startBalancer(t, site('error 404\n  handle_errors {\n    abort\n  }'));
  const client = await openClient(balancer.port);
  t.after(() => client.close());
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.equal(await client.ended(), 'reset');
});

test('a map that ran before there was an error knows its status', async (t) => {
  const body = `
  map {err.status_code} {text} {
    404 "nothing here"
    ~^5 "our fault"
  }
  error /missing 404
  error 503
  handle_errors {
    respond "{text}"
  }`;
  const balancer = await startBalancer(t, site(body));
  assert.equal((await get(balancer.port, '/missing')).body, 'nothing here');
  assert.equal((await get(balancer.port, '/')).body, 'our fault');
});

test('each host has error routes of its own', async (t) => {
  const one = (host: string): string =>
    `http://${host}.example:0 {\n  bind 127.0.0.1\n  error 404\n  handle_errors {\n    respond "${host} {err.status_code}"\n  }\n}\n`;
  const balancer = await startBalancer(t, `{\n  admin off\n  auto_https off\n}\n${one('a')}${one('b')}`);
  assert.equal((await get(balancer.port, '/', { Host: 'a.example' })).body, 'a 404');
  assert.equal((await get(balancer.port, '/', { Host: 'b.example' })).body, 'b 404');
});

test('an expression may look at the error', async (t) => {
  const body =
    'error /a 404\n  error 503\n  handle_errors {\n    @b `{err.status_code} == 503`\n    respond @b "b"\n    respond "other"\n  }';
  const balancer = await startBalancer(t, site(body));
  assert.equal((await get(balancer.port, '/a')).body, 'other');
  assert.equal((await get(balancer.port, '/b')).body, 'b');
});

const SENDERS = {
  GET: (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`,
  HEAD: (path: string) => `HEAD ${path} HTTP/1.1\r\nHost: a\r\n\r\n`,
  'POST with a length': (path: string) =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n${'x'.repeat(20)}`,
  'POST in chunks': (path: string) =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n${'x'.repeat(20)}\r\n0\r\n\r\n`,
} as const;
const CAUSES = { error: 418, dead: 502, large: 413 } as const;
const ROUTES = ['none', 'respond', 'proxy', 'again'] as const;

for (const [sender, write] of Object.entries(SENDERS)) {
  test(`${sender}: whatever fails and whoever answers, the next request on the connection is read right or refused`, async (t) => {
    const pages = await startBackend(t, 'page');
    const dead = await freePort();
    const balancer = await startBalancer(
      t,
      site(`
  respond /ok "fine"
  error /error/* 418
  request_body /large/* {
    max_size 10
  }
  reverse_proxy /large/* 127.0.0.1:${pages.port}
  reverse_proxy 127.0.0.1:${dead}
  handle_errors {
    respond /*/respond "{err.status_code}"
    reverse_proxy /*/proxy 127.0.0.1:${pages.port}
    error /*/again 451
  }`),
    );
    for (const [cause, status] of Object.entries(CAUSES)) {
      for (const route of ROUTES) {
        const what = `${cause} ${route}`;
        const client = await openClient(balancer.port);
        client.send(`${write(`/${cause}/${route}`)}GET /ok HTTP/1.1\r\nHost: a\r\n\r\n`);
        const method = sender.split(' ')[0]!;
        const first = await client.response(method);
        const isLarge = cause === 'large' && method === 'POST';
        if (cause === 'large' && !isLarge) assert.equal(first.status, 200, what);
        else if (route === 'again') assert.equal(first.status, 451, what);
        else if (route === 'proxy' && !isLarge) assert.equal(first.status, 200, what);
        else assert.equal(first.status, status, what);
        if (first.header('Connection') === 'close') {
          assert.equal(await client.ended(), 'fin', what);
          assert.equal(client.received, '', what);
        } else {
          const second = await client.response();
          assert.deepEqual([second.status, second.body], [200, 'fine'], what);
        }
        client.close();
      }
    }
  });
}
