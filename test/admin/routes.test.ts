import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '../../src/shared/config-error.ts';
import { upstreamStatus } from './fake-plane.ts';
import { startAdmin } from './harness.ts';

const JSON_TYPE = { 'Content-Type': 'application/json' };

test('POST /load hands over a Caddyfile and returns its warnings', async (t) => {
  const admin = await startAdmin(t);
  const reply = await admin.request('POST', '/load', { headers: { 'Content-Type': 'text/caddyfile' }, body: ':80' });
  assert.equal(reply.status, 200);
  assert.deepEqual(JSON.parse(reply.text).warnings, [
    { file: 'Caddyfile', line: 3, directive: 'lb_policy', message: 'even number' },
  ]);
  assert.deepEqual(admin.plane.loads, [{ text: ':80', adapter: 'caddyfile', filename: 'Caddyfile', force: false }]);
});

test('POST /load takes JSON, and must-revalidate forces it', async (t) => {
  const admin = await startAdmin(t);
  const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-cache, must-revalidate' };
  assert.equal((await admin.request('POST', '/load', { headers, body: '{}' })).status, 200);
  assert.deepEqual(admin.plane.loads, [{ text: '{}', adapter: 'json', filename: 'Caddyfile', force: true }]);
});

test('POST /load answers 400 with the reason when the config is refused', async (t) => {
  const admin = await startAdmin(t);
  admin.plane.failure = new ConfigError("unknown directive 'x', at Caddyfile:2");
  const reply = await admin.request('POST', '/load', { headers: JSON_TYPE, body: '{}' });
  assert.equal(reply.status, 400);
  assert.deepEqual(JSON.parse(reply.text), { error: "loading config: unknown directive 'x', at Caddyfile:2" });
});

test('POST /load answers 500 when the fault is not the config', async (t) => {
  const admin = await startAdmin(t);
  admin.plane.failure = new TypeError('oops');
  assert.equal((await admin.request('POST', '/load', { headers: JSON_TYPE, body: '{}' })).status, 500);
});

for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=json', '']) {
  test(`POST /load refuses content type '${type}'`, async (t) => {
    const admin = await startAdmin(t);
    const line = type === '' ? '' : `Content-Type: ${type}\r\n`;
    const head = `POST /load HTTP/1.1\r\nHost: localhost\r\n${line}Content-Length: 2\r\nConnection: close\r\n\r\n{}`;
    assert.match(await admin.raw(head), /^HTTP\/1\.1 400 [^]*unacceptable content-type/);
    assert.deepEqual(admin.plane.loads, []);
  });
}

test('a body beyond the limit is 413, with or without Content-Length', async (t) => {
  const admin = await startAdmin(t, { maxBodyBytes: 8 });
  const head = 'POST /load HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
  assert.match(await admin.raw(`${head}Content-Length: 9\r\n\r\n{"a": 42}`), /^HTTP\/1\.1 413 /);
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n9\r\n{"a": 42}\r\n0\r\n\r\n`;
  assert.match(await admin.raw(chunked), /^HTTP\/1\.1 413 /);
  assert.deepEqual(admin.plane.loads, []);
});

test('GET /config/ shows the config with an ETag over path and body', async (t) => {
  const admin = await startAdmin(t);
  admin.plane.json = { apps: { http: { servers: { srv0: { listen: [':80'] } } } } };
  const reply = await admin.request('GET', '/config/apps/http/servers/srv0/listen/0');
  assert.equal(reply.status, 200);
  assert.equal(reply.text, '":80"\n');
  assert.match(reply.headers.get('etag') ?? '', /^"\/config\/apps\/http\/servers\/srv0\/listen\/0 [0-9a-f]{16}"$/);
  assert.equal((await admin.request('GET', '/config/apps/nothing')).text, 'null\n');
  assert.equal((await admin.request('GET', '/config/apps/http/servers/srv0/listen/0/x')).status, 400);
  assert.equal((await admin.request('GET', '/config/constructor')).text, 'null\n');
});

test('GET /config/ never shows a secret', async (t) => {
  const admin = await startAdmin(t);
  const policy = { policy: 'cookie', name: 'lb', secret: 'do-not-show' };
  const handler = { handler: 'reverse_proxy', load_balancing: { selection_policy: policy } };
  admin.plane.json = { apps: { http: { servers: { srv0: { routes: [{ handle: [handler] }] } } } } };
  for (const path of [
    '/config/',
    '/config/apps/http/servers/srv0/routes/0/handle/0/load_balancing/selection_policy/secret',
  ]) {
    const { text } = await admin.request('GET', path);
    assert.doesNotMatch(text, /do-not-show/);
    assert.match(text, /\*\*\*/);
  }
});

test('POST /adapt returns the JSON and the warnings, and loads nothing', async (t) => {
  const warning = { file: 'Caddyfile', line: 1, directive: '', message: 'not formatted' };
  const admin = await startAdmin(t, { adapt: (source) => ({ config: { source }, warnings: [warning] }) });
  const reply = await admin.request('POST', '/adapt', { headers: { 'Content-Type': 'text/caddyfile' }, body: ':80' });
  assert.deepEqual(JSON.parse(reply.text), { warnings: [warning], result: { source: ':80' } });
  assert.deepEqual(admin.plane.loads, []);
});

test('POST /stop answers before it stops', async (t) => {
  const admin = await startAdmin(t);
  assert.equal((await admin.request('POST', '/stop')).status, 200);
  // The reply is closed, and the stop called, once its last byte was written.
  while (admin.stops() === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(admin.stops(), 1);
});

test("GET /reverse_proxy/upstreams has Caddy's fields, one entry an upstream", async (t) => {
  const admin = await startAdmin(t);
  const busy = upstreamStatus('app:80', { passiveFails: 2 });
  const endpoints = busy.endpoints.map((endpoint) => ({ ...endpoint, inFlight: 3, requestsTotal: 10 }));
  admin.plane.statuses = [
    { ...busy, endpoints },
    { ...busy, endpoints, pool: 'other', state: 'down' },
    upstreamStatus('app:81'),
  ];
  const list = JSON.parse((await admin.request('GET', '/reverse_proxy/upstreams')).text);
  assert.deepEqual(
    list.map(({ address, num_requests, fails, healthy }: Record<string, unknown>) => [
      address,
      num_requests,
      fails,
      healthy,
    ]),
    [
      ['app:80', 3, 4, false],
      ['app:81', 0, 0, true],
    ],
  );
});

test('PATCH /upstreams/<address> sets admin state, weight and drain time', async (t) => {
  const admin = await startAdmin(t);
  admin.plane.statuses = [upstreamStatus('[::1]:80')];
  const body = '{"admin_state":"drain","weight":3,"drain":"1m30s"}';
  const reply = await admin.request('PATCH', `/upstreams/${encodeURIComponent('[::1]:80')}`, {
    headers: JSON_TYPE,
    body,
  });
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual(admin.plane.patches, [['[::1]:80', { adminState: 'drain', weight: 3, drainMs: 90_000 }]]);
});

const BAD_PATCHES: readonly (readonly [string, number])[] = [
  ['{"admin_state":"off"}', 400],
  ['{"weight":-1}', 400],
  ['{"weight":1.5}', 400],
  ['{"weight":1,"colour":"red"}', 400],
  ['{"drain":"30s","admin_state":"maint"}', 400],
  ['{"drain":"soon","admin_state":"drain"}', 400],
  ['{"drain":"-1s","admin_state":"drain"}', 400],
  ['{}', 400],
  ['[]', 400],
  ['{', 400],
];

test('PATCH /upstreams refuses what it does not understand and changes nothing', async (t) => {
  const admin = await startAdmin(t);
  admin.plane.statuses = [upstreamStatus('app:80')];
  for (const [body, status] of BAD_PATCHES) {
    const reply = await admin.request('PATCH', '/upstreams/app:80', { headers: JSON_TYPE, body });
    assert.equal(reply.status, status, body);
    assert.match(JSON.parse(reply.text).error, /./);
  }
  const plain = await admin.request('PATCH', '/upstreams/app:80', {
    headers: { 'Content-Type': 'text/plain' },
    body: '{}',
  });
  assert.equal(plain.status, 400);
  const unknown = await admin.request('PATCH', '/upstreams/other:80', { headers: JSON_TYPE, body: '{"weight":2}' });
  assert.equal(unknown.status, 404);
  assert.deepEqual(admin.plane.patches, []);
});

test('GET /upstreams tells every verdict with its reason', async (t) => {
  const admin = await startAdmin(t);
  const check = {
    name: 'http GET /healthz every 10s',
    verdict: 'down' as const,
    reason: 'CONNECT_FAILED',
    cause: 'nothing listens',
    remedy: 'start it',
    consecutivePasses: 0,
    consecutiveFails: 3,
    roundTripMs: 1.5,
    jitterMs: 0.25,
    loss: 0.5,
    results: [],
  };
  const status = upstreamStatus('app:80', { state: 'down', why: 'nothing listens' });
  admin.plane.statuses = [{ ...status, endpoints: status.endpoints.map((e) => ({ ...e, checks: [check] })) }];
  const [shown] = JSON.parse((await admin.request('GET', '/upstreams')).text);
  assert.equal(shown.why, 'nothing listens');
  assert.equal(shown.endpoints[0].checks[0].consecutive_fails, 3);
  const { round_trip_ms: time, jitter_ms: jitter, loss } = shown.endpoints[0].checks[0];
  assert.deepEqual([time, jitter, loss], [1.5, 0.25, 0.5]);
  assert.equal(JSON.parse((await admin.request('GET', '/upstreams/app:80')).text).length, 1);
  assert.equal((await admin.request('GET', '/upstreams/nobody:80')).status, 404);
});

test('readiness follows the control plane, liveness does not', async (t) => {
  const admin = await startAdmin(t);
  assert.equal((await admin.request('GET', '/health/ready')).status, 200);
  admin.plane.problems = ['no worker serves'];
  const reply = await admin.request('GET', '/health/ready');
  assert.equal(reply.status, 503);
  assert.deepEqual(JSON.parse(reply.text).reasons, ['no worker serves']);
  assert.equal((await admin.request('GET', '/health/live')).status, 200);
});

test('unknown paths are 404, other methods 405 with Allow, HEAD has no body', async (t) => {
  const admin = await startAdmin(t);
  assert.equal((await admin.request('GET', '/nothing')).status, 404);
  assert.equal((await admin.request('GET', '/loading')).status, 404);
  const wrong = await admin.request('GET', '/load');
  assert.equal(wrong.status, 405);
  assert.equal(wrong.headers.get('allow'), 'POST');
  assert.equal((await admin.request('POST', '/reverse_proxy/upstreams')).status, 405);
  const odd = await admin.raw('PROPFIND /load HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  assert.match(odd, /^HTTP\/1\.1 405 /);
  const head = await admin.request('HEAD', '/health/live');
  assert.equal(head.status, 200);
  assert.equal(head.text, '');
});

test('a connection stays open for the next request', async (t) => {
  const admin = await startAdmin(t);
  const get = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\n';
  const replies = await admin.raw(`${get}\r\n${get}Connection: close\r\n\r\n`);
  assert.equal(replies.match(/HTTP\/1\.1 200/g)?.length, 2);
});

test('GET /metrics is served by the endpoint', async (t) => {
  const admin = await startAdmin(t);
  const reply = await admin.request('GET', '/metrics');
  assert.match(reply.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  assert.match(reply.text, /^holdfast_worker_restarts_total\{cause="hang"\} 1$/m);
});
