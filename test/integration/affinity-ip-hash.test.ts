/** ip_hash over real sockets and threads: who goes where, and that nothing but a server's own fate moves anybody. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startBackend, startScripted, eventually, type Backend } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { askEach, homesOf, sharesOf, type Answer } from '../support/load.ts';
import { get, openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

const TRUSTED = { servers: 'trusted_proxies static 127.0.0.1/32' };
const NAMES = ['zero', 'one', 'two', 'three', 'four'] as const;

async function startServers(t: TestContext, count: number): Promise<Backend[]> {
  return Promise.all(NAMES.slice(0, count).map((name) => startBackend(t, name)));
}

function ipHash(servers: readonly Backend[], options = ''): string {
  return site(proxyTo(servers, `lb_policy ip_hash ${options}`), TRUSTED);
}

/** Addresses that look like those of the open internet; always the same ones. */
function clientAddresses(count: number): string[] {
  let state = 20_260_801;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return `${(state >>> 24) % 223 || 1}.${(state >>> 16) & 255}.${(state >>> 8) & 255}.${state & 255}`;
  });
}

function forwardedFor(addresses: readonly string[]): string[] {
  return addresses.map((address) => `X-Forwarded-For: ${address}`);
}

/** The published definition, written down a second time: FNV-1a over the four bytes, modulo. */
function definedHome(address: string, servers: number): number {
  let hash = 2_166_136_261;
  for (const byte of address.split('.')) hash = Math.imul(hash ^ Number(byte), 16_777_619) >>> 0;
  return hash % servers;
}

function backendsOf(answers: readonly Answer[]): string[] {
  return answers.map(({ status, backend }) => (status === 200 ? backend : `error ${status}`));
}

test('ten thousand clients spread evenly over three servers, each where the definition says', async (t) => {
  const servers = await startServers(t, 3);
  const balancer = await startBalancer(t, ipHash(servers), { workers: 2 });
  const addresses = clientAddresses(10_000);
  const answers = await askEach(balancer.port, forwardedFor(addresses));
  for (const [name, share] of Object.entries(sharesOf(answers))) {
    assert.ok(Math.abs(share / 10_000 - 1 / 3) < 0.02, `${name} has ${share} of 10000 clients`);
  }
  assert.deepEqual(
    backendsOf(answers),
    addresses.map((address) => NAMES[definedHome(address, 3)]),
  );
});

test('a client keeps its server across connections, workers, reloads and a restart of the balancer', async (t) => {
  const servers = await startServers(t, 3);
  const addresses = clientAddresses(200);
  const lines = forwardedFor(addresses);
  const first = await startBalancer(t, ipHash(servers), { workers: 2 });
  const homes = backendsOf(await askEach(first.port, lines));
  assert.deepEqual(backendsOf(await askEach(first.port, lines, 40)), homes, 'over other connections and workers');
  await first.reload(ipHash(servers, '\n\t\theader_up X-Reloaded yes'));
  assert.deepEqual(backendsOf(await askEach(first.port, lines)), homes, 'after a reload that changes the proxy');
  assert.ok(servers.some(({ requests }) => requests.at(-1)?.headers['x-reloaded'] === 'yes'));
  await first.stop();
  const second = await startBalancer(t, ipHash(servers), { workers: 1 });
  assert.deepEqual(
    backendsOf(await askEach(second.port, lines)),
    homes,
    'after a restart, with another number of workers',
  );
});

test('without trusted proxies the peer address counts, one server for each address of 127.0.0.0/8', async (t) => {
  const servers = await startServers(t, 3);
  const balancer = await startBalancer(t, ipHash(servers), { workers: 2 });
  const peers = Array.from({ length: 60 }, (_, index) => `127.${7 + index}.${index * 3}.${200 - index}`);
  const answers: Answer[] = [];
  for (const peer of [...peers, ...peers]) {
    const response = await get(balancer.port, '/', { 'X-Forwarded-For': '203.0.113.5' }, peer);
    answers.push({ client: peer, status: response.status, backend: response.body });
  }
  assert.deepEqual(homesOf(answers), new Map(peers.map((peer) => [peer, NAMES[definedHome(peer, 3)]])));
  await eventually(() => balancer.accessLines.length === answers.length, 'all access lines');
  assert.deepEqual(new Set(balancer.accessLines.map(({ client }) => client)), new Set(peers));
});

const PUBLISHED = [
  ['203.0.113.5', 'one'],
  ['198.51.100.12', 'zero'],
  ['103.10.20.30', 'two'],
  ['103.20.10.15', 'one'],
  ['103.20.10.22', 'two'],
  ['2001:db8:85a3:8d3:1319:8a2e:370:7348', 'two'],
  // Another host of the same /64, and an address an IPv6 translator made of an IPv4 one.
  ['2001:db8:85a3:8d3::1', 'two'],
  ['64:ff9b::203.0.113.5', 'one'],
  ['::ffff:203.0.113.5', 'one'],
] as const;

test('published addresses land where the documentation says, with everybody well and with a home gone', async (t) => {
  const servers = await startServers(t, 3);
  const balancer = await startBalancer(t, ipHash(servers), { workers: 2 });
  const lines = forwardedFor(PUBLISHED.map(([address]) => address));
  assert.deepEqual(
    backendsOf(await askEach(balancer.port, lines)),
    PUBLISHED.map(([, home]) => home),
  );
  const ask = async (): Promise<string> => (await get(balancer.port, '/', { 'X-Forwarded-For': '203.0.113.5' })).body;
  balancer.patchUpstream(`127.0.0.1:${servers[1]!.port}`, { adminState: 'maint' });
  assert.equal(await ask(), 'two', 'its second home');
  await balancer.reload(ipHash(servers, '{\n\t\t\ton_failure all\n\t\t}'));
  assert.equal(await ask(), 'zero', 'on_failure all counts the eligible servers only');
  balancer.patchUpstream(`127.0.0.1:${servers[1]!.port}`, { adminState: 'ready' });
  assert.equal(await ask(), 'one', 'home again');
});

test('one server after the other goes out of five: each step moves only the clients of that server', async (t) => {
  const servers = await startServers(t, 5);
  const balancer = await startBalancer(t, ipHash(servers), { workers: 2 });
  const addresses = ['203.0.113.5', ...clientAddresses(150)];
  const lines = forwardedFor(addresses);
  let homes = backendsOf(await askEach(balancer.port, lines));
  const seen = [homes[0]];
  for (const out of [2, 3, 4]) {
    balancer.patchUpstream(`127.0.0.1:${servers[out]!.port}`, { adminState: 'maint' });
    const now = backendsOf(await askEach(balancer.port, lines));
    const moved = homes.filter((home, index) => home !== now[index]);
    assert.deepEqual([...new Set(moved)], [NAMES[out]], `with ${NAMES[out]} out`);
    assert.equal(now.includes(NAMES[out]!), false);
    homes = now;
    seen.push(homes[0]);
  }
  // Published for 203.0.113.5 over five servers: 2, then 3, 4, 4, 1; the repeated 4 is a place already out.
  assert.deepEqual(seen, ['two', 'three', 'four', 'one']);
});

test('the clients of a server that goes are shared out among the others', async (t) => {
  const servers = await startServers(t, 3);
  const balancer = await startBalancer(t, ipHash(servers));
  const addresses = clientAddresses(3000).filter((address) => definedHome(address, 3) === 1);
  balancer.patchUpstream(`127.0.0.1:${servers[1]!.port}`, { adminState: 'maint' });
  const shares = sharesOf(await askEach(balancer.port, forwardedFor(addresses)));
  assert.deepEqual(Object.keys(shares).toSorted(), ['two', 'zero']);
  for (const share of Object.values(shares))
    assert.ok(Math.abs(share / addresses.length - 0.5) < 0.06, JSON.stringify(shares));
});

test('an upgrade goes to the same server as the plain requests of its client', async (t) => {
  const answer = (body: string): string => `HTTP/1.1 200 OK\r\nX-Backend: ${body}\r\nContent-Length: 0\r\n\r\n`;
  const servers = await Promise.all(
    ['zero', 'one', 'two'].map((name) =>
      startScripted(t, (socket) =>
        socket.on('data', (chunk: Buffer) => {
          const upgrade = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\nX-Backend: ${name}\r\n\r\n`;
          socket.write(chunk.includes('Upgrade: x') ? upgrade : answer(name));
        }),
      ),
    ),
  );
  const balancer = await startBalancer(t, site(proxyTo(servers, 'lb_policy ip_hash'), TRUSTED), { workers: 2 });
  for (const address of clientAddresses(12)) {
    const plain = await get(balancer.port, '/', { 'X-Forwarded-For': address });
    const client = await openClient(balancer.port);
    t.after(() => client.close());
    client.send(
      `GET /ws HTTP/1.1\r\nHost: x.test\r\nX-Forwarded-For: ${address}\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n`,
    );
    const upgraded = await client.response();
    assert.deepEqual([upgraded.status, upgraded.header('x-backend')], [101, plain.header('x-backend')]);
    assert.equal(plain.header('x-backend'), NAMES[definedHome(address, 3)]);
  }
});
