/** Upstreams that are names: several addresses, addresses that move, names that do not resolve. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { eventually, startBackend, type Backend } from '../support/backend.ts';
import { startDnsServer, type DnsRecord } from '../support/dns-server.ts';
import { failuresOf, startLoad } from '../support/load.ts';
import { startPlane } from '../support/plane.ts';
import { get } from '../support/raw-client.ts';
import { site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000, concurrency: true };

/** Records that a test may change while the server runs. */
type Zone = Record<string, readonly DnsRecord[]>;

function at(...addresses: readonly string[]): readonly DnsRecord[] {
  return addresses.map((address) => ({ type: 'A', address, ttl: 1 }));
}

async function startZone(t: TestContext, zone: Zone): Promise<string> {
  const dns = await startDnsServer(zone);
  t.after(() => dns.close());
  return `\tresolvers ${dns.address}`;
}

/** Servers of one port on several loopback addresses. */
async function startOn(t: TestContext, ...hosts: readonly string[]): Promise<Backend[]> {
  const first = await startBackend(t, hosts[0]!, undefined, 0, hosts[0]);
  const others = await Promise.all(hosts.slice(1).map((host) => startBackend(t, host, undefined, first.port, host)));
  return [first, ...others];
}

describe('names', OPTIONS, () => {
  test('a name with a dead address loses no request: the next address is dialled in the same try', async (t) => {
    const [alive] = await startOn(t, '127.0.7.2');
    const globals = await startZone(t, { 'app.test': at('127.0.7.1', '127.0.7.2') });
    const config = site(`reverse_proxy app.test:${alive!.port} {\nlb_retries 0\n}`, { globals });
    const { plane, port } = await startPlane(t, config);
    for (let index = 0; index < 20; index += 1) assert.equal((await get(port)).body, '127.0.7.2');
    const [status, ...more] = plane.upstreams();
    assert.equal(more.length, 0, 'a name is one member, however many addresses it has');
    assert.deepEqual(
      status!.endpoints.map(({ address }) => address),
      [`127.0.7.1:${alive!.port}`, `127.0.7.2:${alive!.port}`],
    );
  });

  test('checks judge each address, and the name is up while one of them is', async (t) => {
    const [first, second] = await startOn(t, '127.0.7.3', '127.0.7.4');
    const globals = await startZone(t, { 'app.test': at('127.0.7.3', '127.0.7.4') });
    const check = 'health_uri /health\nhealth_interval 50ms';
    const { plane, port } = await startPlane(
      t,
      site(`reverse_proxy app.test:${first!.port} {\n${check}\n}`, { globals }),
    );
    const verdicts = (): string[] => plane.upstreams()[0]!.endpoints.map(({ checks }) => checks[0]!.verdict);
    assert.equal((await get(port)).body, '127.0.7.3');
    await first!.kill();
    await eventually(() => verdicts().join() === 'down,up', 'the dead address to be noticed');
    assert.equal(plane.upstreams()[0]!.state, 'up');
    assert.equal((await get(port)).body, '127.0.7.4');
    await second!.kill();
    await eventually(() => plane.upstreams()[0]!.state === 'down', 'the name to go down with its last address');
    assert.equal((await get(port)).status, 503);
    // A probe that was under way when its server was killed says CONNECT_INTERRUPT.
    assert.match(plane.upstreams()[0]!.why, /127\.0\.7\.3:\d+: CONNECT_\w+.*127\.0\.7\.4:\d+: CONNECT_\w+/);
    await first!.revive();
    await eventually(() => plane.upstreams()[0]!.state === 'up', 'the name to come back');
    assert.equal((await get(port)).body, '127.0.7.3');
  });

  test('a name that moves takes keep-alive clients along, and the connections to the old address close', async (t) => {
    const [old, moved] = await startOn(t, '127.0.7.5', '127.0.7.6');
    const zone: Zone = { 'app.test': at('127.0.7.5') };
    const config = site(`reverse_proxy app.test:${old!.port}`, { globals: await startZone(t, zone) });
    const { events, port } = await startPlane(t, config);
    const load = startLoad(
      port,
      Array.from({ length: 10 }, (_, index) => ({ name: `client ${index}` })),
    );
    t.after(() => load.stop());
    await load.more(3);
    assert.ok(old!.sockets.size > 0);
    zone['app.test'] = at('127.0.7.6');
    await eventually(() => events.some(({ type }) => type === 'name-changed'), 'the change to be noticed', 20_000);
    const after = await load.more(3);
    await load.stop();
    assert.deepEqual(failuresOf(load.answers), []);
    assert.deepEqual([...new Set(after.map(({ backend }) => backend))], ['127.0.7.6']);
    await eventually(() => old!.sockets.size === 0, 'connections to the old address to close');
    assert.ok(moved!.sockets.size > 0);
  });

  test('a failed connection has the name looked up again at once', async (t) => {
    const [old, moved] = await startOn(t, '127.0.7.7', '127.0.7.8');
    // So long a TTL that only the failure can be the reason.
    const records = (address: string): readonly DnsRecord[] => [{ type: 'A', address, ttl: 300 }];
    const zone: Zone = { 'app.test': records('127.0.7.7') };
    const config = site(`reverse_proxy app.test:${old!.port}`, { globals: await startZone(t, zone) });
    const { port } = await startPlane(t, config);
    assert.equal((await get(port)).body, '127.0.7.7');
    zone['app.test'] = records('127.0.7.8');
    await old!.kill();
    await eventually(async () => (await get(port)).body === '127.0.7.8', 'the new address to be used');
    assert.equal(moved!.accepted > 0, true);
  });

  test('a name that stops resolving keeps its last addresses', async (t) => {
    const [server] = await startOn(t, '127.0.7.9');
    const zone: Zone = { 'app.test': at('127.0.7.9') };
    const config = site(`reverse_proxy app.test:${server!.port}`, { globals: await startZone(t, zone) });
    const { events, plane, port } = await startPlane(t, config);
    delete zone['app.test'];
    await eventually(() => events.some(({ type }) => type === 'name-failed'), 'the failure to be told', 20_000);
    assert.match(
      events.find(({ type }) => type === 'name-failed')!.message,
      /^app\.test does not resolve \(.+\); its last answer is kept: 127\.0\.7\.9$/,
    );
    assert.equal((await get(port)).body, '127.0.7.9');
    assert.equal(plane.upstreams()[0]!.state, 'up');
  });

  test('a name that does not resolve at the start is down, the others serve, and it comes up by itself', async (t) => {
    const [late, other] = await startOn(t, '127.0.7.10', '127.0.7.11');
    const zone: Zone = {};
    const upstreams = `late.test:${late!.port} 127.0.7.11:${late!.port}`;
    const config = site(`reverse_proxy ${upstreams} {\nlb_policy first\n}`, { globals: await startZone(t, zone) });
    const { plane, port } = await startPlane(t, config);
    assert.equal(plane.upstreams()[0]!.state, 'down');
    assert.match(plane.upstreams()[0]!.why, /^The name late\.test does not resolve \(/);
    assert.equal((await get(port)).body, '127.0.7.11');
    zone['late.test'] = at('127.0.7.10');
    await eventually(async () => (await get(port)).body === '127.0.7.10', 'the name to be used', 20_000);
    assert.equal(plane.upstreams()[0]!.state, 'up');
    assert.ok(other!.requests.length > 0);
  });

  test('a name that was down and resolves to a live address stays down until a check passes', async (t) => {
    const [dead, alive] = await startOn(t, '127.0.7.12', '127.0.7.13');
    const zone: Zone = { 'app.test': at('127.0.7.12') };
    const check = 'health_uri /health\nhealth_interval 200ms\nhealth_timeout 30s';
    const globals = await startZone(t, zone);
    const { events, plane, port } = await startPlane(
      t,
      site(`reverse_proxy app.test:${dead!.port} {\n${check}\n}`, { globals }),
    );
    await dead!.kill();
    await alive!.kill();
    await eventually(() => plane.upstreams()[0]!.state === 'down', 'the name to go down');
    zone['app.test'] = at('127.0.7.13');
    await eventually(() => events.some(({ type }) => type === 'name-changed'), 'the change to be noticed', 20_000);
    await eventually(() => plane.upstreams()[0]!.state === 'down', 'its new address to be judged');
    assert.notEqual((await get(port)).status, 200);
    await alive!.revive();
    await eventually(() => plane.upstreams()[0]!.state === 'up', 'a check to pass');
    assert.equal((await get(port)).body, '127.0.7.13');
  });
});
