/** Caddy's HTTP/3 servers behind a balancer: their connection ids are learned from real handshakes. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { readLongHeader } from '../../src/data-plane/layer4/quic-packet.ts';
import { makeAuthority } from '../support/authority.ts';
import { eventually } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { findProgram, freePort, startServer, temporaryFolder, unlessInstalled } from '../support/program.ts';
import { quicShort } from '../support/quic-datagrams.ts';
import { quicInitial } from '../support/quic-initial.ts';
import { udpPeer } from '../support/udp-peer.ts';
import { udpProxy, udpSite } from '../support/udp-site.ts';

const CADDY = findProgram('caddy');
const OPTIONS = { timeout: 90_000, skip: unlessInstalled(CADDY, 'caddy') };
const CLIENT_ID = Buffer.from('c11e0001c11e0001', 'hex');

async function startCaddy(t: TestContext): Promise<number> {
  const folder = await temporaryFolder(t);
  const port = await freePort();
  const leaf = await (await makeAuthority(t)).issue(['shop.test']);
  const config = join(folder, 'Caddyfile');
  const serves = `bind 127.0.0.1\ntls ${leaf.certFile} ${leaf.keyFile}\nrespond "fine"`;
  await writeFile(config, `{\nadmin off\nauto_https off\n}\nhttps://shop.test:${port} {\n${serves}\n}\n`);
  const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  await startServer(t, CADDY!, ['run', '--config', config, '--adapter', 'caddyfile'], port, { env });
  return port;
}

test('a client of Caddy that comes from another port is with its server again', OPTIONS, async (t) => {
  const ports = await Promise.all([startCaddy(t), startCaddy(t), startCaddy(t)]);
  const balancer = await startBalancer(t, udpSite(udpProxy(ports, 'lb_policy quic_cid'), 'idle_timeout 10m'));
  const sessions = (): number[] => balancer.upstreams().map(({ endpoints }) => endpoints[0]!.inFlight);
  const total = (): number => sessions().reduce((sum, count) => sum + count, 0);
  for (let nth = 1; nth <= 9; nth += 1) {
    const before = sessions();
    const answer = await (await udpPeer(t)).ask(quicInitial(randomBytes(8), CLIENT_ID, 'shop.test'), balancer.port);
    const header = readLongHeader(answer);
    assert.equal(header?.version, 1);
    assert.deepEqual(header.destination, CLIENT_ID);
    assert.ok(header.source.length >= 4, 'Caddy names an id of its own');
    const server = sessions().findIndex((count, position) => count > before[position]!);
    (await udpPeer(t)).send(quicShort(header.source, randomBytes(60)), balancer.port);
    await eventually(() => total() === 2 * nth, 'the new address has a session');
    assert.equal(sessions()[server], before[server]! + 2, 'with the server of the connection');
  }
});
