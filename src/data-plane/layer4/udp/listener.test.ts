import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  FACT_CONNECTIONS,
  FACT_IN_FLIGHT,
  FACT_REQUESTS,
  LIMIT_CONNECTIONS,
  LIMIT_CONNECTIONS_PER_SOURCE,
  LIMIT_MAX_SESSIONS,
  LIMIT_NEW_PER_SECOND,
  MEMBER_DOWN,
  MEMBER_HALF_OPEN,
  MEMBER_MAINT,
  MEMBER_STRIKE,
  SERVER_BYTES_IN,
  SERVER_BYTES_OUT,
  SERVER_CONNECTIONS_ACCEPTED,
  SERVER_DATAGRAMS_DROPPED,
  SERVER_DATAGRAMS_IN,
  SERVER_DATAGRAMS_OUT,
  SERVER_LIMITS,
  SERVER_NO_UPSTREAM,
} from '../../../shared/state-table/layout.ts';
import { settle } from '../../../../test/support/fake-clock.ts';
import { udpPeer, udpServer } from '../../../../test/support/udp-peer.ts';
import { UdpTestWorld } from '../../../../test/support/udp-world.ts';

const TIMEOUT = { timeout: 20_000 };
const UDP = { workers: 'one', maxSessions: 1000, receiveBufferBytes: 212_992, responses: 0 } as const;

const PROXY_FROM_9 = Buffer.from('0d0a0d0a000d0a515549540a2112000c7f0000097f000001c73800357061', 'hex');

const PASSIVE = {
  failDurationMs: 10_000,
  maxFails: 1,
  unhealthyStatus: [],
  unhealthyLatencyMs: 0,
  failRatio: 0,
  minRequests: 0,
};

/** Resolves when `holds` does: the kernel delivers on loopback at once, the event loop a turn or two later. */
async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) await settle();
}

test('datagrams of every size go there and back whole, one for one', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const server = await udpServer(t, '', (data) => data);
  const { port } = world.listen(t, world.proxy(world.pool([{ port: server.port, row: 1 }])));
  const client = await udpPeer(t);
  const sizes = [0, 1, 1472, 1473, 8193, 9001, 65_507];
  for (const size of sizes) {
    const data = Buffer.alloc(size, size % 251);
    assert.deepEqual(await client.ask(data, port), data, `${size} bytes`);
  }
  assert.equal(server.received.length, sizes.length);
  assert.equal(world.total(SERVER_DATAGRAMS_IN), sizes.length);
  assert.equal(world.total(SERVER_DATAGRAMS_OUT), sizes.length);
  assert.equal(world.total(SERVER_BYTES_IN), world.total(SERVER_BYTES_OUT));
  assert.equal(world.total(SERVER_CONNECTIONS_ACCEPTED), 1);
});

test('each client has a source port of its own at the server, and hears only what it asked for', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const server = await udpServer(t, 's');
  const { port, listener } = world.listen(t, world.proxy(world.pool([{ port: server.port, row: 1 }])));
  const clients = [await udpPeer(t), await udpPeer(t)];
  for (let round = 0; round < 50; round += 1)
    clients.forEach((client, index) => client.send(`${index}-${round}`, port));
  for (const [index, client] of clients.entries()) {
    await client.got(50);
    assert.ok(client.texts.every((text) => text.startsWith(`s:${index}-`)));
    assert.ok(client.received.every(({ from }) => from.port === port));
  }
  assert.equal(new Set(server.received.map(({ from }) => from.port)).size, 2);
  assert.equal(listener.sessions, 2);
});

test("a stranger's datagram to the upstream side goes nowhere", TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const server = await udpServer(t, 's');
  const { port } = world.listen(t, world.proxy(world.pool([{ port: server.port, row: 1 }])));
  const client = await udpPeer(t);
  await client.ask('a', port);
  const stranger = await udpPeer(t);
  stranger.send('boo', server.received[0]!.from.port);
  assert.equal(String(await client.ask('b', port)), 's:b');
  assert.deepEqual(client.texts, ['s:a', 's:b']);
});

test('a session ends when nothing passed for the idle timeout, and not before', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const server = await udpServer(t, 's');
  const { port, listener } = world.listen(t, world.proxy(world.pool([{ port: server.port, row: 1 }])));
  const client = await udpPeer(t);
  await client.ask('a', port);
  await world.clock.advance(15_000);
  // Traffic of the server counts, too.
  server.send('news', server.received[0]!.from.port);
  await client.got(2);
  await world.clock.advance(19_000);
  assert.equal(listener.sessions, 1);
  assert.equal(world.table.facts(0).load(1, FACT_IN_FLIGHT), 1);
  await world.clock.advance(1200);
  assert.equal(listener.sessions, 0);
  assert.equal(world.table.facts(0).load(1, FACT_IN_FLIGHT), 0);
  assert.equal(world.table.facts(0).load(1, FACT_CONNECTIONS), 0);
  assert.equal(world.active.get(1), 0);
});

test('who takes the port of a client over shares its session until that has ended', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const server = await udpServer(t, 's');
  const { port } = world.listen(t, world.proxy(world.pool([{ port: server.port, row: 1 }])));
  const first = await udpPeer(t);
  const own = first.port;
  await first.ask('a', port);
  first.socket.close();
  const second = await udpPeer(t, '127.0.0.1', own);
  await second.ask('b', port);
  await world.clock.advance(21_000);
  await second.ask('c', port);
  const sources = server.received.map(({ from }) => from.port);
  assert.equal(sources[0], sources[1]);
  assert.notEqual(sources[1], sources[2]);
});

test('of many sessions only the silent ones end', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const server = await udpServer(t, 's');
  const { port, listener } = world.listen(t, world.proxy(world.pool([{ port: server.port, row: 1 }])));
  const [quiet, busy] = [await udpPeer(t), await udpPeer(t)];
  await quiet.ask('a', port);
  for (let round = 0; round < 5; round += 1) {
    await busy.ask('b', port);
    await world.clock.advance(6000);
  }
  assert.equal(listener.sessions, 1);
  const before = server.received.at(-1)!.from.port;
  await busy.ask('b', port);
  assert.equal(server.received.at(-1)!.from.port, before);
});

test(
  'with `responses 1` a session ends with the answer, and waits for as many as were asked for',
  TIMEOUT,
  async (t) => {
    const world = new UdpTestWorld();
    const held: (() => void)[] = [];
    const server = await udpPeer(t);
    server.socket.on('message', (data, from) => held.push(() => server.send(data, from.port)));
    const plan = world.proxy(world.pool([{ port: server.port, row: 1 }]), { udp: { ...UDP, responses: 1 } });
    const { port, listener } = world.listen(t, plan);
    const client = await udpPeer(t);
    client.send('one', port);
    client.send('two', port);
    await server.got(2);
    held[0]!();
    await client.got(1);
    assert.equal(listener.sessions, 1);
    held[1]!();
    await client.got(2);
    assert.equal(listener.sessions, 0);
  },
);

test('a refusal is told, and the next datagram goes to another server', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const gone = await udpServer(t, 'gone');
  const alive = await udpServer(t, 'alive');
  const pool = world.pool(
    [
      { port: gone.port, row: 1 },
      { port: alive.port, row: 2 },
    ],
    { passive: PASSIVE },
  );
  const { port, listener } = world.listen(t, world.proxy(pool));
  const client = await udpPeer(t);
  await client.ask('a', port);
  gone.close();
  client.send('b', port);
  await eventually(() => world.refused.length > 0);
  assert.deepEqual(world.refused, [1]);
  assert.deepEqual(world.passive, ['p 1 failed']);
  assert.equal(String(await client.ask('c', port)), 'alive:c');
  assert.equal(listener.sessions, 1);
  assert.equal(world.table.facts(0).load(1, FACT_IN_FLIGHT), 0);
  assert.equal(world.table.facts(0).load(2, FACT_IN_FLIGHT), 1);
  assert.equal(world.table.facts(0).total(2, FACT_REQUESTS), 1);
});

test(
  'where nobody else is, a session stays with the server that refused, and is answered when that is back',
  TIMEOUT,
  async (t) => {
    const world = new UdpTestWorld();
    const server = await udpServer(t, 'first');
    const serverPort = server.port;
    const { port } = world.listen(t, world.proxy(world.pool([{ port: serverPort, row: 1 }])));
    const client = await udpPeer(t);
    await client.ask('a', port);
    server.close();
    client.send('b', port);
    await eventually(() => world.refused.length > 0);
    client.send('c', port);
    await eventually(() => world.refused.length > 1);
    await udpServer(t, 'second', undefined, serverPort);
    assert.match(await client.askUntil('d', port, (text) => text.startsWith('second')), /^second:d/);
    assert.equal(world.table.facts(0).load(1, FACT_CONNECTIONS), 1);
  },
);

test(
  'a server that is down keeps a session as long as it answers, and loses it when it has been silent',
  TIMEOUT,
  async (t) => {
    const world = new UdpTestWorld();
    let answers = true;
    const first = await udpServer(t, 'first', (data) =>
      answers ? Buffer.concat([Buffer.from('first:'), data]) : null,
    );
    const second = await udpServer(t, 'second');
    const pool = world.pool([
      { port: first.port, row: 1 },
      { port: second.port, row: 2 },
    ]);
    const { port } = world.listen(t, world.proxy(pool));
    const client = await udpPeer(t);
    await client.ask('a', port);
    world.setMember(1, MEMBER_DOWN);
    assert.equal(String(await client.ask('b', port)), 'first:b');
    const stranger = await udpPeer(t);
    assert.equal(String(await stranger.ask('x', port)), 'second:x');
    answers = false;
    await world.clock.advance(1500);
    assert.equal(String(await client.ask('c', port)), 'second:c');
  },
);

test('a server that never answers passes its passive checks by not refusing for a while', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const silent = await udpPeer(t);
  const pool = world.pool([{ port: silent.port, row: 1 }], { passive: PASSIVE });
  const { port } = world.listen(t, world.proxy(pool));
  // Struck, and its time is over: the next session tests it.
  world.table.members.store(1, MEMBER_STRIKE, 7);
  world.setMember(1, MEMBER_HALF_OPEN);
  const client = await udpPeer(t);
  client.send('a', port);
  await silent.got(1);
  assert.deepEqual(world.passive, []);
  await world.clock.advance(1500);
  client.send('b', port);
  await silent.got(2);
  assert.deepEqual(world.passive, ['p 1 passed']);
});

test('maintenance turns everybody away at once', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const server = await udpServer(t, 's');
  const { port } = world.listen(t, world.proxy(world.pool([{ port: server.port, row: 1 }])));
  const client = await udpPeer(t);
  await client.ask('a', port);
  world.setMember(1, MEMBER_MAINT);
  client.send('b', port);
  await eventually(() => world.total(SERVER_NO_UPSTREAM) === 1);
  assert.equal(world.table.facts(0).load(1, FACT_IN_FLIGHT), 0);
  assert.deepEqual(server.texts, ['a']);
});

test('sessions of a slot that is cut end, and their clients go elsewhere', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const [first, second] = [await udpServer(t, 'first'), await udpServer(t, 'second')];
  const pool = world.pool([
    { port: first.port, row: 1 },
    { port: second.port, row: 2 },
  ]);
  const { port, listener } = world.listen(t, world.proxy(pool));
  const client = await udpPeer(t);
  await client.ask('a', port);
  world.setMember(1, MEMBER_MAINT);
  listener.cutSlots(new Set([1]));
  assert.equal(listener.sessions, 0);
  assert.equal(String(await client.ask('b', port)), 'second:b');
});

test('a flood of new clients is capped and counted, and a client that is at home stays', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const server = await udpServer(t, 's');
  const plan = world.proxy(world.pool([{ port: server.port, row: 1 }]), { udp: { ...UDP, maxSessions: 10 } });
  const { port, listener } = world.listen(t, plan);
  const client = await udpPeer(t);
  await client.ask('a', port);
  await client.ask('b', port);
  const own = server.received.at(-1)!.from.port;
  for (let flood = 0; flood < 40; flood += 1) await (await udpPeer(t)).ask('x', port);
  assert.equal(listener.sessions, 10);
  assert.equal(world.total(SERVER_LIMITS + LIMIT_MAX_SESSIONS), 31);
  await client.ask('c', port);
  assert.equal(server.received.at(-1)!.from.port, own);
});

test('listeners share the descriptors: a flood of one leaves the sessions of another alone', TIMEOUT, async (t) => {
  const world = new UdpTestWorld(40);
  const server = await udpServer(t, 's');
  const plan = world.proxy(world.pool([{ port: server.port, row: 1 }]));
  const layer4Of = new Map(['udp/:1', 'udp/:2'].map((key) => [key, plan.server]));
  const both = { ...plan, generation: { ...plan.generation, layer4Of } };
  const flooded = world.listen(t, both);
  const quiet = world.listen(t, both);
  for (let flood = 0; flood < 50; flood += 1) await (await udpPeer(t)).ask('x', flooded.port);
  assert.equal(flooded.listener.sessions, 30);
  for (let client = 0; client < 12; client += 1) await (await udpPeer(t)).ask('x', quiet.port);
  assert.equal(quiet.listener.sessions, 10);
  assert.equal(flooded.listener.sessions, 30);
  quiet.listener.close();
  for (let flood = 0; flood < 5; flood += 1) await (await udpPeer(t)).ask('x', flooded.port);
  assert.equal(flooded.listener.sessions, 30, 'one of two sockets never has all');
});

test(
  'limits on sessions, on those of one source and on new ones a second are exact, and counted',
  TIMEOUT,
  async (t) => {
    const world = new UdpTestWorld();
    const server = await udpServer(t, 's');
    const pool = world.pool([{ port: server.port, row: 1 }]);
    const limits = { limits: { total: 3, perSource: 2 }, newPerSecond: 4 };
    const { port, listener } = world.listen(t, world.proxy(pool, limits));
    for (let one = 0; one < 3; one += 1) (await udpPeer(t)).send('x', port);
    await eventually(() => world.total(SERVER_LIMITS + LIMIT_CONNECTIONS_PER_SOURCE) === 1);
    assert.equal(listener.sessions, 2);
    const other = await udpPeer(t, '127.0.0.9');
    await other.ask('y', port);
    const last = await udpPeer(t, '127.0.0.10');
    last.send('z', port);
    await eventually(() => world.total(SERVER_LIMITS + LIMIT_NEW_PER_SECOND) === 1);
    await world.clock.advance(1000);
    last.send('z', port);
    await eventually(() => world.total(SERVER_LIMITS + LIMIT_CONNECTIONS) === 1);
    assert.equal(listener.sessions, 3);
    assert.equal(world.total(SERVER_DATAGRAMS_DROPPED), 3);
  },
);

test('with a PROXY header each datagram says who sent it, or only the first one', TIMEOUT, async (t) => {
  const header = (port: number, listener: number): string => {
    const bytes = Buffer.from('0d0a0d0a000d0a515549540a2112000c7f0000017f00000100000000', 'hex');
    bytes.writeUInt16BE(port, 24);
    bytes.writeUInt16BE(listener, 26);
    return bytes.toString('latin1');
  };
  for (const on of ['each', 'first'] as const) {
    const world = new UdpTestWorld();
    const server = await udpServer(t, '', () => Buffer.from('ok'));
    const pool = world.pool([{ port: server.port, row: 1 }], { transport: { proxyProtocol: 'v2' } });
    const { port } = world.listen(t, world.proxy(pool, {}, 1, on));
    const client = await udpPeer(t);
    await client.ask('a', port);
    await client.ask('', port);
    const prefix = header(client.port, port);
    assert.deepEqual(server.texts, [`${prefix}a`, on === 'each' ? prefix : '']);
  }
});

test('a datagram that has no room left for its PROXY header is dropped and counted', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const server = await udpServer(t, 's');
  const pool = world.pool([{ port: server.port, row: 1 }], { transport: { proxyProtocol: 'v2' } });
  const { port } = world.listen(t, world.proxy(pool));
  const client = await udpPeer(t);
  client.send(Buffer.alloc(65_507), port);
  await eventually(() => world.total(SERVER_DATAGRAMS_DROPPED) === 1);
});

test('echo answers its sender, close nobody, and neither keeps a session', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const pool = world.pool([]);
  const echo = world.listen(t, world.plan([{ handler: 'echo' }], pool));
  const client = await udpPeer(t);
  assert.equal(String(await client.ask('hello', echo.port)), 'hello');
  const close = world.listen(t, world.plan([{ handler: 'close' }], pool));
  client.send('hello', close.port);
  await eventually(() => world.total(SERVER_DATAGRAMS_DROPPED) === 1);
  assert.equal(echo.listener.sessions + close.listener.sessions, 0);
});

test('another config keeps the sessions of servers it still has, under its own number', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const [first, second] = [await udpServer(t, 'first'), await udpServer(t, 'second')];
  const before = world.pool([{ port: first.port, row: 1 }]);
  const { port, listener } = world.listen(t, world.proxy(before));
  const client = await udpPeer(t);
  await client.ask('a', port);
  const source = first.received[0]!.from.port;
  const after = world.pool(
    [
      { port: second.port, row: 2 },
      { port: first.port, row: 1 },
    ],
    { hash: 'q' },
  );
  listener.follow(world.proxy(after, {}, 2));
  assert.deepEqual([world.active.get(1), world.active.get(2)], [0, 1]);
  assert.equal(String(await client.ask('b', port)), 'first:b');
  assert.equal(first.received[1]!.from.port, source);
});

test('a session whose server the config does not have any more goes on while that answers', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  let answers = true;
  const first = await udpServer(t, 'first', (data) => (answers ? Buffer.concat([Buffer.from('first:'), data]) : null));
  const second = await udpServer(t, 'second');
  const { port, listener } = world.listen(t, world.proxy(world.pool([{ port: first.port, row: 1 }])));
  const client = await udpPeer(t);
  await client.ask('a', port);
  listener.follow(world.proxy(world.pool([{ port: second.port, row: 2 }], { hash: 'q' }), {}, 2));
  assert.equal(String(await client.ask('b', port)), 'first:b');
  assert.equal(world.active.get(1), 1);
  answers = false;
  await world.clock.advance(1500);
  assert.equal(String(await client.ask('c', port)), 'second:c');
  assert.equal(world.active.get(1), 0);
});

test('a client that the new routes lead nowhere loses its session at once', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const server = await udpServer(t, 's');
  const pool = world.pool([{ port: server.port, row: 1 }]);
  const { port, listener } = world.listen(t, world.proxy(pool));
  const client = await udpPeer(t);
  await client.ask('a', port);
  listener.follow(world.plan([{ handler: 'close' }], pool, {}, 2));
  assert.equal(listener.sessions, 0);
  assert.equal(world.active.get(1), 0);
});

test('a listener that drains takes no new clients and serves those it has', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const server = await udpServer(t, 's');
  const { port, listener } = world.listen(t, world.proxy(world.pool([{ port: server.port, row: 1 }])));
  const client = await udpPeer(t);
  await client.ask('a', port);
  listener.draining = true;
  (await udpPeer(t)).send('x', port);
  await eventually(() => world.total(SERVER_DATAGRAMS_DROPPED) === 1);
  assert.equal(String(await client.ask('b', port)), 's:b');
});

test('whatever is sent as a PROXY header, nothing throws and the next one is heard', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const receive = { handler: 'proxy_protocol', allow: [], timeoutMs: 5000 } as const;
  const { port } = world.listen(t, world.plan([receive, { handler: 'echo' }], world.pool([])));
  const client = await udpPeer(t);
  const junk = fc.sample(fc.uint8Array({ maxLength: 64 }), 200).map((bytes) => Buffer.from(bytes));
  for (const bytes of junk) {
    client.send(bytes, port);
    client.send(Buffer.concat([PROXY_FROM_9.subarray(0, 12), bytes]), port);
  }
  await eventually(() => world.total(SERVER_DATAGRAMS_IN) === 2 * junk.length);
  const [answer] = [await client.ask(PROXY_FROM_9, port)];
  assert.ok(answer.length > 0);
});

test('a receive buffer that the kernel does not give is told once', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const pool = world.pool([]);
  const plan = world.proxy(pool, { udp: { ...UDP, receiveBufferBytes: 1_073_741_823 } });
  const { listener } = world.listen(t, plan);
  listener.follow(plan);
  assert.equal(world.warnings.length, 1);
  assert.match(world.warnings[0]!, /receive buffer of \d+ bytes instead of 1073741823.*rmem_max/);
});

test('a PROXY header on a datagram names the client, and what follows it is the datagram', TIMEOUT, async (t) => {
  const world = new UdpTestWorld();
  const server = await udpServer(t, 's');
  const pool = world.pool([{ port: server.port, row: 1 }], { transport: { proxyProtocol: 'v2' } });
  const receive = { handler: 'proxy_protocol', allow: ['127.0.0.1'], timeoutMs: 5000 } as const;
  const proxy = { handler: 'proxy', pool: 'p', proxyHeaderOn: 'each' } as const;
  const { port } = world.listen(t, world.plan([receive, proxy], pool));
  const client = await udpPeer(t);
  client.send(PROXY_FROM_9, port);
  client.send('plain', port);
  await server.got(2);
  assert.equal(server.texts[0], PROXY_FROM_9.toString('latin1'));
  assert.equal(server.texts[1], `${PROXY_FROM_9.toString('latin1', 0, 28)}plain`);
  // One who has to send a header and does not is not heard; one who need not is.
  (await udpPeer(t)).send('nobody', port);
  (await udpPeer(t, '127.0.0.2')).send('trusted', port);
  await server.got(3);
  assert.match(server.texts[2]!, /trusted$/);
  assert.equal(world.total(SERVER_DATAGRAMS_DROPPED), 1);
});
