/** What the admin API says about servers and traffic, against what really happened. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { AdminApi } from '../support/admin-api.ts';
import { eventually, startBackend, startScripted } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { startLoad } from '../support/load.ts';
import { ask, openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };
const ADMIN = { admin: '127.0.0.1:0' };

interface ShownUpstream {
  readonly upstream: string;
  readonly state: string;
  readonly why: string;
  readonly endpoints: readonly { readonly checks: readonly ShownCheck[] }[];
}

interface ShownCheck {
  readonly name: string;
  readonly verdict: string;
  readonly reason: string;
  readonly cause: string;
  readonly remedy: string;
  readonly results: readonly Record<string, unknown>[];
}

/** Series → value. */
function samplesOf(page: string): Map<string, number> {
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

/** Sum over all series of a metric whose labels include `label`. */
function sum(samples: ReadonlyMap<string, number>, metric: string, label = ''): number {
  let total = 0;
  for (const [series, value] of samples) {
    if ((series === metric || series.startsWith(`${metric}{`)) && series.includes(label)) total += value;
  }
  return total;
}

test('/upstreams says why a server is down: what was seen, the likely cause and what to do', OPTIONS, async (t) => {
  const wrong = await startBackend(
    t,
    'wrong',
    (_request, response) => void response.writeHead(404).end('no such page here'),
  );
  const refused = await startBackend(t, 'refused');
  await refused.kill();
  const silent = await startBackend(t, 'silent', () => {});
  const check = 'health_uri /health\nhealth_interval 100ms\nhealth_timeout 200ms';
  const balancer = await startBalancer(t, site(proxyTo([wrong, refused, silent], check), ADMIN));
  const api = new AdminApi(balancer);
  const upstreams = async (): Promise<readonly ShownUpstream[]> =>
    (await api.get('/upstreams')).json as ShownUpstream[];
  await eventually(async () => (await upstreams()).every(({ state }) => state === 'down'), 'all three to be down');
  const shown = await upstreams();
  const checks = shown.map(({ endpoints }) => endpoints[0]!.checks[0]!);
  assert.deepEqual(
    checks.map(({ verdict, reason }) => [verdict, reason]),
    [
      ['down', 'HTTP_CODE_NOT_MATCH'],
      ['down', 'CONNECT_FAILED'],
      ['down', 'RECV_RESPONSE_TIMEOUT'],
    ],
  );
  for (const { cause, remedy, name } of checks) {
    assert.ok(cause.length > 20 && remedy.length > 20, `${cause} / ${remedy}`);
    assert.equal(name, 'http GET /health every 100ms');
  }
  assert.match(shown[0]!.why, new RegExp(`^127\\.0\\.0\\.1:${wrong.port}: HTTP_CODE_NOT_MATCH: .*404`));
  const last = checks[0]!.results.at(-1)!;
  assert.deepEqual([last['outcome'], last['status'], last['body']], ['fail', 404, 'no such page here']);
  const page = samplesOf((await api.get('/metrics')).text);
  assert.equal(sum(page, 'caddy_reverse_proxy_upstreams_healthy'), 0);
});

test("/reverse_proxy/upstreams has Caddy's three fields, with the requests that run now", OPTIONS, async (t) => {
  const pending: ServerResponse[] = [];
  const busy = await startBackend(t, 'busy', (_request, response) => void pending.push(response));
  const idle = await startBackend(t, 'idle');
  const balancer = await startBalancer(t, site(proxyTo([busy, idle], 'lb_policy first'), ADMIN), { workers: 2 });
  const api = new AdminApi(balancer);
  const clients = await Promise.all([1, 2, 3].map(() => openClient(balancer.port)));
  for (const client of clients) client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
  await eventually(() => pending.length === 3, 'three requests under way');
  interface Entry {
    readonly address: string;
    readonly num_requests: number;
    readonly fails: number;
  }
  const entries = async (): Promise<readonly Entry[]> => (await api.get('/reverse_proxy/upstreams')).json as Entry[];
  const [first, second] = await entries();
  assert.deepEqual([first!.address, first!.num_requests, first!.fails], [`127.0.0.1:${busy.port}`, 3, 0]);
  assert.deepEqual([second!.address, second!.num_requests, second!.fails], [`127.0.0.1:${idle.port}`, 0, 0]);
  for (const response of pending) response.end('done');
  await Promise.all(clients.map((client) => client.response()));
  await eventually(async () => (await entries())[0]!.num_requests === 0, 'the requests to be counted out');
});

test('after a thousand requests over two workers the numbers of /metrics add up', OPTIONS, async (t) => {
  const servers = await Promise.all(
    ['ok', 'failing'].map((name) =>
      startBackend(
        t,
        name,
        (_request, response) => void response.writeHead(name === 'ok' ? 200 : 500).end('0123456789'),
      ),
    ),
  );
  const balancer = await startBalancer(t, site(proxyTo(servers, 'lb_policy round_robin'), ADMIN), { workers: 2 });
  const api = new AdminApi(balancer);
  const clients = await Promise.all(Array.from({ length: 20 }, () => openClient(balancer.port)));
  await Promise.all(
    clients.map(async (client) => {
      for (let index = 0; index < 50; index += 1)
        await client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n').response();
    }),
  );
  const page = samplesOf((await api.get('/metrics')).text);
  assert.equal(sum(page, 'holdfast_http_requests_total'), 1000);
  assert.equal(sum(page, 'holdfast_http_requests_total', 'code="2xx"'), 500);
  assert.equal(sum(page, 'holdfast_http_requests_total', 'code="5xx"'), 500);
  assert.equal(sum(page, 'holdfast_upstream_requests_total'), 1000);
  assert.equal(
    sum(page, 'holdfast_upstream_responses_total', `upstream="127.0.0.1:${servers[1]!.port}",code="5xx"`),
    500,
  );
  assert.equal(sum(page, 'holdfast_http_request_duration_seconds_count'), 1000);
  assert.equal(sum(page, 'holdfast_http_request_duration_seconds_bucket', 'le="+Inf"'), 1000);
  assert.equal(sum(page, 'holdfast_http_connections_accepted_total'), 20);
  assert.equal(sum(page, 'holdfast_connections_open'), 20);
  assert.equal(sum(page, 'holdfast_upstream_connections_total'), 1000);
  assert.equal(
    sum(page, 'holdfast_upstream_connections_total', 'origin="new"'),
    servers[0]!.accepted + servers[1]!.accepted,
  );
  assert.equal(sum(page, 'holdfast_upstream_connections_open'), servers[0]!.sockets.size + servers[1]!.sockets.size);
  assert.equal(sum(page, 'caddy_reverse_proxy_upstreams_requests_active'), 0);
  assert.equal(sum(page, 'holdfast_http_requests_active'), 0);
  assert.equal(sum(page, 'holdfast_upstream_received_bytes_total'), 10_000);
  for (const client of clients) client.close();
  await eventually(
    async () => sum(samplesOf((await api.get('/metrics')).text), 'holdfast_connections_open') === 0,
    'connections to be counted out',
  );
});

test('the series of /metrics do not depend on what clients and upstreams send', OPTIONS, async (t) => {
  const server = await startBackend(t, 'server', (request, response) => {
    const code = Number(request.headers['x-code']);
    response.writeHead(Number.isNaN(code) ? 200 : code).end();
  });
  const balancer = await startBalancer(t, site(proxyTo([server]), ADMIN), { workers: 2 });
  const api = new AdminApi(balancer);
  const series = async (): Promise<string> => [...samplesOf((await api.get('/metrics')).text).keys()].sort().join('\n');
  const before = await series();
  const client = await openClient(balancer.port);
  for (let code = 200; code < 600; code += 1) {
    client.send(`GET /${code}/${Math.random()} HTTP/1.1\r\nHost: h${code}.test\r\nX-Code: ${code}\r\n\r\n`);
    const response = await client.response();
    assert.equal(response.status, code);
    assert.equal(response.header('connection'), undefined, `${code} closes the connection`);
  }
  for (let index = 0; index < 100; index += 1) {
    client.send(`XQ${index} / HTTP/1.1\r\nHost: a.test\r\n\r\n`);
    assert.ok((await client.response()).status < 600);
  }
  client.close();
  for (const host of ['a"b.test', 'a\\b.test', `${'a'.repeat(20_000)}.test`, 'a\x0bb.test', '[::1'])
    await ask(balancer.port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  assert.equal(await series(), before);
  const page = samplesOf((await api.get('/metrics')).text);
  assert.ok(sum(page, 'holdfast_http_requests_total') > 500);
  assert.ok(sum(page, 'holdfast_http_bad_requests_total') > 0);
});

test(
  'no counter goes down when configs are reloaded under load, and a removed upstream has no series',
  OPTIONS,
  async (t) => {
    const servers = await Promise.all(['one', 'two', 'three'].map((name) => startBackend(t, name)));
    const config = (round: number): string =>
      site(
        `header X-Round ${round}\n${proxyTo([servers[0]!, servers[1 + (round % 2)]!], 'lb_policy round_robin')}`,
        ADMIN,
      );
    const balancer = await startBalancer(t, config(0), { workers: 2 });
    const api = new AdminApi(balancer);
    const load = startLoad(
      balancer.port,
      Array.from({ length: 6 }, (_, index) => ({ name: `client ${index}` })),
    );
    t.after(() => load.stop());
    let last = new Map<string, number>();
    for (let round = 1; round <= 20; round += 1) {
      await balancer.reload(config(round));
      await load.more(1);
      const now = samplesOf((await api.get('/metrics')).text);
      for (const [series, value] of now) {
        if (/_(total|count|bucket|sum)(\{|$)/.test(series))
          assert.ok(value >= (last.get(series) ?? 0), `${series} went down to ${value}`);
      }
      const removed = `127.0.0.1:${servers[2 - (round % 2)]!.port}`;
      assert.ok(![...now.keys()].some((series) => series.includes(removed)), 'a removed upstream still has series');
      last = now;
    }
    await load.stop();
    const page = samplesOf((await api.get('/metrics')).text);
    assert.equal(sum(page, 'holdfast_http_requests_total'), load.answers.length);
    assert.equal(sum(page, 'holdfast_config_reloads_total', 'success'), 21);
  },
);

test('a tunnel counts as open and in flight, and its lifetime is no request duration', OPTIONS, async (t) => {
  const upstream = await startScripted(t, (socket, _index, received) => {
    socket.on('data', () => {
      if (received().endsWith('\r\n\r\n'))
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    });
  });
  const balancer = await startBalancer(t, site(proxyTo([upstream]), ADMIN));
  const api = new AdminApi(balancer);
  const page = async (): Promise<Map<string, number>> => samplesOf((await api.get('/metrics')).text);
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  assert.equal((await client.response()).status, 101);
  const open = await page();
  assert.equal(sum(open, 'holdfast_tunnels_open'), 1);
  assert.equal(sum(open, 'caddy_reverse_proxy_upstreams_requests_active'), 1);
  client.close();
  upstream.sockets[0]!.end();
  await eventually(async () => sum(await page(), 'holdfast_tunnels_open') === 0, 'the tunnel to be counted out');
  const closed = await page();
  assert.equal(sum(closed, 'caddy_reverse_proxy_upstreams_requests_active'), 0);
  assert.equal(sum(closed, 'holdfast_http_request_duration_seconds_count'), 0);
});
