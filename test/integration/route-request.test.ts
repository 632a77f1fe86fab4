/** Routing without an upstream's help: what handlers and matchers make of a request, over sockets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { site, startBalancer } from '../support/balance.ts';
import { ask, get, openClient } from '../support/raw-client.ts';
import { freePort } from '../support/named-servers.ts';
import { startRecorder } from '../support/recorder.ts';

test('request_header is seen by matchers, placeholders and the upstream', async (t) => {
  const upstream = await startRecorder(t);
  const body = `
  request_header X-Mode {query.mode}
  request_header -X-Secret
  request_header Cookie (?i)drop=[^;]* kept=1
  @fast header X-Mode fast
  handle @fast {
    respond "fast {header.X-Mode}{header.X-Secret}"
  }
  handle {
    reverse_proxy 127.0.0.1:${upstream.port}
  }`;
  const balancer = await startBalancer(t, site(body));
  assert.equal((await get(balancer.port, '/?mode=fast', { 'X-Secret': 's' })).body, 'fast fast');
  await get(balancer.port, '/?mode=slow', { 'X-Secret': 's', Cookie: 'a=1; Drop=me; b=2', 'X-Mode': 'fast' });
  const [request] = upstream.requests;
  assert.deepEqual([request!.values('X-Mode'), request!.values('X-Secret')], [['slow'], []]);
  assert.deepEqual(request!.values('Cookie'), ['a=1; kept=1; b=2']);
});

test('request_header Host goes upstream, and matches; forwarded fields stay ours', async (t) => {
  const upstream = await startRecorder(t);
  const body = `route {
    request_header Host inner.example
    request_header X-Forwarded-For 10.9.9.9
    @inner host inner.example
    reverse_proxy @inner 127.0.0.1:${upstream.port}
  }`;
  const balancer = await startBalancer(t, site(body));
  assert.equal((await get(balancer.port)).status, 200);
  const [request] = upstream.requests;
  assert.deepEqual(
    [request!.values('Host'), request!.values('X-Forwarded-Host')],
    [['inner.example'], ['inner.example']],
  );
  assert.deepEqual(request!.values('X-Forwarded-For'), ['127.0.0.1']);
});

test('connection fields and framing survive a request_header that deletes everything', async (t) => {
  const upstream = await startRecorder(t);
  const balancer = await startBalancer(t, site(`request_header -*\n  reverse_proxy 127.0.0.1:${upstream.port}`));
  const chunked = 'POST / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n';
  assert.equal((await ask(balancer.port, chunked)).status, 200);
  const [request] = upstream.requests;
  assert.deepEqual([request!.values('Host'), request!.values('X-A')], [['a'], []]);
  assert.deepEqual([request!.values('Transfer-Encoding'), request!.rawBody], [['chunked'], '3\r\nabc\r\n0\r\n\r\n']);
});

test('a client cannot take a field away again that request_header sets, by naming it in Connection', async (t) => {
  const upstream = await startRecorder(t);
  const balancer = await startBalancer(
    t,
    site(`request_header X-Auth checked\n  reverse_proxy 127.0.0.1:${upstream.port}`),
  );
  const lines = 'Host: a\r\nConnection: close, X-Auth, X-Hop\r\nX-Auth: forged\r\nX-Hop: 1\r\n';
  await ask(balancer.port, `GET / HTTP/1.1\r\n${lines}\r\n`);
  const [request] = upstream.requests;
  assert.deepEqual([request!.values('X-Auth'), request!.values('X-Hop')], [['checked'], []]);
});

test('captures lead a rewrite, and cannot smuggle escapes or a query into it', async (t) => {
  const upstream = await startRecorder(t);
  const body = `
  @post path_regexp post ^/blog/(?P<year>\\d{4})/(.+)$
  rewrite @post /posts/{re.post.2}?y={re.post.year}
  reverse_proxy 127.0.0.1:${upstream.port}`;
  const balancer = await startBalancer(t, site(body));
  await get(balancer.port, '/blog/2026/hello%20world');
  await get(balancer.port, '/blog/2026/a%3Fb=1%252e');
  await get(balancer.port, '/blog/26/x?keep');
  assert.deepEqual(
    upstream.requests.map(({ line }) => line),
    [
      'GET /posts/hello%20world?y=2026 HTTP/1.1',
      'GET /posts/a%3Fb=1%252e?y=2026 HTTP/1.1',
      'GET /blog/26/x?keep HTTP/1.1',
    ],
  );
});

test('uri path_regexp and replace change the path and leave other bytes alone', async (t) => {
  const upstream = await startRecorder(t);
  const body = `
  uri path_regexp /v(\\d+)/ /version-$1/
  uri replace old new
  reverse_proxy 127.0.0.1:${upstream.port}`;
  const balancer = await startBalancer(t, site(body));
  await get(balancer.port, '/v12/a%2Fb//old?x=/v1/&y=old');
  assert.equal(upstream.requests[0]!.line, 'GET /version-12/a%2Fb//new?x=/v1/&y=new HTTP/1.1');
});

test('map chooses the upstream, the answer and its status', async (t) => {
  const blue = await startBackend(t, 'blue');
  const green = await startBackend(t, 'green');
  const body = `
  map {path} {colour} {code} {
    /b blue 200
    ~^/g(.*)$ green$1 203
    default none 404
  }
  @blue vars {colour} blue
  @green vars_regexp g {colour} ^green(.*)$
  handle @blue {
    reverse_proxy 127.0.0.1:${blue.port}
  }
  handle @green {
    header X-Rest {re.g.1}
    reverse_proxy 127.0.0.1:${green.port}
  }
  handle {
    respond "{colour}" {code}
  }`;
  const balancer = await startBalancer(t, site(body));
  assert.equal((await get(balancer.port, '/b')).body, 'blue');
  const found = await get(balancer.port, '/g-x');
  assert.deepEqual([found.body, found.header('X-Rest')], ['green', '-x']);
  const none = await get(balancer.port, '/z');
  assert.deepEqual([none.status, none.body], [404, 'none']);
});

test('log_skip leaves no access line for what it matches', async (t) => {
  const balancer = await startBalancer(t, site('log\n  log_skip /health\n  respond "ok"'));
  await get(balancer.port, '/health');
  await get(balancer.port, '/seen');
  await balancer.stop();
  assert.deepEqual(
    balancer.accessLines.map(({ target }) => target),
    ['/seen'],
  );
});

test('a named route answers where it is invoked, with the matchers of its own', async (t) => {
  const text = `{
  admin off
  auto_https off
}
&(hello) {
  @json header Accept application/json
  respond @json "{\\"hello\\": true}"
  respond "hello {path}"
}
http://:0 {
  bind 127.0.0.1
  handle /a {
    invoke hello
  }
  respond "other"
}
`;
  const balancer = await startBalancer(t, text);
  assert.equal((await get(balancer.port, '/a')).body, 'hello /a');
  assert.equal((await get(balancer.port, '/a', { Accept: 'application/json' })).body, '{"hello": true}');
  assert.equal((await get(balancer.port, '/b')).body, 'other');
});

test('redir html is a page in which the target cannot become markup', async (t) => {
  const balancer = await startBalancer(t, site('redir https://www.example.com{uri} html'));
  const response = await get(balancer.port, "/a?x='<script>alert(1)</script>&y=1");
  assert.deepEqual([response.status, response.header('Content-Type')], [200, 'text/html; charset=utf-8']);
  assert.ok(!response.body.includes('<script>'));
  assert.match(
    response.body,
    /url=https:\/\/www\.example\.com\/a\?x=&#39;&#60;script&#62;alert\(1\)&#60;\/script&#62;&#38;y=1"/,
  );
});

test('a path that makes backtracking engines hang leaves the worker answering', async (t) => {
  const balancer = await startBalancer(t, site('@m path_regexp ^/(a+)+$\n  respond @m "match"\n  respond "no"'));
  const client = await openClient(balancer.port);
  t.after(() => client.close());
  client.send(`GET /${'a'.repeat(12_000)}! HTTP/1.1\r\nHost: a\r\n\r\n`);
  assert.equal((await client.response()).body, 'no');
  assert.equal((await get(balancer.port, '/aaaa')).body, 'match');
});

test('metrics can be shown on a site by way of the admin API', async (t) => {
  const admin = await freePort();
  const text = `{
  admin localhost:${admin}
  auto_https off
}
http://:0 {
  bind 127.0.0.1
  reverse_proxy /metrics localhost:${admin} {
    header_up Host localhost:${admin}
  }
}
`;
  const balancer = await startBalancer(t, text);
  const page = await get(balancer.port, '/metrics');
  assert.equal(page.status, 200);
  assert.match(page.body, /^# (HELP|TYPE) /m);
  assert.equal((await get(balancer.port, '/config/')).body, '');
});
