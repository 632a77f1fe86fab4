import assert from 'node:assert/strict';
import net from 'node:net';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ConfigError } from '../config-error.ts';
import { compilePrefixes, parseCidr, prefixMask } from './cidr.ts';
import { ipFromBytes, parseIp } from './ip.ts';

function holds(prefixes: readonly string[], address: string): boolean {
  const ip = parseIp(address);
  assert.ok(ip !== null);
  return compilePrefixes(prefixes).contains(ip);
}

describe('compilePrefixes', () => {
  const cases: readonly (readonly [prefixes: readonly string[], address: string, inside: boolean])[] = [
    [[], '10.0.0.1', false],
    [['10.0.0.0/8'], '10.255.255.255', true],
    [['10.0.0.0/8'], '11.0.0.0', false],
    [['10.0.0.7'], '10.0.0.7', true],
    [['10.0.0.7'], '10.0.0.8', false],
    [['10.1.2.3/8'], '10.200.0.1', true],
    [['0.0.0.0/0'], '255.255.255.255', true],
    [['0.0.0.0/0'], '::1', false],
    [['::/0'], '10.0.0.1', false],
    [['::/0'], 'ffff::1', true],
    [['2001:db8::/32'], '2001:db8:ffff::1', true],
    [['2001:db8::/32'], '2001:db9::', false],
    [['2001:db8::/33'], '2001:db8:8000::', false],
    [['::1'], '::1', true],
    [['::ffff:10.0.0.0/104'], '10.9.9.9', true],
    [['::ffff:10.0.0.0/90'], '10.9.9.9', false],
    [['::ffff:10.0.0.0/90'], '::fffe:0:1', true],
    [['10.0.0.0/8'], '::ffff:10.0.0.1', true],
    [['private_ranges'], '172.31.0.1', true],
    [['private_ranges'], '172.32.0.1', false],
    [['private_ranges'], '127.0.0.1', true],
    [['private_ranges'], 'fd12::1', true],
    [['private_ranges', '203.0.113.0/24'], '203.0.113.77', true],
  ];
  for (const [prefixes, address, inside] of cases) {
    test(`[${prefixes.join(' ')}] ${inside ? 'holds' : 'does not hold'} ${address}`, () => {
      assert.equal(holds(prefixes, address), inside);
    });
  }

  test('a set of many prefixes, overlapping ones too, answers like the system block list', () => {
    const bytes4 = fc.uint8Array({ minLength: 4, maxLength: 4, max: 3 });
    const lists = fc.array(fc.tuple(bytes4, fc.nat(32)), { maxLength: 40 });
    fc.assert(
      fc.property(lists, fc.array(bytes4, { minLength: 1, maxLength: 20 }), (list, addresses) => {
        const block = new net.BlockList();
        for (const [bytes, bits] of list) block.addSubnet([...bytes].join('.'), bits);
        const set = compilePrefixes(list.map(([bytes, bits]) => `${[...bytes].join('.')}/${bits}`));
        for (const bytes of addresses) {
          const ip = ipFromBytes(bytes);
          assert.ok(ip !== null);
          assert.equal(set.contains(ip), block.check(ip.text));
        }
      }),
    );
  });
});

describe('parseCidr', () => {
  test('clears the bits behind the prefix', () => {
    assert.deepEqual(parseCidr('10.1.2.3/12'), { family: 4, bytes: Uint8Array.of(10, 0, 0, 0), bits: 12 });
  });

  test('says what is wrong and how to write it', () => {
    const faults: Readonly<Record<string, RegExp>> = {
      '10.0.0.0/33': /'10\.0\.0\.0\/33' .*from 0 to 32; write it like/,
      '::/129': /from 0 to 128/,
      '10.0.0.0/': /prefix length/,
      '10.0.0.0/08': /prefix length/,
      '10.0.0.0/-1': /prefix length/,
      '10.0.0.0/8/8': /prefix length/,
      'example.com/8': /'example\.com' is no IP address/,
      '010.0.0.0/8': /no IP address/,
      'fe80::%eth0/64': /no IP address/,
      '': /no IP address/,
    };
    for (const [text, message] of Object.entries(faults)) {
      assert.throws(
        () => parseCidr(text),
        (error) => error instanceof ConfigError && message.test(error.message),
        text,
      );
    }
  });
});

test('prefixMask sets the first bits', () => {
  assert.deepEqual([...prefixMask(4, 0)], [0, 0, 0, 0]);
  assert.deepEqual([...prefixMask(4, 13)], [255, 248, 0, 0]);
  assert.deepEqual([...prefixMask(4, 32)], [255, 255, 255, 255]);
  assert.equal(prefixMask(6, 64).filter((byte) => byte === 255).length, 8);
});
