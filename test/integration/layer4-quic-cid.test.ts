/** QUIC connections that keep their server while their clients change addresses. The packets say what anybody can read of them. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { globals, startBalancer, type TestBalancer } from '../support/balance.ts';
import { quicLong, quicShort } from '../support/quic-datagrams.ts';
import { udpPeer, udpServer, type UdpPeer, type UdpServer } from '../support/udp-peer.ts';
import { udpProxy, udpServerBlock } from '../support/udp-site.ts';

const OPTIONS = { timeout: 60_000 };
const CLIENT_ID = Buffer.from('c11e0001', 'hex');
const SERVERS = 4;
const ID_BYTES = 8;
/** Length and place of the id that a server gives out in its answer to a handshake. */
const SOURCE_AT = 5 + 1 + CLIENT_ID.length + 1;

/** Answers a handshake with an id of its own, a version it does not know by its list, and anything else with its name. */
function quicServer(t: TestContext, name: string): Promise<UdpServer> {
  return udpServer(t, name, (data) => {
    if ((data[0]! & 0x80) === 0) return Buffer.from(`\x40${name}`, 'latin1');
    const asked = data.subarray(6, 6 + data[5]!);
    if (data.readUInt32BE(1) !== 1) return quicLong(CLIENT_ID, asked, 0, Buffer.from('00000001', 'hex'));
    return quicLong(CLIENT_ID, Buffer.concat([Buffer.from(name), randomBytes(ID_BYTES - 1)]));
  });
}

interface Setting {
  readonly servers: UdpServer[];
  readonly balancer: TestBalancer;
}

function config(servers: readonly UdpServer[], options = ''): string {
  const proxy = udpProxy(
    servers.map(({ port }) => port),
    `lb_policy quic_cid\n${options}`,
  );
  return globals(udpServerBlock(proxy));
}

async function start(t: TestContext): Promise<Setting> {
  const servers = await Promise.all(Array.from({ length: SERVERS }, (_, nth) => quicServer(t, String(nth))));
  return { servers, balancer: await startBalancer(t, config(servers)) };
}

/** The id that the server of a new connection gave out; its first character names the server. */
async function handshake(client: UdpPeer, port: number, initialId = randomBytes(ID_BYTES)): Promise<Buffer> {
  const answer = await client.ask(quicLong(initialId, CLIENT_ID), port);
  return answer.subarray(SOURCE_AT, SOURCE_AT + ID_BYTES);
}

/** The server that answers a packet of a running connection. */
async function say(client: UdpPeer, port: number, id: Buffer): Promise<string> {
  return (await client.ask(quicShort(id, randomBytes(20)), port)).toString('latin1', 1);
}

test(
  'new connections of one address spread over the servers, each by the id that its client made up',
  OPTIONS,
  async (t) => {
    const { balancer } = await start(t);
    const seen = new Set<string>();
    for (let nth = 0; nth < 40; nth += 1) {
      const initialId = randomBytes(ID_BYTES);
      const server = (await handshake(await udpPeer(t), balancer.port, initialId)).toString('latin1', 0, 1);
      const again = await handshake(await udpPeer(t, '127.0.0.77'), balancer.port, initialId);
      assert.equal(again.toString('latin1', 0, 1), server);
      seen.add(server);
    }
    assert.equal(seen.size, SERVERS);
  },
);

test('a client with another port, or another address, stays with the server of its connection', OPTIONS, async (t) => {
  const { balancer } = await start(t);
  const seen = new Set<string>();
  for (let nth = 0; nth < 40; nth += 1) {
    const id = await handshake(await udpPeer(t), balancer.port);
    const server = id.toString('latin1', 0, 1);
    assert.equal(await say(await udpPeer(t), balancer.port, id), server);
    assert.equal(await say(await udpPeer(t, `127.0.1.${nth + 1}`), balancer.port, id), server);
    seen.add(server);
  }
  assert.equal(seen.size, SERVERS);
});

test('the server sees the new address of a client as a new one, so that it can validate it', OPTIONS, async (t) => {
  const { servers, balancer } = await start(t);
  const old = await udpPeer(t);
  const id = await handshake(old, balancer.port);
  const server = servers[Number(id.toString('latin1', 0, 1))]!;
  await say(await udpPeer(t), balancer.port, id);
  assert.equal(new Set(server.received.map(({ from }) => from.port)).size, 2);
  // What the server says to the old address still goes there.
  server.send('to the old one', server.received[0]!.from.port);
  await old.until(() => old.texts.includes('to the old one'));
});

test('a connection is known over a reload, and to a draining server', OPTIONS, async (t) => {
  const { servers, balancer } = await start(t);
  const ids = await Promise.all(Array.from({ length: 12 }, async () => handshake(await udpPeer(t), balancer.port)));
  await balancer.reload(config(servers.toReversed(), 'fail_duration 1s'));
  for (const { port } of servers.slice(0, 2)) balancer.patchUpstream(`udp/127.0.0.1:${port}`, { adminState: 'drain' });
  for (const id of ids) assert.equal(await say(await udpPeer(t), balancer.port, id), id.toString('latin1', 0, 1));
});

test('when its server is gone a known connection is taken by another, by its address', OPTIONS, async (t) => {
  const { servers, balancer } = await start(t);
  const id = await handshake(await udpPeer(t), balancer.port);
  const own = Number(id.toString('latin1', 0, 1));
  balancer.patchUpstream(`udp/127.0.0.1:${servers[own]!.port}`, { adminState: 'maint' });
  assert.notEqual(await say(await udpPeer(t), balancer.port, id), String(own));
});

test('an id that nobody gave out, and what is no QUIC, go by the address of the client', OPTIONS, async (t) => {
  const { servers, balancer } = await start(t);
  const bySource = await startBalancer(
    t,
    globals(
      udpServerBlock(
        udpProxy(
          servers.map(({ port }) => port),
          'lb_policy source_hash',
        ),
      ),
    ),
  );
  for (let host = 1; host <= 10; host += 1) {
    const peer = (): Promise<UdpPeer> => udpPeer(t, `127.0.2.${host}`);
    const expected = await say(await peer(), bySource.port, randomBytes(ID_BYTES));
    assert.equal(await say(await peer(), balancer.port, randomBytes(ID_BYTES)), expected);
    assert.equal((await (await peer()).ask('x', balancer.port)).toString('latin1', 1), expected);
  }
});

test('version negotiation passes through, and teaches nothing', OPTIONS, async (t) => {
  const { balancer } = await start(t);
  const client = await udpPeer(t);
  const initialId = randomBytes(ID_BYTES);
  const answer = await client.ask(quicLong(initialId, CLIENT_ID, 0x1a2a_3a4a), balancer.port);
  assert.equal(answer.readUInt32BE(1), 0);
  assert.deepEqual(answer.subarray(SOURCE_AT, SOURCE_AT + ID_BYTES), initialId);
  const id = await handshake(client, balancer.port);
  assert.equal(await say(client, balancer.port, id), id.toString('latin1', 0, 1));
});
