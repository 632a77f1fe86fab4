/** Options of upstreams and policies that use them: weights, backups, keys, slow start, bounded loads. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { eventually, startBackend, type Backend } from '../support/backend.ts';
import { globals, startBalancer, type TestBalancer } from '../support/balance.ts';
import { Metrics } from '../../src/control-plane/metrics/metrics.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { valueOf } from '../support/metric.ts';
import { startPlane } from '../support/plane.ts';
import { get } from '../support/raw-client.ts';

const NAMES = ['one', 'two', 'three'] as const;

function startServers(t: TestContext): Promise<Backend[]> {
  return Promise.all(NAMES.map((name) => startBackend(t, name)));
}

/** `own[i]` are the lines of the block of server i. */
function config(servers: readonly Backend[], options: string, own: readonly string[] = []): string {
  const lines = servers.map(({ port }, at) => `to 127.0.0.1:${port} {\n${own[at] ?? ''}\n}`).join('\n');
  return `${globals()}http://:0 {\nbind 127.0.0.1\nreverse_proxy {\n${lines}\n${options}\n}\n}\n`;
}

async function sharesOf(balancer: TestBalancer, count: number): Promise<Record<string, number>> {
  const shares: Record<string, number> = {};
  for (let request = 0; request < count; request += 1) {
    const { body } = await get(balancer.port);
    shares[body] = (shares[body] ?? 0) + 1;
  }
  return shares;
}

test('weighted_round_robin is exact over workers, and mixed', async (t) => {
  const servers = await startServers(t);
  const balancer = await startBalancer(t, config(servers, 'lb_policy weighted_round_robin 3 2 1'), { workers: 2 });
  const bodies: string[] = [];
  for (let request = 0; request < 6; request += 1) bodies.push((await get(balancer.port)).body);
  assert.deepEqual(bodies, ['one', 'two', 'one', 'three', 'two', 'one']);
  assert.deepEqual(await sharesOf(balancer, 60), { one: 30, two: 20, three: 10 });
});

test('weights of upstreams count, the operator has the last word, and 0 turns new clients away', async (t) => {
  const servers = await startServers(t);
  const own = ['weight 4', '', 'weight 0'];
  const balancer = await startBalancer(t, config(servers, 'lb_policy weighted_round_robin', own), { workers: 2 });
  assert.deepEqual(await sharesOf(balancer, 50), { one: 40, two: 10 });
  balancer.patchUpstream(`127.0.0.1:${servers[2]!.port}`, { weight: 5 });
  assert.deepEqual(
    balancer.upstreams().map(({ weight }) => weight),
    [4, 1, 5],
  );
  assert.deepEqual(await sharesOf(balancer, 50), { one: 20, two: 5, three: 25 });
});

test('random follows weights', async (t) => {
  const servers = await startServers(t);
  const balancer = await startBalancer(t, config(servers, 'lb_policy random', ['weight 8', 'weight 1', 'weight 1']));
  const shares = await sharesOf(balancer, 300);
  assert.ok(shares['one']! > 190 && shares['one']! < 280, JSON.stringify(shares));
});

test('a backup gets clients only while no other upstream may have them, and keeps those with its cookie', async (t) => {
  const servers = await startServers(t);
  const policy = 'lb_policy cookie lb a-secret-of-thirty-two-bytes-or-more';
  const balancer = await startBalancer(t, config(servers.slice(0, 2), policy, ['', 'backup']));
  assert.deepEqual(await sharesOf(balancer, 5), { one: 5 });
  assert.match(balancer.upstreams()[1]!.why, /backup/);
  const primary = `127.0.0.1:${servers[0]!.port}`;
  balancer.patchUpstream(primary, { adminState: 'maint' });
  const pinned = await get(balancer.port);
  assert.equal(pinned.body, 'two');
  balancer.patchUpstream(primary, { adminState: 'ready' });
  assert.deepEqual(await sharesOf(balancer, 5), { one: 5 });
  const Cookie = pinned.header('set-cookie')!.split(';')[0]!;
  assert.equal((await get(balancer.port, '/', { Cookie })).body, 'two');
});

test('uri_hash, header and query keep to one server a key, over workers, and go by what goes upstream', async (t) => {
  const servers = await startServers(t);
  const cases: readonly (readonly [policy: string, ask: (key: number) => readonly [string, Record<string, string>]])[] =
    [
      ['uri_hash', (key) => [`/page/${key}`, {}]],
      ['header X-User', (key) => ['/', { 'x-user': `user-${key}` }]],
      ['header Host', (key) => ['/', { Host: `site-${key}.test` }]],
      ['query id', (key) => [`/?a=1&id=${key}`, {}]],
    ];
  for (const [policy, ask] of cases) {
    const balancer = await startBalancer(t, config(servers, `lb_policy ${policy}`), { workers: 2 });
    const used = new Set<string>();
    // The places follow from the ports, which are others each time: 40 keys leave nobody out but by a miracle.
    for (let key = 0; key < 40; key += 1) {
      const bodies = await Promise.all([1, 2].map(() => get(balancer.port, ...ask(key))));
      assert.equal(new Set(bodies.map(({ body }) => body)).size, 1, `${policy} ${key}`);
      used.add(bodies[0]!.body);
    }
    assert.equal(used.size, 3, `${policy} uses every server`);
    await balancer.stop(0);
  }
});

test('requests without the key go to the fallback, which may be a cookie', async (t) => {
  const servers = await startServers(t);
  const fallback =
    'lb_policy header X-User {\nfallback cookie lb a-secret-of-thirty-two-bytes-or-more {\nfallback first\n}\n}';
  const upstream = 'header_up X-Affinity {http.reverse_proxy.affinity}';
  const balancer = await startBalancer(t, config(servers, `${fallback}\n${upstream}`));
  const keyless = await get(balancer.port);
  assert.equal(keyless.body, 'one');
  assert.match(keyless.header('set-cookie')!, /^lb=/);
  assert.equal(servers[0]!.requests.at(-1)!.headers['x-affinity'], 'new');
  const keyed = await get(balancer.port, '/', { 'X-User': 'alice' });
  assert.equal(keyed.header('set-cookie'), undefined);
  const server = servers.find(({ name }) => name === keyed.body)!;
  assert.equal(server.requests.at(-1)!.headers['x-affinity'], 'hit');
});

test('random_choose prefers the idle ones', async (t) => {
  const held: ServerResponse[] = [];
  const servers = await Promise.all(
    NAMES.map((name) =>
      startBackend(t, name, (request, response) => {
        if (request.url === '/hold') held.push(response);
        else response.end(name);
      }),
    ),
  );
  const { plane, port } = await startPlane(t, config(servers, 'lb_policy random_choose 3'));
  const holding = [get(port, '/hold'), get(port, '/hold')];
  await eventually(() => held.length === 2, 'two servers are busy');
  const idle = plane.upstreams().findIndex(({ inFlight }) => inFlight === 0);
  const bodies = await Promise.all([1, 2, 3].map(async () => (await get(port)).body));
  assert.ok(bodies.includes(NAMES[idle]!));
  for (const response of held) response.end('held');
  await Promise.all(holding);
});

test('balance_factor sends clients of a loaded home elsewhere, and counts it', async (t) => {
  const held: ServerResponse[] = [];
  const servers = await Promise.all(
    NAMES.map((name) =>
      startBackend(t, name, (request, response) => {
        if (request.url === '/hold') held.push(response);
        else response.end(name);
      }),
    ),
  );
  const { plane, port } = await startPlane(t, config(servers, 'lb_policy ip_hash {\nbalance_factor 1.25\n}'));
  const home = (await get(port)).body;
  const holding: Promise<unknown>[] = [];
  for (let count = 1; count <= 6; count += 1) {
    holding.push(get(port, '/hold'));
    await eventually(() => held.length === count, `request ${count} has arrived`);
  }
  // ceil(1.25 × 6 / 3)
  assert.equal(Math.max(...plane.upstreams().map(({ inFlight }) => inFlight)), 3);
  const text = await new Metrics(plane, systemClock, 'test').text();
  const upstream = `127.0.0.1:${servers.find(({ name }) => name === home)!.port}`;
  const spills = valueOf(text, 'holdfast_upstream_affinity_spills_total', { upstream });
  assert.ok(spills >= 3, `${spills} spills`);
  for (const response of held) response.end('held');
  await Promise.all(holding);
});

test('metrics tell of places, waiting requests and those who waited in vain', async (t) => {
  const held: ServerResponse[] = [];
  const server = await startBackend(t, 'one', (_request, response) => void held.push(response));
  const { plane, port } = await startPlane(t, config([server], 'lb_queue 1 100ms', ['max_requests 1']));
  const upstream = `127.0.0.1:${server.port}`;
  const read = async (name: string): Promise<number> =>
    valueOf(await new Metrics(plane, systemClock, 'test').text(), name, { upstream });
  const first = get(port);
  await eventually(() => held.length === 1, 'the server is full');
  assert.equal(await read('holdfast_upstream_full'), 1);
  assert.equal((await get(port)).status, 503);
  assert.equal(await read('holdfast_upstream_queued_total'), 1);
  assert.equal(await read('holdfast_upstream_queue_timeouts_total'), 1);
  assert.equal(await read('holdfast_upstream_queue_depth'), 0);
  held[0]!.end('one');
  await first;
  await eventually(async () => (await read('holdfast_upstream_full')) === 0, 'there is a place again');
});

test('a recovered server with slow_start is eased in', async (t) => {
  const servers = await startServers(t);
  let healthy = true;
  const slow = await startBackend(t, 'slow', (_request, response) => {
    response.statusCode = healthy ? 200 : 500;
    response.end('slow');
  });
  const checks = 'health_uri /healthz\nhealth_interval 50ms\nlb_policy weighted_round_robin';
  const balancer = await startBalancer(t, config([servers[0]!, slow], checks, ['', 'slow_start 1h']));
  assert.deepEqual(await sharesOf(balancer, 20), { one: 10, slow: 10 });
  healthy = false;
  await eventually(() => balancer.upstreams()[1]!.state === 'down', 'it is down');
  healthy = true;
  await eventually(() => balancer.upstreams()[1]!.state === 'up', 'it is up again');
  assert.deepEqual(await sharesOf(balancer, 22), { one: 20, slow: 2 });
  assert.equal(balancer.upstreams()[1]!.weight, 1);
});

test('unhealthy_request_count is the limit of upstreams that have none of their own', async (t) => {
  const servers = await startServers(t);
  const { plane } = await startPlane(t, config(servers, 'unhealthy_request_count 7', ['max_requests 2']));
  assert.deepEqual(
    plane.upstreams().map(({ maxRequests }) => maxRequests),
    [2, 7, 7],
  );
});
