/** Upstreams with placeholders in their addresses: the request names its server. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventually, startBackend } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { get, openClient } from '../support/raw-client.ts';

function start(t: TestContext, body: string, workers = 1): Promise<TestBalancer> {
  return startBalancer(t, site(`  log\n${body}`), { workers });
}

test('a header, a variable, a query and a capture may name the server', async (t) => {
  const [one, two] = await Promise.all([startBackend(t, 'one'), startBackend(t, 'two')]);
  const balancer = await start(
    t,
    `  map {query.to} {backend} {
    one 127.0.0.1:${one.port}
    two 127.0.0.1:${two.port}
  }
  handle /header {
    reverse_proxy {header.X-Up}
  }
  handle /port {
    reverse_proxy 127.0.0.1:{query.port}
  }
  @captured path_regexp c ^/c/(\\d+)$
  handle @captured {
    reverse_proxy 127.0.0.1:{re.c.1}
  }
  handle /vars {
    vars up 127.0.0.1:${two.port}
    reverse_proxy {vars.up}
  }
  reverse_proxy {backend}`,
    2,
  );
  const body = async (path: string, headers: Record<string, string> = {}): Promise<string> =>
    (await get(balancer.port, path, headers)).body;
  for (let round = 0; round < 3; round += 1) {
    assert.equal(await body('/header', { 'X-Up': `127.0.0.1:${one.port}` }), 'one');
    assert.equal(await body('/header', { 'X-Up': `127.0.0.1:${two.port}` }), 'two');
    assert.equal(await body(`/port?port=${two.port}`), 'two');
    assert.equal(await body(`/c/${one.port}`), 'one');
    assert.equal(await body('/vars'), 'two');
    assert.equal(await body('/?to=one'), 'one');
    assert.equal(await body('/?to=two'), 'two');
  }
});

test('what is no address is a 502 that error routes see, and asks nobody', async (t) => {
  const balancer = await start(
    t,
    `  reverse_proxy {header.X-Up}\n  handle_errors {\n    respond "{err.status_code} {err.message}"\n  }`,
  );
  for (const text of [
    '',
    ':80',
    'unix//run/app.sock',
    'http://a',
    'a b',
    'a:b',
    'a:0',
    'a:99999',
    'x'.repeat(400),
    '[::1',
    'a/b',
  ]) {
    const { body } = await get(balancer.port, '/', { 'X-Up': text });
    assert.equal(body, '502 the request names no upstream', JSON.stringify(text));
  }
  assert.deepEqual(balancer.upstreams(), []);
});

test('a body, and a request behind another on the same connection, arrive whole while the server is looked for', async (t) => {
  const backend = await startBackend(t, 'one');
  const balancer = await start(t, '  reverse_proxy {header.X-Up}');
  const client = await openClient(balancer.port);
  const head = `Host: a\r\nX-Up: localhost:${backend.port}\r\n`;
  client.send(
    `POST /a HTTP/1.1\r\n${head}Content-Length: 100000\r\n\r\n${'x'.repeat(100_000)}GET /b HTTP/1.1\r\n${head}\r\n`,
  );
  assert.equal((await client.response()).status, 200);
  assert.equal((await client.response()).status, 200);
  assert.equal(backend.bodies[0]?.length, 100_000);
  assert.equal(balancer.accessLines[0]?.['upstream'] ?? `localhost:${backend.port}`, `localhost:${backend.port}`);
  client.close();
});

test('failover, fixed upstreams beside named ones, and a server that is gone', async (t) => {
  const backend = await startBackend(t, 'fixed');
  const balancer = await start(
    t,
    `  reverse_proxy 127.0.0.1:{query.port} 127.0.0.1:${backend.port} {\n    lb_policy first\n  }`,
  );
  assert.equal((await get(balancer.port, '/?port=1')).body, 'fixed');
  const alone = await start(t, '  reverse_proxy 127.0.0.1:{query.port}');
  assert.equal((await get(alone.port, '/?port=1')).status, 502);
});

test('/upstreams shows what requests named, metrics one upstream whatever it came to', async (t) => {
  const [one, two] = await Promise.all([startBackend(t, 'one'), startBackend(t, 'two')]);
  const balancer = await start(t, '  reverse_proxy 127.0.0.1:{query.port}');
  for (const { port } of [one, two]) await get(balancer.port, `/?port=${port}`);
  assert.deepEqual(
    balancer.upstreams().map(({ upstream, template }) => [upstream, template]),
    [one, two].map(({ port }) => [`127.0.0.1:${port}`, '127.0.0.1:{http.request.uri.query.port}']),
  );
  const metrics = await balancer.metrics();
  assert.match(
    metrics,
    /holdfast_upstream_requests_total\{upstream="127\.0\.0\.1:\{http\.request\.uri\.query\.port\}"\} 2\n/,
  );
  assert.ok(![one, two].some(({ port }) => metrics.includes(`127.0.0.1:${port}`)));
});

test('a reload keeps them, one that names none ends them, and maintenance holds', async (t) => {
  const backend = await startBackend(t, 'one');
  const config = (extra: string): string =>
    site(`  log\n  header X-Extra "${extra}"\n  reverse_proxy 127.0.0.1:{query.port}`);
  const balancer = await startBalancer(t, config('a'), { workers: 2 });
  const status = async (): Promise<number> => (await get(balancer.port, `/?port=${backend.port}`)).status;
  assert.equal(await status(), 200);
  await balancer.reload(config('b'));
  assert.equal(balancer.upstreams().length, 1);
  assert.equal(balancer.patchUpstream(`127.0.0.1:${backend.port}`, { adminState: 'maint' }), true);
  await eventually(async () => (await status()) === 503, 'the server in maintenance');
  balancer.patchUpstream(`127.0.0.1:${backend.port}`, { adminState: 'ready' });
  await eventually(async () => (await status()) === 200, 'the server back');
  await balancer.reload(site('  respond gone'));
  assert.equal((await get(balancer.port, '/')).body, 'gone');
  await eventually(() => balancer.upstreams().length === 0, 'nobody names it');
});

test('a check watches a server from the first request that names it', async (t) => {
  let healthy = true;
  const backend = await startBackend(t, 'one', (request, response) => {
    response.statusCode = request.url === '/health' && !healthy ? 500 : 200;
    response.end('one');
  });
  const balancer = await start(
    t,
    '  reverse_proxy 127.0.0.1:{query.port} {\n    health_uri /health\n    health_interval 100ms\n  }',
  );
  const status = async (): Promise<number> => (await get(balancer.port, `/?port=${backend.port}`)).status;
  assert.equal(await status(), 200);
  healthy = false;
  await eventually(async () => (await status()) === 503, 'the server down');
  healthy = true;
  await eventually(async () => (await status()) === 200, 'the server up');
});

test('requests that name ever new servers are limited, and the first server still serves', async (t) => {
  const backend = await startBackend(t, 'one');
  const balancer = await start(
    t,
    '  reverse_proxy {query.host}:{query.port} {\n    transport http {\n      dial_timeout 100ms\n    }\n  }',
  );
  assert.equal((await get(balancer.port, `/?host=127.0.0.1&port=${backend.port}`)).body, 'one');
  const many = await Promise.all(
    Array.from({ length: 400 }, (_, at) => get(balancer.port, `/?host=127.0.${at >> 8}.${at & 255}&port=1`)),
  );
  assert.deepEqual(new Set(many.map(({ status }) => status)), new Set([502, 503]));
  assert.ok(balancer.upstreams().length <= 256);
  assert.equal((await get(balancer.port, `/?host=127.0.0.1&port=${backend.port}`)).body, 'one');
});

test('forward_auth and replace_status go on behind a server that the request names', async (t) => {
  const backend = await startBackend(t, 'one');
  const balancer = await start(
    t,
    `  handle /auth {
    forward_auth 127.0.0.1:{query.port} {
      uri /check
    }
    respond "let in"
  }
  reverse_proxy 127.0.0.1:{query.port} {
    replace_status 201
  }`,
  );
  assert.equal((await get(balancer.port, `/auth?port=${backend.port}`)).body, 'let in');
  assert.equal((await get(balancer.port, `/auth?port=${backend.port}`)).body, 'let in');
  assert.equal((await get(balancer.port, '/auth?port=1')).status, 502);
  assert.equal((await get(balancer.port, `/?port=${backend.port}`)).status, 201);
});

test('error routes may name a server too', async (t) => {
  const backend = await startBackend(t, 'sorry');
  const balancer = await start(t, `  error 418\n  handle_errors {\n    reverse_proxy 127.0.0.1:{query.port}\n  }`);
  for (let round = 0; round < 2; round += 1) {
    assert.equal((await get(balancer.port, `/?port=${backend.port}`)).body, 'sorry');
  }
  assert.equal((await get(balancer.port, '/?port=none')).status, 502);
});
