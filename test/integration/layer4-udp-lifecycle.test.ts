/** UDP listeners over reloads, worker faults and the end. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/backend.ts';
import { globals, loadLibrary, startBalancer } from '../support/balance.ts';
import { startPlane } from '../support/plane.ts';
import { udpPeer, udpServer, type UdpPeer, type UdpServer } from '../support/udp-peer.ts';
import { udpProxy, udpSite } from '../support/udp-site.ts';

const OPTIONS = { timeout: 60_000 };
const FAULTY = new URL('../support/faulty-worker.ts', import.meta.url);

/** Two servers of the config, each on an address of its own. */
function twoListeners(first: UdpServer, second: UdpServer): string {
  const block = (server: UdpServer, address: string): string =>
    `udp/${address}:0 {\n route {\n ${udpProxy([server.port])} }\n }\n`;
  return globals(`layer4 {\n${block(first, '127.0.0.1')}${block(second, '127.0.0.2')}}\n`);
}

async function flow(t: TestContext, server: UdpServer, port: number, address = '127.0.0.1'): Promise<UdpPeer> {
  const client = await udpPeer(t);
  await client.ask('hello', port, address);
  assert.equal(server.received.length, 1);
  return client;
}

test('a reload keeps sessions: same server, same source port, also when the pool has changed', OPTIONS, async (t) => {
  const [first, second] = [await udpServer(t, 'first'), await udpServer(t, 'second')];
  const balancer = await startBalancer(t, udpSite(udpProxy([first.port])), { workers: 2 });
  const client = await flow(t, first, balancer.port);
  const source = first.received[0]!.from.port;
  await balancer.reload(udpSite(udpProxy([second.port, first.port], 'lb_policy first')));
  assert.equal(balancer.address().port, balancer.port);
  assert.equal(String(await client.ask('again', balancer.port)), 'first:again');
  assert.equal(first.received[1]!.from.port, source);
  assert.equal(String(await (await udpPeer(t)).ask('new', balancer.port)), 'second:new');
});

test('options of a listener follow a reload', OPTIONS, async (t) => {
  const server = await udpServer(t, 's');
  const balancer = await startBalancer(t, udpSite(udpProxy([server.port])));
  const client = await flow(t, server, balancer.port);
  await balancer.reload(udpSite(udpProxy([server.port]), 'max_sessions 1'));
  await client.ask('mine', balancer.port);
  const other = await udpPeer(t);
  await other.ask('other', balancer.port);
  // One place: whoever comes takes it.
  await client.ask('back', balancer.port);
  assert.equal(new Set(server.received.map(({ from }) => from.port)).size, 3);
});

test('a listener that a reload drops gives its port back', OPTIONS, async (t) => {
  const server = await udpServer(t, 's');
  const balancer = await startBalancer(t, udpSite(udpProxy([server.port])));
  await flow(t, server, balancer.port);
  await balancer.reload(udpSite(udpProxy([server.port]), '', 'udp/127.0.0.3:0'));
  for (;;) if ((await udpPeer(t, '127.0.0.1', balancer.port).catch(() => null)) !== null) break;
});

test('a second instance is refused the port, with file and line', OPTIONS, async (t) => {
  const server = await udpServer(t, 's');
  const first = await startBalancer(t, udpSite(udpProxy([server.port])));
  const { createBalancer } = await loadLibrary();
  const config = udpSite(udpProxy([server.port]), '', `udp/127.0.0.1:${first.port}`);
  await assert.rejects(createBalancer({ config, workers: 1 }), /address already in use.*, at Caddyfile:\d+$/);
  assert.equal(String(await (await udpPeer(t)).ask('x', first.port)), 's:x');
});

test('`workers all` answers in every worker', OPTIONS, async (t) => {
  const server = await udpServer(t, 's');
  const balancer = await startBalancer(t, udpSite(udpProxy([server.port]), 'workers all'), { workers: 2 });
  const clients = await Promise.all(Array.from({ length: 40 }, () => udpPeer(t)));
  for (const client of clients) assert.equal(String(await client.ask('x', balancer.port)), 's:x');
});

test("a worker's death costs its own listener's flows only, and that listener comes back", OPTIONS, async (t) => {
  const [first, second] = [await udpServer(t, 'first'), await udpServer(t, 'second')];
  const { plane, events } = await startPlane(t, twoListeners(first, second), { workers: 2, workerEntry: FAULTY });
  const portOf = (address: string): number => plane.addresses().get(`udp/${address}:0`)!.port;
  const doomed = await flow(t, first, portOf('127.0.0.1'));
  const survivor = await flow(t, second, portOf('127.0.0.2'), '127.0.0.2');
  (await udpPeer(t)).send(' /throw ', portOf('127.0.0.1'));
  await eventually(() => events.some(({ type }) => type === 'worker-crashed'), 'the worker to end');
  assert.equal(String(await survivor.ask('still here', portOf('127.0.0.2'), '127.0.0.2')), 'second:still here');
  assert.equal(second.received[1]!.from.port, second.received[0]!.from.port);
  assert.equal(await doomed.askUntil('again', portOf('127.0.0.1'), () => true), 'first:again');
  assert.notEqual(first.received.at(-1)!.from.port, first.received[0]!.from.port);
});

test('an operator drains a server: its sessions go on, new clients go elsewhere', OPTIONS, async (t) => {
  const [first, second] = [await udpServer(t, 'first'), await udpServer(t, 'second')];
  const config = udpSite(udpProxy([first.port, second.port], 'lb_policy first'));
  const { plane, port } = await startPlane(t, config);
  const client = await flow(t, first, port);
  assert.ok(plane.patchUpstream(`udp/127.0.0.1:${first.port}`, { adminState: 'drain' }));
  assert.equal(String(await (await udpPeer(t)).ask('new', port)), 'second:new');
  assert.equal(String(await client.ask('old', port)), 'first:old');
  assert.ok(plane.patchUpstream(`udp/127.0.0.1:${first.port}`, { adminState: 'maint' }));
  assert.equal(String(await client.ask('old', port)), 'second:old');
});

test('a stop lets sessions run until they are idle, and takes no new ones', OPTIONS, async (t) => {
  const server = await udpServer(t, 's');
  const balancer = await startBalancer(t, udpSite(udpProxy([server.port]), 'idle_timeout 1s'));
  const client = await flow(t, server, balancer.port);
  const stopped = balancer.stop(30_000);
  const stranger = await udpPeer(t);
  for (let round = 0; round < 20; round += 1) {
    assert.equal(String(await client.ask('x', balancer.port)), 's:x');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  stranger.send('y', balancer.port);
  await stopped;
  assert.ok(!server.texts.includes('y'));
});
