/** Floods of datagrams from sources that nobody has seen before. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { test } from 'node:test';
import { Metrics } from '../../src/control-plane/metrics/metrics.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { eventually } from '../support/backend.ts';
import { startPlane } from '../support/plane.ts';
import { udpPeer, udpServer, type UdpPeer } from '../support/udp-peer.ts';
import { udpProxy, udpSite } from '../support/udp-site.ts';

const OPTIONS = { timeout: 120_000 };
const SOURCES = 20_000;
/** Sources that are open at the same time: each is a descriptor of the test. */
const AT_ONCE = 200;

/** One datagram of each of so many sources of 127.0.0.0/8. */
async function flood(count: number, port: number): Promise<void> {
  for (let sent = 0; sent < count; sent += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => sendFrom(addressOf(sent + index), port)));
  }
}

function addressOf(index: number): string {
  return `127.${1 + (index >> 14)}.${(index >> 7) & 127}.${1 + (index & 127)}`;
}

async function sendFrom(address: string, port: number): Promise<void> {
  const socket = createSocket('udp4');
  socket.bind(0, address);
  await once(socket, 'listening');
  await new Promise((resolve) => socket.send('flood', port, '127.0.0.1', resolve));
  socket.close();
}

/** Talks until told to stop; resolves with the number of answers. */
async function talk(client: UdpPeer, port: number, over: () => boolean): Promise<number> {
  let answers = 0;
  for (; !over(); answers += 1) {
    const answer = await client.askUntil(`word ${answers}`, port, (text) => text.endsWith(`word ${answers}`));
    assert.ok(answer.startsWith('s:'));
  }
  return answers;
}

test('20,000 new sources fill the table and no more, and a session that is at home stays', OPTIONS, async (t) => {
  const server = await udpServer(t, 's');
  const options = 'max_sessions 2000\nidle_timeout 60s';
  const { plane, port } = await startPlane(t, udpSite(udpProxy([server.port]), options), { workers: 1 });
  const client = await udpPeer(t);
  await client.ask('first', port);
  await client.ask('second', port);
  const source = server.received[0]!.from.port;
  let flooding = true;
  const talking = talk(client, port, () => !flooding);
  await flood(SOURCES, port);
  flooding = false;
  assert.ok((await talking) > 0);
  const own = server.received.filter(({ data }) => String(data).startsWith('word'));
  assert.deepEqual(new Set(own.map(({ from }) => from.port)), new Set([source]));
  await eventually(() => plane.workers()[0]!.tunnels === 2000, 'the last sessions');
  const page = await new Metrics(plane, systemClock, 'test').text();
  assert.match(page, /holdfast_layer4_limit_hits_total\{[^}]*limit="max_sessions"[^}]*\} [1-9]\d+/);
});

test('5,000 sessions at once are served', OPTIONS, async (t) => {
  const server = await udpServer(t, 's');
  const site = udpSite(udpProxy([server.port]), 'idle_timeout 5m');
  const { plane, port } = await startPlane(t, site, { workers: 1 });
  const clients = await Promise.all(Array.from({ length: 50 }, () => udpPeer(t)));
  for (const client of clients) await client.askUntil('first', port, () => true);
  // A datagram may be lost in a buffer: whoever sends again is another source.
  while (plane.workers()[0]!.tunnels < 5000) await flood(AT_ONCE, port);
  for (const client of clients)
    assert.match(await client.askUntil('second', port, (text) => text === 's:second'), /^s/);
});

test('new_per_second and connections_per_source turn newcomers away, and nobody else', OPTIONS, async (t) => {
  const server = await udpServer(t, 's');
  const options = 'new_per_second 50\nconnections_per_source 3';
  const { plane, port } = await startPlane(t, udpSite(udpProxy([server.port]), options), { workers: 1 });
  const client = await udpPeer(t);
  await client.ask('first', port);
  const began = Date.now();
  await flood(2000, port);
  const seconds = Math.ceil((Date.now() - began) / 1000) + 1;
  assert.equal(String(await client.ask('second', port)), 's:second');
  const sessions = plane.workers()[0]!.tunnels;
  assert.ok(sessions <= 1 + 50 * seconds, `${sessions} sessions in ${seconds} s`);
  const many = await Promise.all(Array.from({ length: 10 }, () => udpPeer(t, '127.200.0.1')));
  // One a while: the second's share may be used up.
  for (const peer of many.slice(0, 3)) await peer.askUntil('x', port, () => true);
  const before = plane.workers()[0]!.tunnels;
  for (const peer of many.slice(3)) peer.send('x', port);
  assert.equal(String(await client.ask('third', port)), 's:third');
  assert.equal(plane.workers()[0]!.tunnels, before);
});
