import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { connect, type ConnectionOptions } from 'node:tls';
import fc from 'fast-check';
import { MORE, NO } from '../answer.ts';
import { readClientHello } from './client-hello.ts';

/** The first bytes of a TLS client of Node's. */
async function helloOf(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const client = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, ...options });
  client.on('error', () => {});
  const [socket] = await accepted;
  const [bytes] = await once(socket, 'data');
  socket.destroy();
  client.destroy();
  server.close();
  return bytes;
}

/** The same handshake message in records of this many bytes. */
function fragmented(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 0xff]), part);
  }
  return Buffer.concat(records);
}

test('name and protocols of a real client', async () => {
  const hello = await helloOf({ servername: 'Db.Example.COM', ALPNProtocols: ['h2', 'postgresql'] });
  assert.deepEqual(readClientHello(hello), { serverName: 'db.example.com', alpn: ['h2', 'postgresql'] });
});

test('a client that names neither', async () => {
  const hello = await helloOf({ maxVersion: 'TLSv1.2' });
  assert.deepEqual(readClientHello(hello), { serverName: '', alpn: [] });
});

test('cut anywhere it needs more, in however many records it comes', async () => {
  const hello = await helloOf({ servername: 'a.example', ALPNProtocols: ['x'] });
  for (const size of [1, 3, 100, 16_384]) {
    const bytes = fragmented(hello, size);
    for (let length = 0; length < bytes.length; length += 1) {
      assert.equal(readClientHello(bytes.subarray(0, length)), MORE, `${length} bytes, records of ${size}`);
    }
    assert.deepEqual(readClientHello(bytes), { serverName: 'a.example', alpn: ['x'] });
  }
});

test('other protocols are told by their first bytes', () => {
  for (const bytes of [
    'G',
    'SSH-2.0-x',
    '\x16\x02',
    '\x17\x03\x03\0\x05hello',
    '\x16\x03\x01\0\0',
    '\x16\x03\x01\0\x04\x02\0\0\0',
  ]) {
    assert.equal(readClientHello(Buffer.from(bytes, 'latin1')), NO, JSON.stringify(bytes));
  }
});

test('a ClientHello broken anywhere is read without a throw', async () => {
  const hello = await helloOf({ servername: 'a.example', ALPNProtocols: ['x', 'y'] });
  fc.assert(
    fc.property(fc.nat(hello.length - 1), fc.nat(255), fc.nat(hello.length), (at, byte, length) => {
      const broken = Buffer.from(hello);
      broken[at] = byte;
      readClientHello(broken);
      readClientHello(broken.subarray(0, length));
    }),
  );
});
