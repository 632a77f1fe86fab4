/** Who the client is, as servers, access lines and policies see it. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startBackend, eventually, type Backend } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { ask, get, openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

const TRUST = 'trusted_proxies static 10.0.0.0/8 127.0.0.1/32\n\t\ttrusted_proxies_strict';
/** Not in trusted_proxies. */
const STRANGER = '127.0.0.2';

interface World {
  readonly balancer: TestBalancer;
  readonly server: Backend;
  /** Sends one request with these header lines and returns what the server received, lower-case name → values. */
  receive(lines: readonly string[], from?: string): Promise<Record<string, string[] | undefined>>;
}

async function startWorld(t: TestContext, servers: string = TRUST, bind = '127.0.0.1', options = ''): Promise<World> {
  const server = await startBackend(t, 'one');
  const config = site(proxyTo([server], `header_up X-Client {client_ip}\n${options}`), { servers, bind });
  const balancer = await startBalancer(t, config);
  return {
    balancer,
    server,
    receive: async (lines, from) => {
      const head = ['GET / HTTP/1.1', 'Host: shop.example', ...lines, 'Connection: close'].join('\r\n');
      const response = await ask(balancer.port, `${head}\r\n\r\n`, from);
      assert.equal(response.status, 200);
      return server.requests.at(-1)!.headersDistinct;
    },
  };
}

async function lastLine({ balancer, server }: World): Promise<Record<string, unknown>> {
  await eventually(() => balancer.accessLines.length === server.requests.length, 'the access line');
  return balancer.accessLines.at(-1)!;
}

test('what a stranger says about addresses, scheme and host is replaced', async (t) => {
  const world = await startWorld(t);
  const forged = [
    'X-Forwarded-For: 1.2.3.4',
    'X-Forwarded-For: 5.6.7.8',
    'X-Forwarded-Proto: https',
    'X-Forwarded-Host: evil.example',
  ];
  const received = await world.receive(forged, STRANGER);
  assert.deepEqual(received['x-client'], [STRANGER]);
  assert.deepEqual(received['x-forwarded-for'], [STRANGER]);
  assert.deepEqual(received['x-forwarded-proto'], ['http']);
  assert.deepEqual(received['x-forwarded-host'], ['shop.example']);
  const { client, peer } = await lastLine(world);
  assert.deepEqual([client, peer], [STRANGER, STRANGER]);
});

test('naming forwarding headers in Connection does not smuggle the forged ones through', async (t) => {
  const world = await startWorld(t);
  const lines = [
    'Connection: X-Forwarded-Proto, X-Forwarded-For',
    'X-Forwarded-Proto: https',
    'X-Forwarded-For: 1.2.3.4',
  ];
  const received = await world.receive(lines, STRANGER);
  assert.deepEqual(received['x-forwarded-proto'], ['http']);
  assert.deepEqual(received['x-forwarded-for'], [STRANGER]);
});

test('of a trusted list the right-most address that is not trusted is the client, in one line or in two', async (t) => {
  const world = await startWorld(t);
  for (const lines of [
    ['X-Forwarded-For: 6.6.6.6, 203.0.113.9, 10.0.0.7'],
    ['X-Forwarded-For: 6.6.6.6', 'X-Other: x', 'x-forwarded-for: 203.0.113.9, 10.0.0.7'],
  ]) {
    const received = await world.receive(lines);
    assert.deepEqual(received['x-client'], ['203.0.113.9']);
    assert.deepEqual(received['x-forwarded-for'], ['6.6.6.6, 203.0.113.9, 10.0.0.7, 127.0.0.1']);
    const { client, peer } = await lastLine(world);
    assert.deepEqual([client, peer], ['203.0.113.9', '127.0.0.1']);
  }
});

test('when every hop is trusted the left-most one is the client', async (t) => {
  const world = await startWorld(t);
  const received = await world.receive(['X-Forwarded-For: 10.9.9.9, 10.0.0.7']);
  assert.deepEqual(received['x-client'], ['10.9.9.9']);
});

test('the documented example: 10.0.0.0/24 is trusted, an inner network is not', async (t) => {
  const world = await startWorld(t, 'trusted_proxies static 10.0.0.0/24 127.0.0.1');
  const received = await world.receive(['X-Forwarded-For: 203.0.113.5, 172.16.0.22, 10.0.0.10']);
  assert.deepEqual(received['x-client'], ['172.16.0.22']);
});

test('a trusted proxy may name scheme and host', async (t) => {
  const world = await startWorld(t);
  const received = await world.receive([
    'X-Forwarded-For: 203.0.113.9',
    'X-Forwarded-Proto: https',
    'X-Forwarded-Host: www.example',
  ]);
  assert.deepEqual(received['x-forwarded-proto'], ['https']);
  assert.deepEqual(received['x-forwarded-host'], ['www.example']);
});

test('client_ip_headers names another header, and then X-Forwarded-For names nobody', async (t) => {
  const world = await startWorld(t, `${TRUST}\n\t\tclient_ip_headers X-Real-IP`);
  const received = await world.receive(['X-Real-IP: 198.51.100.12', 'X-Forwarded-For: 203.0.113.9']);
  assert.deepEqual(received['x-client'], ['198.51.100.12']);
});

/** Entry → client, and the list a server gets. Junk ends both: what is left of it nobody trusted has said. */
const SPELLINGS: readonly (readonly [entry: string, client: string, list: string])[] = [
  ['203.0.113.9:55123', '203.0.113.9', '203.0.113.9, 127.0.0.1'],
  ['[2001:db8::1]', '2001:db8::1', '2001:db8::1, 127.0.0.1'],
  ['[2001:db8::1]:443', '2001:db8::1', '2001:db8::1, 127.0.0.1'],
  ['2001:DB8:0:0:0:0:0:1', '2001:db8::1', '2001:db8::1, 127.0.0.1'],
  ['::ffff:203.0.113.9', '203.0.113.9', '203.0.113.9, 127.0.0.1'],
  ['fe80::1%eth0', 'fe80::1', 'fe80::1, 127.0.0.1'],
  ['unknown', '127.0.0.1', '127.0.0.1'],
  ['203.0.113.9 ,10.0.0.7', '203.0.113.9', '203.0.113.9, 10.0.0.7, 127.0.0.1'],
  ['2001:db8::1:443', '2001:db8::1:443', '2001:db8::1:443, 127.0.0.1'],
  ['1.2.3.4.5', '127.0.0.1', '127.0.0.1'],
  ['', '127.0.0.1', '127.0.0.1'],
  ['010.0.0.1', '127.0.0.1', '127.0.0.1'],
  ['6.6.6.6, unknown, 10.0.0.7', '10.0.0.7', '10.0.0.7, 127.0.0.1'],
  ['6.6.6.6, 010.0.0.1', '127.0.0.1', '127.0.0.1'],
];

test('a dual-stack listener knows IPv4 peers by their own address, and every spelling of a hop', async (t) => {
  const world = await startWorld(t, 'trusted_proxies static 127.0.0.1/32 10.0.0.0/8', '[::]');
  for (const [entry, client, list] of SPELLINGS) {
    const received = await world.receive([`X-Forwarded-For: ${entry}`]);
    assert.deepEqual(received['x-client'], [client], entry);
    assert.deepEqual(received['x-forwarded-for'], [list], entry);
    const line = await lastLine(world);
    assert.deepEqual([line['client'], line['peer']], [client, '127.0.0.1'], entry);
  }
  const stranger = await world.receive(['X-Forwarded-For: 203.0.113.9'], STRANGER);
  assert.deepEqual(stranger['x-client'], [STRANGER], 'unmapped before it is compared with trusted_proxies');
});

test('over IPv6 the peer is the IPv6 address', async (t) => {
  const world = await startWorld(t, TRUST, '[::]');
  const client = await openClient(world.balancer.port, '::1', '::1');
  t.after(() => client.close());
  await client.send('GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n').response();
  assert.deepEqual(world.server.requests[0]!.headersDistinct['x-forwarded-for'], ['::1']);
  assert.equal((await lastLine(world))['peer'], '::1');
});

test('the spelling of an address decides over no server', async (t) => {
  const servers = await Promise.all(['zero', 'one', 'two'].map((name) => startBackend(t, name)));
  const config = site(proxyTo(servers, 'lb_policy ip_hash'), { servers: TRUST, bind: '[::]' });
  const balancer = await startBalancer(t, config, { workers: 2 });
  const spellings = [
    '203.0.113.5',
    '203.0.113.5:4711',
    '::ffff:203.0.113.5',
    '::FFFF:CB00:7105',
    '[::ffff:203.0.113.5]:80',
    ' 203.0.113.5 , 10.1.2.3',
  ];
  for (const spelling of spellings) {
    assert.equal((await get(balancer.port, '/', { 'X-Forwarded-For': spelling })).body, 'one', spelling);
  }
});

test('trusted_proxies of one reverse_proxy lets its peer speak to the servers, but does not make another client', async (t) => {
  const world = await startWorld(t, 'trusted_proxies static 192.0.2.0/24', '127.0.0.1', 'trusted_proxies 127.0.0.2/32');
  const received = await world.receive(['X-Forwarded-For: 203.0.113.9', 'X-Forwarded-Proto: https'], STRANGER);
  assert.deepEqual(received['x-forwarded-for'], [`203.0.113.9, ${STRANGER}`]);
  assert.deepEqual(received['x-forwarded-proto'], ['https']);
  assert.deepEqual(received['x-client'], [STRANGER]);
});
