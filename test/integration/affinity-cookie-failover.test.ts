/** When a cookie is replaced, and when it is left alone although another server answers. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { startBackend, startScripted, eventually, type Backend } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { cookiesOf, visit } from '../support/cookies.ts';
import { askEach } from '../support/load.ts';
import { proxyTo, site } from '../support/site.ts';

const COOKIE = 'secret a-secret-of-this-test-0123456789-0123456789';
const NAMES = ['one', 'two'] as const;
/** New clients go to the first server that may be picked. */
const FIRST = `lb_policy cookie lb {\n${COOKIE}\nfallback first\n}`;
const IN_TURN = `lb_policy cookie lb {\n${COOKIE}\nfallback round_robin\n}`;

interface World {
  readonly servers: readonly Backend[];
  readonly balancer: TestBalancer;
  patch(place: number, patch: Parameters<TestBalancer['patchUpstream']>[1]): void;
  addressOf(place: number): string;
}

async function startWorld(t: TestContext, options: string): Promise<World> {
  const servers = await Promise.all(NAMES.map((name) => startBackend(t, name)));
  const balancer = await startBalancer(t, site(proxyTo(servers, options)), { workers: 2 });
  const addressOf = (place: number): string => `127.0.0.1:${servers[place]!.port}`;
  return {
    servers,
    balancer,
    addressOf,
    patch: (place, patch) => assert.ok(balancer.patchUpstream(addressOf(place), patch)),
  };
}

/** The cookie is replaced by the next visit and never again. */
async function assertReplacedOnce(port: number, cookie: string, server: string): Promise<string> {
  const first = await visit(port, cookie);
  assert.deepEqual([first.status, first.server, first.given.length], [200, server, 1]);
  for (let again = 0; again < 3; again += 1) {
    const next = await visit(port, first.cookie);
    assert.deepEqual([next.status, next.server, next.given], [200, server, []]);
  }
  return first.cookie;
}

test('a first try that fails costs one Set-Cookie, for the server that answered', async (t) => {
  const { servers, balancer } = await startWorld(t, FIRST);
  await servers[0]!.kill();
  const cookie = await assertReplacedOnce(balancer.port, '', 'two');
  await servers[0]!.revive();
  const next = await visit(balancer.port, cookie);
  assert.deepEqual([next.server, next.given], ['two', []], 'it belongs to the one that answered');
});

test('a GET that broke on one server and was answered by another gets one Set-Cookie', async (t) => {
  const breaking = await startScripted(t, (socket) => socket.once('data', () => socket.destroy()));
  const two = await startBackend(t, 'two');
  const balancer = await startBalancer(t, site(proxyTo([breaking, two], FIRST)));
  const { server, given } = await visit(balancer.port);
  assert.deepEqual([server, given.length], ['two', 1]);
  assert.equal(
    breaking.received.some((text) => text.startsWith('GET / ')),
    true,
  );
});

test('a client follows no cookie into a dead server, gets a new one, and does not flap back', async (t) => {
  const { servers, balancer } = await startWorld(t, `${IN_TURN}\nlb_try_duration 3s`);
  const old = (await cookiesOf(balancer.port, NAMES)).get('one')!;
  await servers[0]!.kill();
  const cookie = await assertReplacedOnce(balancer.port, old, 'two');
  await servers[0]!.revive();
  const back = await visit(balancer.port, cookie);
  assert.deepEqual([back.server, back.given], ['two', []]);
});

test('a server down by its checks: its cookies are replaced once and do not come back', async (t) => {
  let healthy = true;
  const one = await startBackend(t, 'one', (request, response) => {
    response.statusCode = request.url === '/health' && !healthy ? 503 : 200;
    response.end('one');
  });
  const two = await startBackend(t, 'two');
  const options = `${IN_TURN}\nhealth_uri /health\nhealth_interval 50ms`;
  const balancer = await startBalancer(t, site(proxyTo([one, two], options)), { workers: 2 });
  const cookies = await cookiesOf(balancer.port, NAMES);
  healthy = false;
  await eventually(() => balancer.upstreams()[0]?.state === 'down', 'one is down');
  const cookie = await assertReplacedOnce(balancer.port, cookies.get('one')!, 'two');
  const other = await visit(balancer.port, cookies.get('two'));
  assert.deepEqual([other.server, other.given], ['two', []], 'clients of the other one notice nothing');
  healthy = true;
  await eventually(() => balancer.upstreams()[0]?.state === 'up', 'one is up');
  assert.equal((await visit(balancer.port, cookie)).server, 'two');
});

test('maintenance replaces a cookie once', async (t) => {
  const { balancer, patch } = await startWorld(t, IN_TURN);
  const cookie = (await cookiesOf(balancer.port, NAMES)).get('one')!;
  patch(0, { adminState: 'maint' });
  const moved = await assertReplacedOnce(balancer.port, cookie, 'two');
  patch(0, { adminState: 'ready' });
  assert.equal((await visit(balancer.port, moved)).server, 'two');
});

test('removal from the config replaces a cookie once', async (t) => {
  const { servers, balancer } = await startWorld(t, IN_TURN);
  const cookies = await cookiesOf(balancer.port, NAMES);
  await balancer.reload(site(proxyTo([servers[1]!], IN_TURN)));
  await assertReplacedOnce(balancer.port, cookies.get('one')!, 'two');
  assert.deepEqual((await visit(balancer.port, cookies.get('two'))).given, []);
});

test('a draining server keeps the clients that have its cookie, until its deadline', async (t) => {
  const { balancer, patch } = await startWorld(t, IN_TURN);
  const cookie = (await cookiesOf(balancer.port, NAMES)).get('one')!;
  patch(0, { adminState: 'drain' });
  for (let again = 0; again < 4; again += 1) {
    const mine = await visit(balancer.port, cookie);
    assert.deepEqual([mine.server, mine.given], ['one', []]);
    assert.equal((await visit(balancer.port)).server, 'two', 'new clients go elsewhere');
  }
  patch(0, { adminState: 'drain', drainMs: 50 });
  await eventually(async () => (await visit(balancer.port, cookie)).server === 'two', 'the deadline');
  await assertReplacedOnce(balancer.port, cookie, 'two');
});

test('weight 0 turns away new clients only', async (t) => {
  const { balancer, patch } = await startWorld(t, IN_TURN);
  const cookie = (await cookiesOf(balancer.port, NAMES)).get('one')!;
  patch(0, { weight: 0 });
  const mine = await visit(balancer.port, cookie);
  assert.deepEqual([mine.server, mine.given], ['one', []]);
  for (let again = 0; again < 4; again += 1) assert.equal((await visit(balancer.port)).server, 'two');
});

test('a server that no check has passed yet serves nobody, and its cookies wait for it', async (t) => {
  const probes: ServerResponse[] = [];
  const two = await startBackend(t, 'two', (request, response) => {
    if (request.url === '/health') probes.push(response);
    else response.end('two');
  });
  const one = await startBackend(t, 'one');
  const checked = `${IN_TURN}\nhealth_uri /health\nhealth_interval 1s\nhealth_timeout 1m`;
  const balancer = await startBalancer(t, site(proxyTo([one, two], IN_TURN)), { workers: 2 });
  const cookie = (await cookiesOf(balancer.port, NAMES)).get('two')!;
  await balancer.reload(site(proxyTo([one], checked)));
  await eventually(() => balancer.upstreams()[0]?.state === 'up', 'one is up');
  await balancer.reload(site(proxyTo([one, two], checked)));
  assert.equal(balancer.upstreams()[1]?.state, 'initial');
  for (let again = 0; again < 3; again += 1) {
    const meanwhile = await visit(balancer.port, cookie);
    assert.deepEqual([meanwhile.server, meanwhile.given], ['one', []], 'served elsewhere, cookie left alone');
  }
  await eventually(() => probes.length > 0, 'the first probe');
  probes[0]!.end();
  await eventually(() => balancer.upstreams()[1]?.state === 'up', 'two is up');
  const home = await visit(balancer.port, cookie);
  assert.deepEqual([home.server, home.given], ['two', []]);
  for (const probe of probes) probe.end();
});

test('going from ip_hash to a cookie with that fallback moves nobody', async (t) => {
  const servers = await Promise.all(['one', 'two', 'three'].map((name) => startBackend(t, name)));
  const trusted = { servers: 'trusted_proxies static 127.0.0.1/32' };
  const balancer = await startBalancer(t, site(proxyTo(servers, 'lb_policy ip_hash'), trusted), { workers: 2 });
  const lines = Array.from({ length: 90 }, (_, index) => `X-Forwarded-For: 203.0.${index}.${index * 2 + 1}`);
  const homes = (await askEach(balancer.port, lines)).map(({ backend }) => backend);
  assert.equal(new Set(homes).size, 3);
  await balancer.reload(site(proxyTo(servers, `lb_policy cookie lb {\n${COOKIE}\nfallback ip_hash\n}`), trusted));
  assert.deepEqual(
    (await askEach(balancer.port, lines)).map(({ backend }) => backend),
    homes,
  );
  // From then on the cookie holds, wherever the client goes on from.
  const { cookie, server } = await visit(balancer.port, '', { 'X-Forwarded-For': '203.0.0.1' });
  for (let network = 1; network < 10; network += 1) {
    const roaming = await visit(balancer.port, cookie, { 'X-Forwarded-For': `198.51.100.${network}` });
    assert.deepEqual([roaming.server, roaming.given], [server, []]);
  }
});

test('servers are told the outcome: new, hit or moved', async (t) => {
  const { servers, balancer, patch } = await startWorld(
    t,
    `${FIRST}\nheader_up X-Affinity {http.reverse_proxy.affinity}`,
  );
  const told = (place: number): unknown => servers[place]!.requests.at(-1)?.headers['x-affinity'];
  const { cookie } = await visit(balancer.port);
  assert.equal(told(0), 'new');
  await visit(balancer.port, cookie);
  assert.equal(told(0), 'hit');
  assert.equal(servers[0]!.requests.at(-1)?.headers.cookie, cookie, 'servers see the cookie');
  patch(0, { adminState: 'maint' });
  await visit(balancer.port, cookie);
  assert.equal(told(1), 'moved');
  await eventually(() => balancer.accessLines.length === 3, 'access lines');
  assert.deepEqual(new Set(balancer.accessLines.map(({ affinity }) => affinity)), new Set(['hit', 'moved', 'new']));
});
