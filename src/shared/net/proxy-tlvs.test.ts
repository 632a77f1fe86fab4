import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32c } from './crc32c.ts';
import { parseIp } from './ip.ts';
import { localProxyHeader, proxyHeader } from './proxy-header.ts';
import { readProxyHeader } from './proxy-header-reader.ts';
import { withTlvs } from './proxy-tlvs.ts';

const client = parseIp('192.0.2.1');
const HEADER = proxyHeader('v2', { client, peer: client, peerPort: 4711, localAddress: '192.0.2.2', localPort: 25 });

test('they stand behind the addresses, and the length says so', () => {
  const bytes = withTlvs(
    HEADER,
    [
      { type: 0xe1, value: '\x01vpc-7' },
      { type: 2, value: '' },
    ],
    false,
  );
  assert.equal(bytes.toString('latin1', 28), '\xe1\0\x06\x01vpc-7\x02\0\0');
  assert.equal(bytes.readUInt16BE(14), bytes.length - 16);
});

test('a header with a checksum is read, one bit changed in it is not', () => {
  const bytes = withTlvs(HEADER, [{ type: 5, value: 'id' }], true);
  const read = readProxyHeader(bytes, 'stream');
  assert.ok(typeof read !== 'string' && read.length === bytes.length && read.ends?.sourcePort === 4711);
  const blank = Buffer.from(bytes).fill(0, bytes.length - 4);
  assert.equal(bytes.readUInt32BE(bytes.length - 4), crc32c(blank));
  const typeOfChecksum = bytes.length - 7;
  for (let at = 16; at < bytes.length; at += 1) {
    if (at === typeOfChecksum) continue;
    const broken = Buffer.from(bytes);
    broken[at] = broken[at]! ^ 1;
    assert.notDeepEqual(readProxyHeader(broken, 'stream'), read, `byte ${at}`);
  }
});

test('a header that names nobody can carry them, too', () => {
  const read = readProxyHeader(withTlvs(localProxyHeader('v2'), [{ type: 4, value: 'pad' }], true), 'stream');
  assert.ok(typeof read !== 'string' && read.ends === null);
});
