/** Who may command a running balancer through its admin API, and what a command does to what is served. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { AdminApi } from '../support/admin-api.ts';
import { startBackend } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { ask, get } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };
const ADMIN = { admin: '127.0.0.1:0' };
const EVIL_BODY = '{"apps":{"http":{"servers":{}}}}';

function saying(body: string): string {
  return site(`respond ${body}`, ADMIN);
}

function start(t: TestContext, body = 'old'): Promise<TestBalancer> {
  return startBalancer(t, saying(body));
}

interface Attempt {
  readonly name: string;
  readonly version?: string;
  readonly target?: string;
  /** `PORT` stands for the admin port. */
  readonly fields: readonly string[];
}

const REFUSED: readonly Attempt[] = [
  { name: 'a name rebound to loopback', fields: ['Host: evil.example:PORT'] },
  { name: 'a foreign origin', fields: ['Host: localhost:PORT', 'Origin: http://evil.example'] },
  { name: 'a foreign host with the equal origin', fields: ['Host: evil.example', 'Origin: http://evil.example'] },
  { name: 'a cross-site request of a page', fields: ['Host: localhost:PORT', 'Sec-Fetch-Site: cross-site'] },
  { name: 'no host', version: '1.0', fields: [] },
  { name: 'two hosts', fields: ['Host: localhost:PORT', 'Host: evil.example'] },
  { name: 'a foreign host in the target', target: 'http://evil.example/load', fields: ['Host: localhost:PORT'] },
  { name: 'a loopback origin of another port', fields: ['Host: localhost:PORT', 'Origin: http://localhost:1'] },
];

const ALLOWED: readonly Attempt[] = [
  { name: 'localhost', fields: ['Host: localhost:PORT'] },
  { name: '127.0.0.1', fields: ['Host: 127.0.0.1:PORT'] },
  { name: '[::1]', fields: ['Host: [::1]:PORT'] },
  { name: 'localhost through a forwarded port', fields: ['Host: localhost:12345'] },
  {
    name: 'its own page',
    fields: ['Host: localhost:PORT', 'Origin: http://localhost:PORT', 'Sec-Fetch-Site: same-origin'],
  },
  {
    name: 'localhost in the target, which counts',
    target: 'http://localhost:PORT/load',
    fields: ['Host: evil.example'],
  },
];

function send(
  port: number,
  { version = '1.1', target = '/load', fields }: Attempt,
  body: string,
  type = 'application/json',
): ReturnType<typeof ask> {
  const lines = [...fields, `Content-Type: ${type}`, `Content-Length: ${body.length}`, 'Connection: close'];
  const head = [`POST ${target} HTTP/${version}`, ...lines].join('\r\n').replaceAll('PORT', String(port));
  return ask(port, `${head}\r\n\r\n${body}`);
}

test('no web page can replace the config', OPTIONS, async (t) => {
  const balancer = await start(t);
  const { port } = balancer.adminAddress()!;
  const before = (await new AdminApi(balancer).get('/config/')).text;
  for (const attempt of REFUSED) {
    for (const type of ['application/json', 'text/plain']) {
      const { status } = await send(port, attempt, EVIL_BODY, type);
      assert.ok(status === 403 || status === 400, `${attempt.name} as ${type}: ${status}`);
    }
    assert.equal((await new AdminApi(balancer).get('/config/')).text, before, attempt.name);
  }
  assert.equal((await get(balancer.port)).body, 'old');
});

test('the operator of the machine can, by every name of loopback', OPTIONS, async (t) => {
  const balancer = await start(t);
  for (const [index, attempt] of ALLOWED.entries()) {
    const { status, body } = await send(
      balancer.adminAddress()!.port,
      attempt,
      saying(`new-${index}`),
      'text/caddyfile',
    );
    assert.equal(status, 200, `${attempt.name}: ${body}`);
    assert.equal((await get(balancer.port)).body, `new-${index}`, attempt.name);
  }
});

test('metrics and drain commands are guarded as the config is', OPTIONS, async (t) => {
  const server = await startBackend(t, 'server');
  const balancer = await startBalancer(t, site(proxyTo([server]), ADMIN));
  const { port } = balancer.adminAddress()!;
  const metrics = await ask(port, 'GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n');
  assert.equal(metrics.status, 403);
  assert.doesNotMatch(metrics.body, /holdfast_http/);
  const body = '{"admin_state":"maint"}';
  const patch = (type: string, host: string): ReturnType<typeof ask> =>
    ask(
      port,
      `PATCH /upstreams/127.0.0.1:${server.port} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
  assert.equal((await patch('application/json', 'evil.example')).status, 403);
  assert.ok((await patch('text/plain', `localhost:${port}`)).status >= 400);
  assert.equal(balancer.upstreams()[0]!.state, 'up');
});

test('an admin request to the public listener goes to the upstream like any other', OPTIONS, async (t) => {
  const server = await startBackend(t, 'server');
  const balancer = await startBalancer(t, site(proxyTo([server]), ADMIN));
  const answer = await send(balancer.port, { name: '', fields: ['Host: localhost:2019'] }, EVIL_BODY);
  assert.deepEqual([answer.status, answer.body], [200, 'server']);
  assert.equal(server.requests[0]!.url, '/load');
  assert.equal(server.bodies[0]!.toString(), EVIL_BODY);
});

test(
  'POST /load takes a Caddyfile, puts it in force at once, and answers a fault with its line',
  OPTIONS,
  async (t) => {
    const balancer = await start(t);
    const api = new AdminApi(balancer);
    const caddyfile = { 'Content-Type': 'text/caddyfile' };
    const good = await api.post('/load', saying('new'), caddyfile);
    assert.equal(good.status, 200);
    assert.partialDeepStrictEqual(good.json, { warnings: [], generation: 2, unchanged: false });
    assert.equal((await get(balancer.port)).body, 'new');
    const bad = await api.post('/load', `${saying('newer')}\nhttp://:0 {\n\tno_such_thing\n}\n`, caddyfile);
    assert.equal(bad.status, 400);
    assert.match(bad.text, /Caddyfile:\d+.*no_such_thing|no_such_thing.*Caddyfile:\d+/);
    assert.equal((await get(balancer.port)).body, 'new');
  },
);

test('a change under If-Match goes through once, and the second writer is told that it changed', OPTIONS, async (t) => {
  const balancer = await start(t);
  const api = new AdminApi(balancer);
  const servers = (await api.get('/config/apps/http/servers')).json as Record<string, unknown>;
  const path = `/config/apps/http/servers/${Object.keys(servers)[0]}/routes/0/handle`;
  const seen = await api.get(path);
  assert.equal(seen.status, 200);
  const handle = (body: string): unknown => [{ handler: 'static_response', body }];
  const first = await api.patch(path, handle('first writer'), { 'If-Match': seen.etag });
  assert.equal(first.status, 200, first.text);
  const second = await api.patch(path, handle('second writer'), { 'If-Match': seen.etag });
  assert.equal(second.status, 412);
  assert.equal((await get(balancer.port)).body, 'first writer');
  const fresh = await api.get(path);
  assert.notEqual(fresh.etag, seen.etag);
  assert.equal((await api.patch(path, handle('second writer'), { 'If-Match': fresh.etag })).status, 200);
  assert.equal((await get(balancer.port)).body, 'second writer');
});

test('a secret reads back as ***, and what was read can be written back without losing it', OPTIONS, async (t) => {
  const secret = 'a-secret-that-is-long-enough-to-be-one';
  const servers = await Promise.all(['one', 'two'].map((name) => startBackend(t, name)));
  const balancer = await startBalancer(t, site(proxyTo(servers, `lb_policy cookie lb ${secret}`), ADMIN));
  const api = new AdminApi(balancer);
  const cookie = { Cookie: (await get(balancer.port)).header('set-cookie')!.split(';')[0]! };
  const { text } = await api.get('/config/');
  assert.ok(!text.includes(secret) && text.includes('***'));
  const written = await api.post('/load', text, {
    'Content-Type': 'application/json',
    'Cache-Control': 'must-revalidate',
  });
  assert.equal(written.status, 200, written.text);
  assert.equal(
    (await get(balancer.port, '/', cookie)).header('set-cookie'),
    undefined,
    'the old cookie is still valid',
  );
});
