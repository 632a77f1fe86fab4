/** PROXY headers in front of TCP connections, sent and received. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connect } from 'node:tls';
import { parseIp } from '../../src/shared/net/ip.ts';
import { proxyHeader } from '../../src/shared/net/proxy-header.ts';
import { readProxyHeader } from '../../src/shared/net/proxy-header-reader.ts';
import { eventually, startScripted } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { layer4, proxyRoute } from '../support/layer4-site.ts';
import { connectTo } from '../support/tcp-world.ts';

const OPTIONS = { timeout: 60_000, concurrency: true };
const RECEIVE = '        proxy_protocol {\n          allow 127.0.0.0/16\n          timeout 500ms\n        }';

/** Types and values of the TLVs behind the addresses of IPv4. */
function tlvsOf(header: Buffer): ReadonlyMap<number, string> {
  const tlvs = new Map<number, string>();
  for (let at = 28; at < header.length;) {
    const end = at + 3 + header.readUInt16BE(at + 1);
    tlvs.set(header[at]!, header.toString('latin1', at + 3, end));
    at = end;
  }
  return tlvs;
}

describe('sent', OPTIONS, () => {
  test('a server that speaks first gets it before the client says anything', async (t) => {
    const upstream = await startScripted(t, (socket) => socket.write('hello'));
    const { port } = await startBalancer(t, layer4(proxyRoute([upstream.port], 'proxy_protocol v1')));
    const client = await connectTo(t, port, '127.0.9.9');
    await client.until(() => client.received === 'hello');
    const expected = `PROXY TCP4 127.0.9.9 127.0.0.1 ${client.socket.localPort} ${port}\r\n`;
    await eventually(() => upstream.received[0] === expected, 'the header');
  });

  test('version 2 with a checksum, an id for each connection, the name asked for, and a value of the config', async (t) => {
    const upstream = await startScripted(t, () => {});
    const { port } = await startBalancer(
      t,
      layer4(`      @db tls sni db.example
      route @db {
        proxy 127.0.0.1:${upstream.port} {
          proxy_protocol v2 {
            crc32c
            unique_id
            authority
            tlv 0xe1 "\\x01vpc-1"
          }
        }
      }`),
    );
    for (let nth = 0; nth < 2; nth += 1) {
      const client = connect({ host: '127.0.0.1', port, servername: 'db.example', rejectUnauthorized: false });
      client.on('error', () => {});
      t.after(() => client.destroy());
    }
    const read = (nth: number) => readProxyHeader(Buffer.from(upstream.received[nth] ?? '', 'latin1'), 'stream');
    await eventually(() => [0, 1].every((nth) => upstream.received[nth]?.includes('db.example', 200)), 'both');
    const ids = new Set<string | undefined>();
    for (const nth of [0, 1]) {
      const header = read(nth);
      assert.ok(typeof header !== 'string', 'whole, and its checksum is right');
      assert.equal(header.ends?.destinationPort, port);
      const tlvs = tlvsOf(Buffer.from(upstream.received[nth]!, 'latin1').subarray(0, header.length));
      assert.deepEqual([tlvs.get(2), tlvs.get(0xe1)], ['db.example', '\x01vpc-1']);
      assert.equal(upstream.received[nth]!.charCodeAt(header.length), 0x16, 'the ClientHello follows');
      ids.add(tlvs.get(5));
    }
    assert.equal(ids.size, 2);
  });
});

describe('received', OPTIONS, () => {
  const source = parseIp('203.0.113.5')!;
  const ends = { client: source, peer: source, peerPort: 4711, localAddress: '198.51.100.1', localPort: 3306 };

  for (const version of ['v1', 'v2'] as const) {
    test(`${version}, byte by byte: the next server hears of the client it names`, async (t) => {
      const upstream = await startScripted(t, () => {});
      const config = layer4(proxyRoute([upstream.port], 'proxy_protocol v1', RECEIVE));
      const { port } = await startBalancer(t, config);
      const client = await connectTo(t, port);
      for (const byte of `${proxyHeader(version, ends)}data`) {
        client.send(byte);
        await new Promise((resolve) => setImmediate(resolve));
      }
      const expected = 'PROXY TCP4 203.0.113.5 198.51.100.1 4711 3306\r\ndata';
      await eventually(() => upstream.received[0] === expected, 'header and payload');
    });
  }

  test('ip_hash counts the client it names', async (t) => {
    const servers = await Promise.all([0, 1, 2].map((nth) => startScripted(t, (socket) => socket.write(`${nth}`))));
    const ports = servers.map(({ port }) => port);
    const { port } = await startBalancer(t, layer4(proxyRoute(ports, 'lb_policy ip_hash', RECEIVE)));
    const homes = { '203.0.113.5': '1', '198.51.100.12': '0', '103.10.20.30': '2' };
    for (const [address, home] of Object.entries(homes)) {
      const client = await connectTo(t, port);
      client.send(`PROXY TCP4 ${address} 127.0.0.1 1 2\r\n`);
      await client.until(() => client.received !== '');
      assert.equal(client.received, home, address);
    }
  });

  test('none, a broken one, or half of one: reset, counted, and no server is bothered', async (t) => {
    const upstream = await startScripted(t, () => {});
    const balancer = await startBalancer(t, layer4(proxyRoute([upstream.port], '', RECEIVE)));
    for (const bytes of ['GET / HTTP/1.1\r\n\r\n', 'PROXY TCP4 1.2.3.4 5.6.7.8 1 99999\r\n', 'PROXY TCP4 1.2']) {
      const client = await connectTo(t, balancer.port);
      client.send(bytes);
      assert.equal(await client.ended(), 'reset', bytes);
    }
    const halfClosed = await connectTo(t, balancer.port);
    halfClosed.send('PROXY').socket.end();
    assert.equal(await halfClosed.ended(), 'reset');
    assert.equal(upstream.sockets.length, 0);
    const page = await balancer.metrics();
    assert.match(page, /^holdfast_layer4_bad_headers_total\{.*\} 3$/m);
    assert.match(page, /^holdfast_layer4_timeouts_total\{.*\} 1$/m);
  });

  test('from a peer that is not allowed to send one it is payload', async (t) => {
    const upstream = await startScripted(t, () => {});
    const { port } = await startBalancer(t, layer4(proxyRoute([upstream.port], '', RECEIVE)));
    const client = await connectTo(t, port, '127.1.0.1');
    client.send('PROXY UNKNOWN\r\n');
    await eventually(() => upstream.received[0] === 'PROXY UNKNOWN\r\n', 'the bytes');
  });
});
