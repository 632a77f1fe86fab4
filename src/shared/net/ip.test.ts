import assert from 'node:assert/strict';
import net from 'node:net';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ipFromBytes, parseIp } from './ip.ts';

/** Text → canonical text. */
const READ: Readonly<Record<string, string>> = {
  '0.0.0.0': '0.0.0.0',
  '203.0.113.5': '203.0.113.5',
  '255.255.255.255': '255.255.255.255',
  '::': '::',
  '::1': '::1',
  '1::': '1::',
  '2001:DB8:0:0:0:0:0:1': '2001:db8::1',
  '2001:0db8::0001': '2001:db8::1',
  '2001:db8::1:443': '2001:db8::1:443',
  '2001:db8:0:1:1:1:1:1': '2001:db8:0:1:1:1:1:1',
  '2001:0:0:1:0:0:0:1': '2001:0:0:1::1',
  '2001:db8:0:0:1:0:0:1': '2001:db8::1:0:0:1',
  '1:2:3:4:5:6:7::': '1:2:3:4:5:6:7:0',
  '::2:3:4:5:6:7:8': '0:2:3:4:5:6:7:8',
  '64:ff9b::203.0.113.5': '64:ff9b::cb00:7105',
  '::ffff:203.0.113.9': '203.0.113.9',
  '::FFFF:cb00:7109': '203.0.113.9',
  '0:0:0:0:0:ffff:203.0.113.9': '203.0.113.9',
  '::203.0.113.9': '::cb00:7109',
  'fe80::1%eth0': 'fe80::1',
  '::ffff:10.0.0.1%3': '10.0.0.1',
};

const REFUSED: readonly string[] = [
  '',
  ' ',
  'unknown',
  'localhost',
  '1.2.3',
  '1.2.3.4.5',
  '1.2.3.4.',
  '.1.2.3.4',
  '1..3.4',
  '256.1.1.1',
  '1.2.3.1000',
  '010.0.0.1',
  '1.2.3.00',
  '0x7f.0.0.1',
  '1.2.3.4 ',
  ' 1.2.3.4',
  '1.2.3.4%eth0',
  '1.2.3.4:80',
  '１.2.3.4',
  ':',
  ':::',
  '1:',
  ':1',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '1:2:3:4:5:6:7:8::',
  '::1:2:3:4:5:6:7:8',
  '1::2::3',
  '1::2:3:4:5:6:7:8:9',
  '12345::',
  'g::1',
  '::1:',
  '1:2:3:4:5:6:7:1.2.3.4',
  '::1.2.3',
  '::1.2.3.4:5',
  '::01.2.3.4',
  '[::1]',
  'fe80::1%',
  'fe80::1%eth 0',
  'fe80::1%\u0000',
];

describe('parseIp', () => {
  for (const [text, canonical] of Object.entries(READ)) {
    test(`reads ${text} as ${canonical}`, () => assert.equal(parseIp(text)?.text, canonical));
  }

  for (const text of REFUSED) {
    test(`refuses ${JSON.stringify(text)}`, () => assert.equal(parseIp(text), null));
  }

  test('turns a mapped address into four bytes', () => {
    const ip = parseIp('::ffff:10.0.0.1');
    assert.equal(ip?.family, 4);
    assert.deepEqual([...ip.bytes], [10, 0, 0, 1]);
  });

  test('every IPv4 address survives printing and reading', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 4, maxLength: 4 }), (bytes) => {
        assert.deepEqual(parseIp([...bytes].join('.'))?.bytes, bytes);
      }),
    );
  });

  test('every IPv6 spelling gets the text a URL parser gives it', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const ip = parseIp(text);
        if (ip?.family === 4) assert.match(text, /ffff/i);
        else assert.equal(`[${ip?.text}]`, new URL(`http://[${text}]`).hostname);
      }),
    );
  });

  test('agrees with the system library on what an address is', () => {
    const texts = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.stringMatching(/^[0-9a-f:.]{0,20}$/),
      fc.stringMatching(/^([0-9a-f]{0,4}:){1,8}[0-9a-f.]{0,8}$/),
    );
    fc.assert(
      fc.property(texts, (text) => assert.equal(parseIp(text) !== null, net.isIP(text) !== 0, text)),
      { numRuns: 2000 },
    );
  });

  test('never throws', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void parseIp(text)));
  });
});

describe('ipFromBytes', () => {
  test('takes 4 or 16 bytes and nothing else', () => {
    assert.equal(ipFromBytes(Uint8Array.of(1, 2, 3, 4))?.text, '1.2.3.4');
    assert.equal(ipFromBytes(new Uint8Array(16))?.text, '::');
    for (const length of [0, 3, 5, 15, 17]) assert.equal(ipFromBytes(new Uint8Array(length)), null);
  });

  test('copies its bytes', () => {
    const bytes = Uint8Array.of(1, 2, 3, 4);
    const ip = ipFromBytes(bytes);
    bytes[0] = 9;
    assert.equal(ip?.bytes[0], 1);
  });

  test('gives back what parseIp read', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const ip = parseIp(text);
        assert.ok(ip !== null);
        assert.deepEqual(ipFromBytes(ip.bytes), ip);
      }),
    );
  });
});
