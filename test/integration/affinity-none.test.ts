/** Policies without affinity: how they spread requests over servers and worker threads. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { startBackend, eventually, type Backend } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { askEach, failuresOf, sharesOf } from '../support/load.ts';
import { get, openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

const NAMES = ['one', 'two', 'three'] as const;

async function startServers(t: TestContext): Promise<Backend[]> {
  return Promise.all(NAMES.map((name) => startBackend(t, name)));
}

async function startWith(
  t: TestContext,
  servers: readonly Backend[],
  policy: string,
  workers = 1,
): Promise<TestBalancer> {
  return startBalancer(t, site(proxyTo(servers, `lb_policy ${policy}`)), { workers });
}

async function bodies(balancer: TestBalancer, count: number): Promise<string[]> {
  const all: string[] = [];
  for (let request = 0; request < count; request += 1) all.push((await get(balancer.port)).body);
  return all;
}

test('round_robin starts at the first server and takes them in turn', async (t) => {
  const balancer = await startWith(t, await startServers(t), 'round_robin', 2);
  assert.deepEqual(await bodies(balancer, 7), ['one', 'two', 'three', 'one', 'two', 'three', 'one']);
});

test('round_robin is exactly even over connections and workers', async (t) => {
  const balancer = await startWith(t, await startServers(t), 'round_robin', 2);
  const answers = await askEach(balancer.port, new Array<string>(300).fill('X: y'), 20);
  assert.deepEqual(failuresOf(answers), []);
  assert.deepEqual(sharesOf(answers), { one: 100, two: 100, three: 100 });
});

test('round_robin gives the turns of a missing server to both others alike', async (t) => {
  const servers = await startServers(t);
  const balancer = await startWith(t, servers, 'round_robin');
  balancer.patchUpstream(`127.0.0.1:${servers[1]!.port}`, { adminState: 'maint' });
  const shares = sharesOf((await bodies(balancer, 40)).map((backend) => ({ client: '', status: 200, backend })));
  assert.deepEqual(shares, { one: 20, three: 20 });
});

test('first is the first that may be picked', async (t) => {
  const servers = await startServers(t);
  const balancer = await startWith(t, servers, 'first');
  assert.deepEqual(await bodies(balancer, 3), ['one', 'one', 'one']);
  balancer.patchUpstream(`127.0.0.1:${servers[0]!.port}`, { adminState: 'drain' });
  assert.deepEqual(await bodies(balancer, 2), ['two', 'two']);
  balancer.patchUpstream(`127.0.0.1:${servers[0]!.port}`, { adminState: 'ready' });
  assert.deepEqual(await bodies(balancer, 1), ['one']);
});

test('random, the default, uses every server', async (t) => {
  const servers = await startServers(t);
  const balancer = await startBalancer(t, site(proxyTo(servers)), { workers: 2 });
  const shares = sharesOf(await askEach(balancer.port, new Array<string>(600).fill('X: y')));
  for (const name of NAMES) assert.ok(shares[name]! > 130 && shares[name]! < 270, JSON.stringify(shares));
});

test('least_conn counts the running requests of all workers', async (t) => {
  const waiting: ServerResponse[] = [];
  const servers = await Promise.all(
    NAMES.map((name) =>
      startBackend(t, name, (request, response) => {
        response.setHeader('X-Backend', name);
        if (request.url === '/wait') waiting.push(response);
        else response.end(name);
      }),
    ),
  );
  const balancer = await startWith(t, servers, 'least_conn', 2);
  const running = (): number[] => servers.map(({ requests }) => requests.filter(({ url }) => url === '/wait').length);
  for (let count = 1; count <= 12; count += 1) {
    const client = await openClient(balancer.port);
    t.after(() => client.close());
    client.send('GET /wait HTTP/1.1\r\nHost: x.test\r\n\r\n');
    await eventually(() => waiting.length === count, `request ${count} has arrived`);
  }
  assert.deepEqual(running(), [4, 4, 4]);
  // One server gets rid of its work: it has the fewest now and takes all that comes.
  for (const response of waiting.filter(({ req }) => servers[1]!.requests.includes(req))) response.end();
  await eventually(() => balancer.upstreams()[1]?.inFlight === 0, 'two is idle');
  assert.deepEqual(new Set(await bodies(balancer, 9)), new Set(['two']));
});
