/** Upstreams found in DNS: members come and go without a reload. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { eventually, startBackend, type Backend } from '../support/backend.ts';
import { startDnsServer, type DnsRecord } from '../support/dns-server.ts';
import { failuresOf, startLoad } from '../support/load.ts';
import { startPlane } from '../support/plane.ts';
import { get } from '../support/raw-client.ts';
import { site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000, concurrency: true };

type Zone = Record<string, readonly DnsRecord[]>;

function at(...addresses: readonly string[]): readonly DnsRecord[] {
  return addresses.map((address) => ({ type: 'A', address, ttl: 1 }));
}

function srv(...targets: readonly string[]): readonly DnsRecord[] {
  return targets.map((address) => ({ type: 'SRV', address, ttl: 1 }));
}

async function startZone(t: TestContext, zone: Zone): Promise<string> {
  const dns = await startDnsServer(zone);
  t.after(() => dns.close());
  return dns.address;
}

async function startOn(t: TestContext, ...hosts: readonly string[]): Promise<Backend[]> {
  const first = await startBackend(t, hosts[0]!, undefined, 0, hosts[0]);
  const others = await Promise.all(hosts.slice(1).map((host) => startBackend(t, host, undefined, first.port, host)));
  return [first, ...others];
}

function dynamicA(resolver: string, port: number, more = ''): string {
  return `dynamic a app.test ${port} {\nrefresh 1s\nresolvers ${resolver}\n}\n${more}`;
}

describe('dynamic upstreams', OPTIONS, () => {
  test('every address of the name is an upstream of its own, in sorted order', async (t) => {
    const [first] = await startOn(t, '127.0.8.1', '127.0.8.2', '127.0.8.10');
    const resolver = await startZone(t, { 'app.test': at('127.0.8.10', '127.0.8.2', '127.0.8.1') });
    const { plane, port } = await startPlane(
      t,
      site(`reverse_proxy {\nlb_policy round_robin\n${dynamicA(resolver, first!.port)}}`),
    );
    assert.deepEqual(
      plane.upstreams().map(({ upstream }) => upstream),
      ['127.0.8.1', '127.0.8.2', '127.0.8.10'].map((host) => `${host}:${first!.port}`),
    );
    const bodies = [await get(port), await get(port), await get(port)].map(({ body }) => body);
    assert.deepEqual(bodies, ['127.0.8.1', '127.0.8.2', '127.0.8.10']);
  });

  test('members come and go under load without a failed request, and the gone one is let go of', async (t) => {
    const [old] = await startOn(t, '127.0.8.3', '127.0.8.4', '127.0.8.5');
    const zone: Zone = { 'app.test': at('127.0.8.3', '127.0.8.4') };
    const resolver = await startZone(t, zone);
    const { events, plane, port } = await startPlane(
      t,
      site(`reverse_proxy {\nlb_policy round_robin\n${dynamicA(resolver, old!.port)}}`),
    );
    const generation = plane.reloads().generation;
    const load = startLoad(
      port,
      Array.from({ length: 8 }, (_, index) => ({ name: `client ${index}` })),
    );
    t.after(() => load.stop());
    await load.more(3);
    assert.ok(old!.sockets.size > 0);
    zone['app.test'] = at('127.0.8.4', '127.0.8.5');
    await eventually(() => events.some(({ type }) => type === 'name-changed'), 'the change to be noticed', 20_000);
    const after = await load.more(6);
    await load.stop();
    assert.deepEqual(failuresOf(load.answers), []);
    assert.deepEqual([...new Set(after.map(({ backend }) => backend))].sort(), ['127.0.8.4', '127.0.8.5']);
    await eventually(() => old!.sockets.size === 0, 'connections to the address that is gone to close');
    assert.equal(plane.reloads().generation, generation);
  });

  test('a request that runs on a member that DNS drops runs to its end', async (t) => {
    const slow = await startBackend(
      t,
      'slow',
      (_request, response) => {
        response.write('first ');
        setTimeout(() => response.end('last'), 4000);
      },
      0,
      '127.0.8.6',
    );
    await startBackend(t, 'next', undefined, slow.port, '127.0.8.7');
    const zone: Zone = { 'app.test': at('127.0.8.6') };
    const resolver = await startZone(t, zone);
    const { events, plane, port } = await startPlane(t, site(`reverse_proxy {\n${dynamicA(resolver, slow.port)}}`));
    const running = get(port);
    await eventually(() => plane.upstreams()[0]!.inFlight === 1, 'the request to be under way');
    zone['app.test'] = at('127.0.8.7');
    await eventually(() => events.some(({ type }) => type === 'name-changed'), 'the change to be noticed', 20_000);
    assert.equal((await get(port)).body, 'next');
    assert.equal((await running).body, 'first last');
  });

  test('active checks judge found members: one that is dead gets nothing', async (t) => {
    const [dead, alive] = await startOn(t, '127.0.8.8', '127.0.8.9');
    await dead!.kill();
    const resolver = await startZone(t, { 'app.test': at('127.0.8.8', '127.0.8.9') });
    const check = 'health_uri /health\nhealth_interval 50ms\n';
    const { plane, port } = await startPlane(
      t,
      site(`reverse_proxy {\nlb_policy first\n${dynamicA(resolver, alive!.port, check)}}`),
    );
    await eventually(() => plane.upstreams()[0]!.state === 'down', 'the dead member to be noticed');
    assert.equal((await get(port)).body, '127.0.8.9');
    await dead!.revive();
    await eventually(() => plane.upstreams()[0]!.state === 'up', 'it to come back');
    assert.equal((await get(port)).body, '127.0.8.8');
  });

  test('a member that joins gets no work before its first pass', async (t) => {
    const [first, second] = await startOn(t, '127.0.8.12', '127.0.8.11');
    await second!.kill();
    const zone: Zone = { 'app.test': at('127.0.8.12') };
    const resolver = await startZone(t, zone);
    const check = 'health_uri /health\nhealth_interval 200ms\n';
    const { plane, port } = await startPlane(
      t,
      site(`reverse_proxy {\nlb_policy first\nlb_retries 0\n${dynamicA(resolver, first!.port, check)}}`),
    );
    zone['app.test'] = at('127.0.8.11', '127.0.8.12');
    await eventually(() => plane.upstreams().length === 2, 'the member to join', 20_000);
    for (let index = 0; index < 10; index += 1) assert.equal((await get(port)).body, '127.0.8.12');
    await second!.revive();
    await eventually(async () => (await get(port)).body === '127.0.8.11', 'it to pass a check');
  });

  test('SRV records give host and port of each upstream, and their names are resolved', async (t) => {
    const one = await startBackend(t, 'one', undefined, 0, '127.0.8.13');
    const two = await startBackend(t, 'two', undefined, 0, '127.0.8.13');
    const zone: Zone = {
      '_http._tcp.app.test': srv(`b.test:${two.port}`, `a.test:${one.port}`),
      'a.test': at('127.0.8.13'),
      'b.test': at('127.0.8.13'),
    };
    const resolver = await startZone(t, zone);
    const source = `dynamic srv _http._tcp.app.test {\nrefresh 1s\nresolvers ${resolver}\n}\n`;
    const { plane, port } = await startPlane(t, site(`reverse_proxy {\nlb_policy round_robin\n${source}}`));
    assert.deepEqual(
      plane.upstreams().map(({ upstream }) => upstream),
      [`a.test:${one.port}`, `b.test:${two.port}`],
    );
    assert.deepEqual([(await get(port)).body, (await get(port)).body], ['one', 'two']);
    zone['_http._tcp.app.test'] = srv(`c.test:${two.port}`);
    zone['c.test'] = at('127.0.8.13');
    await eventually(() => plane.upstreams()[0]!.upstream.startsWith('c.test'), 'the new target to be noticed', 20_000);
    assert.equal((await get(port)).body, 'two');
  });

  test('static upstreams serve while the lookup fails, and found ones replace them when it does not', async (t) => {
    const [found, fallback] = await startOn(t, '127.0.8.14', '127.0.8.15');
    const zone: Zone = {};
    const resolver = await startZone(t, zone);
    const { port } = await startPlane(
      t,
      site(`reverse_proxy 127.0.8.15:${fallback!.port} {\n${dynamicA(resolver, found!.port)}}`),
    );
    assert.equal((await get(port)).body, '127.0.8.15');
    zone['app.test'] = at('127.0.8.14');
    await eventually(async () => (await get(port)).body === '127.0.8.14', 'the found one to be used', 20_000);
    delete zone['app.test'];
    await eventually(async () => (await get(port)).body === '127.0.8.15', 'the fallback to be used', 20_000);
  });

  test('without static upstreams the last answer is kept, and nothing found at the start is a 503', async (t) => {
    const [server] = await startOn(t, '127.0.8.16');
    const zone: Zone = {};
    const resolver = await startZone(t, zone);
    const { events, port } = await startPlane(t, site(`reverse_proxy {\n${dynamicA(resolver, server!.port)}}`));
    assert.equal((await get(port)).status, 503);
    zone['app.test'] = at('127.0.8.16');
    await eventually(async () => (await get(port)).body === '127.0.8.16', 'the name to be found', 20_000);
    delete zone['app.test'];
    const failures = (): number => events.filter(({ type }) => type === 'name-failed').length;
    await eventually(() => failures() === 2, 'the failure to be told', 20_000);
    assert.equal((await get(port)).body, '127.0.8.16');
  });

  test('multi joins its sources, and one that fails is left out', async (t) => {
    const [first] = await startOn(t, '127.0.8.17', '127.0.8.18');
    const resolver = await startZone(t, { 'app.test': at('127.0.8.17'), 'more.test': at('127.0.8.18', '127.0.8.17') });
    const source = (name: string): string => `a ${name} ${first!.port} {\nresolvers ${resolver}\n}\n`;
    const sources = ['app.test', 'gone.test', 'more.test'].map(source).join('');
    const { plane } = await startPlane(t, site(`reverse_proxy {\ndynamic multi {\n${sources}}\n}`));
    assert.deepEqual(
      plane.upstreams().map(({ upstream }) => upstream),
      [`127.0.8.17:${first!.port}`, `127.0.8.18:${first!.port}`],
    );
  });

  test('a worker that joins later knows the members of now, not those of the config', async (t) => {
    const [old] = await startOn(t, '127.0.8.21', '127.0.8.22');
    const zone: Zone = { 'app.test': at('127.0.8.21') };
    const resolver = await startZone(t, zone);
    const { plane, port } = await startPlane(t, site(`reverse_proxy {\n${dynamicA(resolver, old!.port)}}`), {
      workers: 1,
    });
    assert.equal((await get(port)).body, '127.0.8.21');
    zone['app.test'] = at('127.0.8.22');
    await eventually(() => plane.upstreams()[0]!.upstream.startsWith('127.0.8.22'), 'the change to be noticed', 20_000);
    await plane.retireWorker(plane.workers()[0]!.lane);
    assert.equal((await get(port)).body, '127.0.8.22');
    zone['app.test'] = at('127.0.8.21');
    await eventually(async () => (await get(port)).body === '127.0.8.21', 'it to be told of changes too', 20_000);
  });

  test('ip_hash with rendezvous moves only the clients of the member that goes', async (t) => {
    const hosts = ['127.0.8.23', '127.0.8.24', '127.0.8.25'];
    const [first] = await startOn(t, ...hosts);
    const zone: Zone = { 'app.test': at(...hosts) };
    const resolver = await startZone(t, zone);
    const policy = 'lb_policy ip_hash {\nmapping rendezvous\n}\n';
    const { plane, port } = await startPlane(t, site(`reverse_proxy {\n${dynamicA(resolver, first!.port, policy)}}`));
    const clients = Array.from({ length: 24 }, (_, index) => `127.0.10.${index + 1}`);
    const homes = async (): Promise<string[]> =>
      (await Promise.all(clients.map((client) => get(port, '/', {}, client)))).map(({ body }) => body);
    const before = await homes();
    zone['app.test'] = at(hosts[0]!, hosts[2]!);
    await eventually(() => plane.upstreams().length === 2, 'the member to go', 20_000);
    const after = await homes();
    for (const [index, home] of before.entries()) if (home !== hosts[1]) assert.equal(after[index], home);
    assert.ok(!after.includes(hosts[1]!));
  });

  test('a reload that leaves the pool alone keeps its members', async (t) => {
    const [first] = await startOn(t, '127.0.8.19', '127.0.8.20');
    const resolver = await startZone(t, { 'app.test': at('127.0.8.19', '127.0.8.20') });
    const proxy = `reverse_proxy {\nlb_policy first\n${dynamicA(resolver, first!.port)}}`;
    const { plane, port, reload } = await startPlane(t, site(proxy));
    const before = plane.upstreams();
    await reload(site(`header X-New yes\n${proxy}`));
    assert.deepEqual(
      plane.upstreams().map(({ upstream }) => upstream),
      before.map(({ upstream }) => upstream),
    );
    assert.equal((await get(port)).body, '127.0.8.19');
  });
});
