/** Every check fails: refuse fast, or serve from what is left, as the operator chose. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startBackend, eventually, type Backend } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { valueOf } from '../support/metric.ts';
import { freePort } from '../support/named-servers.ts';
import { get } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';
import { loggerTo } from '../../src/shared/log.ts';

const NAMES = ['one', 'two', 'three'] as const;
const CHECK = 'lb_policy round_robin\nhealth_uri /health\nhealth_interval 50ms\nhealth_timeout 2s';

interface Server extends Backend {
  healthy: boolean;
  /** Requests that are no probes. */
  served(): number;
}

/** Its `/health` says what `healthy` says; everything else is always answered. */
async function startServer(t: TestContext, name: string, healthy: boolean): Promise<Server> {
  const state = { healthy };
  const backend = await startBackend(t, name, (request, response) => {
    if (request.url === '/health' && !state.healthy) response.statusCode = 500;
    response.end(name);
  });
  return Object.defineProperties(backend as Server, {
    healthy: {
      get: () => state.healthy,
      set: (value: boolean) => {
        state.healthy = value;
      },
    },
    served: { value: () => backend.requests.filter(({ url }) => url !== '/health').length },
  });
}

async function startAll(
  t: TestContext,
  options: string,
  log: string[] = [],
): Promise<{ servers: Server[]; balancer: TestBalancer }> {
  const servers = await Promise.all(NAMES.map((name) => startServer(t, name, false)));
  const logger = loggerTo((_level, message) => log.push(message));
  const balancer = await startBalancer(t, site(proxyTo(servers, `${CHECK}\n${options}`)), { workers: 2, log: logger });
  await eventually(() => balancer.upstreams().every(({ state }) => state === 'down'), 'all down');
  return { servers, balancer };
}

async function bodies(balancer: TestBalancer, count: number): Promise<string[]> {
  const all: string[] = [];
  for (let request = 0; request < count; request += 1) {
    const response = await get(balancer.port);
    all.push(response.status === 200 ? response.body : String(response.status));
  }
  return all;
}

test('by default a request is refused with 503, no server is bothered, and none is blamed', async (t) => {
  const { servers, balancer } = await startAll(t, '');
  const response = await get(balancer.port);
  assert.equal(response.status, 503);
  assert.equal(response.body, 'No server is available for this request.\n');
  assert.deepEqual(
    servers.map((server) => server.served()),
    [0, 0, 0],
  );
  const metrics = await balancer.metrics();
  assert.equal(valueOf(metrics, 'holdfast_http_no_upstream_total'), 1);
  for (const { port } of servers) {
    const upstream = `127.0.0.1:${port}`;
    assert.equal(valueOf(metrics, 'caddy_reverse_proxy_upstreams_healthy', { upstream }), 0);
    assert.equal(valueOf(metrics, 'holdfast_upstream_requests_total', { upstream }), 0);
  }
  await eventually(() => balancer.accessLines.length === 1, 'the access line');
  const { status, attempts, upstream } = balancer.accessLines[0]!;
  assert.deepEqual([status, attempts, upstream], [503, 0, '']);

  servers[1]!.healthy = true;
  await eventually(() => balancer.upstreams()[1]?.state === 'up', 'two is up');
  assert.deepEqual(await bodies(balancer, 4), ['two', 'two', 'two', 'two']);
});

test('with lb_best_effort all are tried in the order of the policy, and it is said so', async (t) => {
  const log: string[] = [];
  const { servers, balancer } = await startAll(t, 'lb_best_effort', log);
  assert.deepEqual((await bodies(balancer, 6)).toSorted(), ['one', 'one', 'three', 'three', 'two', 'two']);
  assert.equal(valueOf(await balancer.metrics(), 'holdfast_pool_best_effort'), 1);
  assert.equal(
    balancer.upstreams().every(({ bestEffort, state }) => bestEffort && state === 'down'),
    true,
  );
  assert.equal(
    log.filter((line) => /all members of pool .* are down: all are tried/.test(line)).length,
    1,
    log.join('\n'),
  );

  servers[2]!.healthy = true;
  await eventually(() => balancer.upstreams()[2]?.state === 'up', 'three is up');
  assert.deepEqual(await bodies(balancer, 4), ['three', 'three', 'three', 'three'], 'to the healthy one only, at once');
  assert.equal(valueOf(await balancer.metrics(), 'holdfast_pool_best_effort'), 0);
  assert.equal(
    log.some((line) => line.includes('no longer tries members that are down')),
    true,
  );
});

test('best effort does not touch what the operator took out: drained, in maintenance, or weight 0', async (t) => {
  const { servers, balancer } = await startAll(t, 'lb_best_effort');
  const [one, two, three] = servers.map(({ port }) => `127.0.0.1:${port}`);
  balancer.patchUpstream(one!, { adminState: 'drain' });
  assert.equal((await bodies(balancer, 4)).includes('one'), false);
  balancer.patchUpstream(two!, { adminState: 'maint' });
  assert.deepEqual(await bodies(balancer, 2), ['three', 'three']);
  balancer.patchUpstream(three!, { weight: 0 });
  assert.deepEqual(await bodies(balancer, 1), ['503']);
  balancer.patchUpstream(two!, { adminState: 'ready' });
  assert.deepEqual(await bodies(balancer, 2), ['two', 'two']);
});

test('best effort over servers that all refuse is one pass and 502', async (t) => {
  const dead = await Promise.all(NAMES.map(async () => ({ port: await freePort() })));
  const balancer = await startBalancer(t, site(proxyTo(dead, `${CHECK}\nlb_best_effort`)));
  await eventually(() => balancer.upstreams().every(({ state }) => state === 'down'), 'all down');
  assert.equal((await get(balancer.port)).status, 502);
  const metrics = await balancer.metrics();
  for (const { port } of dead) {
    const dials = valueOf(metrics, 'holdfast_upstream_connections_total', {
      upstream: `127.0.0.1:${port}`,
      origin: 'new',
    });
    assert.equal(dials, 1);
  }
});

test('with lb_try_duration the passes over refusing servers are paced, not spun', async (t) => {
  const dead = await Promise.all(NAMES.map(async () => ({ port: await freePort() })));
  const options = `${CHECK}\nlb_best_effort\nlb_try_duration 1s\nlb_try_interval 300ms`;
  const balancer = await startBalancer(t, site(proxyTo(dead, options)));
  await eventually(() => balancer.upstreams().every(({ state }) => state === 'down'), 'all down');
  assert.equal((await get(balancer.port)).status, 502);
  const metrics = await balancer.metrics();
  for (const { port } of dead) {
    const dials = valueOf(metrics, 'holdfast_upstream_connections_total', {
      upstream: `127.0.0.1:${port}`,
      origin: 'new',
    });
    assert.ok(dials >= 1 && dials <= 4, `${dials} dials in one second at 300 ms`);
  }
});

test('everything in maintenance is 503, with and without best effort', async (t) => {
  const server = await startServer(t, 'one', true);
  for (const options of ['', 'lb_best_effort']) {
    const balancer = await startBalancer(t, site(proxyTo([server], options)));
    balancer.patchUpstream(`127.0.0.1:${server.port}`, { adminState: 'maint' });
    assert.deepEqual(await bodies(balancer, 1), ['503']);
  }
});
