/** UDP through a balancer: what arrives, where, and what comes back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileClientKeys, DEFAULT_KEY_OPTIONS } from '../../src/data-plane/select/client-key.ts';
import { homeOf } from '../../src/data-plane/select/hash.ts';
import { parseIp } from '../../src/shared/net/ip.ts';
import { startBalancer } from '../support/balance.ts';
import { udpPeer, udpServer } from '../support/udp-peer.ts';
import { udpProxy, udpSite } from '../support/udp-site.ts';

const OPTIONS = { timeout: 60_000 };

test('datagrams of every size go there and back whole', OPTIONS, async (t) => {
  const server = await udpServer(t, '', (data) => data);
  const { port } = await startBalancer(t, udpSite(udpProxy([server.port])));
  const client = await udpPeer(t);
  for (const size of [0, 1, 1472, 1473, 8193, 9000, 65_507]) {
    const data = Buffer.alloc(size, size % 251);
    assert.deepEqual(await client.ask(data, port), data, `${size} bytes`);
  }
});

test('a burst of a new client arrives whole and in order', OPTIONS, async (t) => {
  const server = await udpServer(t, '', (data) => data);
  const { port } = await startBalancer(t, udpSite(udpProxy([server.port])));
  const client = await udpPeer(t);
  for (let number = 0; number < 200; number += 1) client.send(`number ${number}`, port);
  await client.got(200);
  assert.deepEqual(
    client.texts,
    Array.from({ length: 200 }, (_, number) => `number ${number}`),
  );
});

test("two clients of one address never see each other's answers", OPTIONS, async (t) => {
  const server = await udpServer(t, 's');
  const { port } = await startBalancer(t, udpSite(udpProxy([server.port])));
  const clients = [await udpPeer(t), await udpPeer(t)];
  for (let round = 0; round < 50; round += 1)
    clients.forEach((client, index) => client.send(`${index}-${round}`, port));
  for (const [index, client] of clients.entries()) {
    await client.got(50);
    assert.ok(client.texts.every((text) => text.startsWith(`s:${index}-`)));
  }
  // What the server sends unasked finds its way by the port it came from.
  const sources = new Map(server.received.map(({ data, from }) => [String(data).slice(0, 1), from.port]));
  assert.equal(sources.size, 2);
  for (const [index, source] of sources) server.send(`unasked ${index}`, source);
  for (const [index, client] of clients.entries()) {
    await client.got(51);
    assert.equal(client.texts.at(-1), `unasked ${index}`);
  }
});

test('one client address has one server, by the same hash as over HTTP', OPTIONS, async (t) => {
  const servers = [await udpServer(t, '0'), await udpServer(t, '1'), await udpServer(t, '2')];
  const ports = servers.map(({ port }) => port);
  const { port } = await startBalancer(t, udpSite(udpProxy(ports, 'lb_policy ip_hash')));
  const keys = compileClientKeys(DEFAULT_KEY_OPTIONS);
  for (let host = 1; host < 10; host += 1) {
    const address = `127.0.0.${host}`;
    const home = homeOf(keys.hash(parseIp(address)), ports.length);
    for (let flow = 0; flow < 3; flow += 1) {
      assert.equal(String(await (await udpPeer(t, address)).ask('x', port)), `${home}:x`);
    }
  }
});

test('a session moves to another server when its own refuses, and stays there', OPTIONS, async (t) => {
  const [first, second] = [await udpServer(t, 'first'), await udpServer(t, 'second')];
  const { port } = await startBalancer(t, udpSite(udpProxy([first.port, second.port], 'lb_policy first')));
  const client = await udpPeer(t);
  assert.equal(String(await client.ask('a', port)), 'first:a');
  first.close();
  assert.equal(await client.askUntil('b', port, () => true), 'second:b');
  assert.equal(String(await client.ask('c', port)), 'second:c');
});

test('with fail_duration a server that refused gets no new sessions for a while', OPTIONS, async (t) => {
  const [gone, alive] = [await udpServer(t, 'gone'), await udpServer(t, 'alive')];
  const passive = 'lb_policy first\nfail_duration 30s';
  const { port } = await startBalancer(t, udpSite(udpProxy([gone.port, alive.port], passive)));
  const client = await udpPeer(t);
  await client.ask('a', port);
  gone.close();
  assert.equal(await client.askUntil('b', port, () => true), 'alive:b');
  // The strike is set by the control plane: the next clients may come before it.
  for (let lost = 0; ; lost += 1) {
    const before = alive.received.length;
    (await udpPeer(t)).send(`try ${lost}`, port);
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (alive.received.length > before) break;
  }
  for (let round = 0; round < 10; round += 1) assert.equal(String(await (await udpPeer(t)).ask('x', port)), 'alive:x');
});

test('an idle session ends, and the next datagram begins another', OPTIONS, async (t) => {
  const server = await udpServer(t, 's');
  const { port } = await startBalancer(t, udpSite(udpProxy([server.port]), 'idle_timeout 1s'));
  const client = await udpPeer(t);
  await client.ask('a', port);
  const source = server.received[0]!.from.port;
  await client.ask('b', port);
  assert.equal(server.received[1]!.from.port, source);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 1200));
    await client.ask('c', port);
    if (server.received.at(-1)!.from.port !== source) break;
  }
});

test('with `responses 1` every question is a session of its own', OPTIONS, async (t) => {
  const server = await udpServer(t, 's');
  const { port } = await startBalancer(t, udpSite(udpProxy([server.port]), 'responses 1'));
  const client = await udpPeer(t);
  for (let round = 0; round < 20; round += 1) await client.ask('x', port);
  assert.ok(new Set(server.received.map(({ from }) => from.port)).size > 1);
});

test('PROXY v2 names the client on each datagram, or on the first one only', OPTIONS, async (t) => {
  for (const on of ['each', 'first']) {
    const server = await udpServer(t, '', () => Buffer.from('ok'));
    const { port } = await startBalancer(t, udpSite(udpProxy([server.port], `proxy_protocol v2\nproxy_header ${on}`)));
    const client = await udpPeer(t);
    await client.ask('a', port);
    await client.ask('b', port);
    const header = Buffer.from('0d0a0d0a000d0a515549540a2112000c7f0000017f00000100000000', 'hex');
    header.writeUInt16BE(client.port, 24);
    header.writeUInt16BE(port, 26);
    const prefix = header.toString('latin1');
    assert.deepEqual(server.texts, [`${prefix}a`, on === 'each' ? `${prefix}b` : 'b']);
  }
});

test('a PROXY header in front of a datagram names the client that the hash sees', OPTIONS, async (t) => {
  const servers = [await udpServer(t, '0'), await udpServer(t, '1'), await udpServer(t, '2')];
  const ports = servers.map(({ port }) => port);
  const handlers = `proxy_protocol {\nallow 127.0.0.0/8\n}\n${udpProxy(ports, 'lb_policy ip_hash')}`;
  const { port } = await startBalancer(t, udpSite(handlers));
  const keys = compileClientKeys(DEFAULT_KEY_OPTIONS);
  for (let host = 1; host < 10; host += 1) {
    const header = Buffer.from('0d0a0d0a000d0a515549540a2112000cc0000201c000020201020304', 'hex');
    header[19] = host;
    const home = homeOf(keys.hash(parseIp(`192.0.2.${host}`)), ports.length);
    const answer = await (await udpPeer(t)).ask(Buffer.concat([header, Buffer.from('x')]), port);
    assert.equal(String(answer), `${home}:x`);
  }
});

test('echo sends back, and close drops', OPTIONS, async (t) => {
  const routes = '@local remote_ip 127.0.0.1\nroute @local {\necho\n}\n';
  const { port } = await startBalancer(t, udpSite('close', routes));
  const client = await udpPeer(t);
  const stranger = await udpPeer(t, '127.0.0.2');
  stranger.send('hello', port);
  assert.equal(String(await client.ask('hello', port)), 'hello');
  assert.deepEqual(stranger.texts, []);
});

test('IPv6 clients are served by IPv4 servers', OPTIONS, async (t) => {
  const server = await udpServer(t, 's');
  const { port } = await startBalancer(t, udpSite(udpProxy([server.port]), '', 'udp/[::1]:0'));
  const client = await udpPeer(t, '::1');
  assert.equal(String(await client.ask('a', port, '::1')), 's:a');
});
