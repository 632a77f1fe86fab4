import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { crc32c } from './crc32c.ts';
import { parseIp } from './ip.ts';
import { localProxyHeader, proxyHeader } from './proxy-header.ts';
import { readProxyHeader, type ProxyHeaderRead } from './proxy-header-reader.ts';

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n';
const TCP4 = '\x0a\0\0\x01\x0a\0\0\x02\x12\x34\x00\x50';

function read(text: string): ProxyHeaderRead {
  return readProxyHeader(Buffer.from(text, 'latin1'), 'stream');
}

/** Ends as text, or what came instead of a header. */
function ends(text: string): string {
  const header = read(text);
  if (typeof header === 'string') return header;
  if (header.ends === null) return 'own ends';
  const { source, sourcePort, destination, destinationPort } = header.ends;
  return `${source.text} ${sourcePort} ${destination.text} ${destinationPort}`;
}

function v2(command: string, family: string, block: string): string {
  return `${SIGNATURE}${command}${family}${String.fromCharCode(block.length >> 8, block.length & 0xff)}${block}`;
}

function tlv(type: number, value: string): string {
  return String.fromCharCode(type, value.length >> 8, value.length & 0xff) + value;
}

describe('version 1', () => {
  const cases: readonly (readonly [line: string, expected: string])[] = [
    ['PROXY TCP4 1.2.3.4 5.6.7.8 1 65535\r\n', '1.2.3.4 1 5.6.7.8 65535'],
    ['PROXY TCP6 2001:DB8::1 ::1 0 80\r\nGET', '2001:db8::1 0 ::1 80'],
    ['PROXY TCP6 ::ffff:1.2.3.4 ::ffff:5.6.7.8 1 2\r\n', '1.2.3.4 1 5.6.7.8 2'],
    ['PROXY UNKNOWN\r\n', 'own ends'],
    ['PROXY UNKNOWN ffff::1 whatever 1 2\r\n', 'own ends'],
    ['PROXY TCP4 1.2.3.4 5.6.7.8 1 2', 'more'],
    ['PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n', 'bad'],
    ['PROXY TCP4 1.2.3.4 5.6.7.8 1 65536\r\n', 'bad'],
    ['PROXY TCP4 1.2.3.4 5.6.7.8 01 2\r\n', 'bad'],
    ['PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n', 'bad'],
    ['PROXY TCP4  1.2.3.4 5.6.7.8 1 2\r\n', 'bad'],
    ['PROXY TCP4 1.2.3.4 5.6.7.8 1 2 \r\n', 'bad'],
    ['PROXY TCP4 ::1 ::1 1 2\r\n', 'bad'],
    ['PROXY TCP6 1.2.3.4 5.6.7.8 1 2\r\n', 'bad'],
    ['PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n', 'bad'],
    ['PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n', 'bad'],
    ['PROXY UNKNOWNER\r\n', 'bad'],
    [' PROXY UNKNOWN\r\n', 'bad'],
    ['proxy unknown\r\n', 'bad'],
    [`PROXY UNKNOWN ${'x'.repeat(91)}\r\n`, 'own ends'],
    [`PROXY UNKNOWN ${'x'.repeat(92)}\r\n`, 'bad'],
    [`PROXY UNKNOWN ${'x'.repeat(200)}`, 'bad'],
    ['GET / HTTP/1.1\r\n\r\n', 'bad'],
  ];
  for (const [line, expected] of cases) {
    test(`${JSON.stringify(line.slice(0, 60))}: ${expected}`, () => assert.equal(ends(line), expected));
  }
});

describe('version 2', () => {
  const TCP6 = `\x20\x01\x0d\xb8${'\0'.repeat(11)}\x01${'\0'.repeat(15)}\x01\0\x01\0\x02`;
  const cases: readonly (readonly [name: string, bytes: string, expected: string])[] = [
    ['TCP4', v2('\x21', '\x11', TCP4), '10.0.0.1 4660 10.0.0.2 80'],
    ['TCP6', v2('\x21', '\x21', TCP6), '2001:db8::1 1 ::1 2'],
    ['LOCAL', v2('\x20', '\0', ''), 'own ends'],
    ['LOCAL with addresses to skip', v2('\x20', '\x11', TCP4), 'own ends'],
    ['LOCAL of a family nobody knows', v2('\x20', '\xff', 'x'), 'own ends'],
    ['no family', v2('\x21', '\0', 'xyz'.slice(3)), 'own ends'],
    ['Unix sockets', v2('\x21', '\x31', 'a'.repeat(216)), 'own ends'],
    ['datagrams', v2('\x21', '\x12', TCP4), 'own ends'],
    ['TLVs', v2('\x21', '\x11', TCP4 + tlv(0xe1, '\x01vpc-1') + tlv(4, '')), '10.0.0.1 4660 10.0.0.2 80'],
    ['a TLV longer than the header', v2('\x21', '\x11', `${TCP4}\x04\0\x02x`), 'bad'],
    ['half a TLV', v2('\x21', '\x11', `${TCP4}\x04`), 'bad'],
    ['a block too short for its family', v2('\x21', '\x11', TCP4.slice(1)), 'bad'],
    ['version 1 in the byte', v2('\x11', '\x11', TCP4), 'bad'],
    ['a command nobody knows', v2('\x22', '\x11', TCP4), 'bad'],
    ['a family nobody knows', v2('\x21', '\x41', TCP4), 'bad'],
    ['a transport nobody knows', v2('\x21', '\x13', TCP4), 'bad'],
    ['more than is taken', v2('\x21', '\x11', 'x'.repeat(16_385)), 'bad'],
  ];
  for (const [name, bytes, expected] of cases) test(`${name}: ${expected}`, () => assert.equal(ends(bytes), expected));

  test('a checksum is looked at when there is one', () => {
    const blank = Buffer.from(v2('\x21', '\x11', TCP4 + tlv(3, '\0\0\0\0') + tlv(4, 'pad')), 'latin1');
    const sum = crc32c(blank);
    const at = blank.indexOf('\x03\0\x04\0\0\0\0', 16, 'latin1') + 3;
    blank.writeUInt32BE(sum, at);
    assert.equal(ends(blank.toString('latin1')), '10.0.0.1 4660 10.0.0.2 80');
    blank.writeUInt32BE((sum ^ 1) >>> 0, at);
    assert.equal(ends(blank.toString('latin1')), 'bad');
  });
});

test('CRC-32C of RFC 3720 appendix B.4', () => {
  assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa);
  assert.equal(crc32c(new Uint8Array(32).fill(0xff)), 0x62a8ab43);
  assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283);
});

test('what is sent is read, whole, and only when it is whole', () => {
  const address = fc.oneof(fc.ipV4(), fc.ipV6()).map((text) => parseIp(text)!);
  const port = fc.integer({ min: 1, max: 65_535 });
  fc.assert(
    fc.property(fc.constantFrom('v1', 'v2'), address, port, port, fc.string(), (version, client, from, to, rest) => {
      const local = client.family === 4 ? '192.0.2.1' : '2001:db8::9';
      const of = { client, peer: client, peerPort: from, localAddress: local, localPort: to };
      const text = proxyHeader(version, of);
      for (let length = 0; length < text.length; length += 1) assert.equal(read(text.slice(0, length)), 'more');
      const header = read(text + rest);
      assert.ok(typeof header !== 'string');
      assert.equal(header.length, text.length);
      assert.equal(ends(text + rest), `${client.text} ${from} ${local} ${to}`);
    }),
  );
  for (const version of ['v1', 'v2'] as const) assert.equal(ends(localProxyHeader(version)), 'own ends');
});

test('any bytes are read without a throw, and more of them never undo a verdict', () => {
  const start = fc.constantFrom('', 'PROXY ', 'PROXY TCP4 ', `${SIGNATURE}\x21\x11`, `${SIGNATURE}\x20`);
  const bytes = fc.uint8Array({ maxLength: 60 });
  fc.assert(
    fc.property(start, bytes, bytes, (head, first, second) => {
      const short = Buffer.concat([Buffer.from(head, 'latin1'), first]);
      const before = readProxyHeader(short, 'stream');
      const after = readProxyHeader(Buffer.concat([short, second]), 'stream');
      if (before !== 'more') assert.deepEqual(after, before);
    }),
  );
});
