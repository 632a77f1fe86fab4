/** What `POST /explain` says is what a worker then does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Explanation, ProxyExplanation } from '../../src/control-plane/explain/explanation.ts';
import { AdminApi, type ApiAnswer } from '../support/admin-api.ts';
import { eventually, startBackend, type Backend } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { proxyTo, site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };
const JSON_BODY = { 'Content-Type': 'application/json' };
const NAMES = ['zero', 'one', 'two', 'three', 'four'];

function config(servers: readonly Backend[], policy: string): string {
  const options = `lb_policy ${policy}\nhealth_uri /\nhealth_interval 100ms\nheader_up X-Affinity {http.reverse_proxy.affinity}`;
  return site(`request_header X-Path {path}\nrewrite * /v1{uri}\n${proxyTo(servers, options)}`, {
    admin: '127.0.0.1:0',
    servers: 'trusted_proxies static 127.0.0.1/32',
  });
}

async function ask(balancer: TestBalancer, path: string, headers: Record<string, string>): Promise<ApiAnswer> {
  const url = `http://127.0.0.1:${balancer.port}${path}`;
  return new AdminApi(balancer).post('/explain', JSON.stringify({ url, peer: '127.0.0.1', headers }), JSON_BODY);
}

function proxyOf({ status, text, json }: ApiAnswer): ProxyExplanation {
  assert.equal(status, 200, text);
  const { outcome } = json as Explanation;
  assert.equal(outcome.kind, 'proxy');
  return outcome.proxy;
}

async function visit(balancer: TestBalancer, path: string, headers: Record<string, string>): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${balancer.port}${path}`, { headers });
  await response.text();
  return response.headers.get('x-backend') ?? `status ${response.status}`;
}

const address = fc.ipV4().filter((text) => !text.startsWith('127.') && !text.startsWith('0.'));
const POLICIES = [
  'ip_hash',
  'ip_hash {\nmapping rendezvous\n}',
  'ip_hash {\nseed 7\n}',
  'ip_hash {\non_failure all\n}',
  'cookie lb {\nfallback ip_hash\n}',
];

for (const policy of POLICIES) {
  test(
    `a worker picks what explain says, with servers down and in maintenance: ${policy.replaceAll('\n', ' ')}`,
    OPTIONS,
    async (t) => {
      const servers = await Promise.all(NAMES.map((name) => startBackend(t, name)));
      const balancer = await startBalancer(t, config(servers, policy), { workers: 2 });
      await servers[1]!.kill();
      balancer.patchUpstream(`127.0.0.1:${servers[3]!.port}`, { adminState: 'maint' });
      const stateOf = (position: number): string | undefined => balancer.upstreams()[position]?.state;
      await eventually(() => stateOf(1) === 'down' && stateOf(0) === 'up', 'the check sees that a server is gone');
      await fc.assert(
        fc.asyncProperty(address, fc.webPath(), async (client, path) => {
          const headers = { 'X-Forwarded-For': client };
          const told = proxyOf(await ask(balancer, path || '/', headers));
          const served = await visit(balancer, path || '/', headers);
          assert.equal(served, NAMES[told.picked!.position], JSON.stringify(told.steps));
        }),
        { numRuns: 60 },
      );
      const { members } = proxyOf(await ask(balancer, '/', {}));
      assert.deepEqual(
        members.map(({ state }) => state),
        ['eligible', 'down', 'eligible', 'in maintenance', 'eligible'],
      );
      assert.match(members[1]!.why, /CONNECT_FAILED/);
      assert.match(members[3]!.why, /maintenance/);
    },
  );
}

test('explaining takes no turn of a rotation, and tells whose turn it is', OPTIONS, async (t) => {
  const servers = await Promise.all(NAMES.slice(0, 3).map((name) => startBackend(t, name)));
  const balancer = await startBalancer(t, config(servers, 'round_robin'));
  for (let turn = 0; turn < 7; turn += 1) {
    const told = proxyOf(await ask(balancer, '/', {}));
    const again = proxyOf(await ask(balancer, '/', {}));
    assert.equal(told.picked!.position, again.picked!.position);
    assert.equal(await visit(balancer, '/', {}), NAMES[told.picked!.position]);
  }
});

test('the header lines that explain shows are those the server receives', OPTIONS, async (t) => {
  const server = await startBackend(t, 'zero');
  const balancer = await startBalancer(t, config([server], 'cookie'));
  const headers = { 'X-Forwarded-For': '203.0.113.5, unknown, 198.51.100.7', 'X-Own': 'grün', Connection: 'close' };
  const told = proxyOf(await ask(balancer, '/a%2Fb?c=d', headers));
  await eventually(() => server.requests.length > 0, 'the health check was there');
  await visit(balancer, '/a%2Fb?c=d', {
    'X-Forwarded-For': headers['X-Forwarded-For'],
    'X-Own': Buffer.from('grün').toString('latin1'),
  });
  const request = server.requests.findLast(({ url }) => url?.startsWith('/v1'))!;
  assert.equal(told.sent[0], `GET ${request.url} HTTP/1.1`);
  const lines = new Map(
    told.sent
      .slice(1)
      .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
  for (const name of [
    'host',
    'x-forwarded-for',
    'x-forwarded-proto',
    'x-forwarded-host',
    'via',
    'x-affinity',
    'x-path',
  ]) {
    assert.equal(lines.get(name), request.headers[name], name);
  }
  assert.equal(lines.get('x-affinity'), 'new');
  assert.equal(lines.has('connection'), false);
  assert.equal(told.cookie, 'lb=…; Path=/; HttpOnly; SameSite=Lax');
});

test(
  'a valid cookie is followed, and a question no client could ask is refused with its reason',
  OPTIONS,
  async (t) => {
    const servers = await Promise.all(NAMES.slice(0, 3).map((name) => startBackend(t, name)));
    const balancer = await startBalancer(t, config(servers, 'cookie'));
    const first = await fetch(`http://127.0.0.1:${balancer.port}/`);
    const cookie = first.headers.getSetCookie()[0]!.split(';')[0]!;
    const told = proxyOf(await ask(balancer, '/', { Cookie: cookie }));
    assert.deepEqual(
      [NAMES[told.picked!.position], told.affinity, told.cookie],
      [first.headers.get('x-backend'), 'hit', ''],
    );
    const api = new AdminApi(balancer);
    const refused = async (body: object): Promise<string> => {
      const { status, text } = await api.post('/explain', JSON.stringify(body), JSON_BODY);
      assert.equal(status, 400, text);
      return text;
    };
    const url = `http://127.0.0.1:${balancer.port}/`;
    assert.match(await refused({ url: 'nonsense', peer: '127.0.0.1' }), /no URL of a request/);
    assert.match(await refused({ url: 'https://x/', peer: '127.0.0.1' }), /speaks plain HTTP: ask with http:/);
    assert.match(await refused({ url, peer: 'me' }), /not an IP address/);
    assert.match(await refused({ url, peer: '127.0.0.1', headers: { 'a b': 'c' } }), /the server would answer 400/);
    assert.match(await refused({ url, peer: '127.0.0.1', headers: { a: 'b\r\nc: d' } }), /line break/);
    assert.match(await refused({ url, peer: '127.0.0.1', down: [] }), /invalid question/);
  },
);
