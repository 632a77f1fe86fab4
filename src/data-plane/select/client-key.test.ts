import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigError } from '../../shared/config-error.ts';
import { parseIp, type IpAddress } from '../../shared/net/ip.ts';
import { compileClientKeys, DEFAULT_KEY_OPTIONS } from './client-key.ts';
import { FNV_OFFSET, seedHash } from './hash.ts';

const keys = compileClientKeys(DEFAULT_KEY_OPTIONS);

function ip(text: string): IpAddress {
  const address = parseIp(text);
  assert.ok(address !== null);
  return address;
}

describe('client keys', () => {
  test('an IPv6 client is its /64', () => {
    assert.equal(keys.hash(ip('2001:db8:85a3:8d3:1319:8a2e:370:7348')), 3471129506);
    assert.equal(keys.hash(ip('2001:db8:85a3:8d3::1')), 3471129506);
    assert.notEqual(keys.hash(ip('2001:db8:85a3:8d4::1')), 3471129506);
    assert.equal(keys.text(ip('2001:db8:85a3:8d3:1319:8a2e:370:7348')), '2001:db8:85a3:8d3::/64');
  });

  test('an address behind NAT64 is the IPv4 address it carries', () => {
    assert.equal(keys.hash(ip('64:ff9b::203.0.113.5')), keys.hash(ip('203.0.113.5')));
    assert.equal(keys.text(ip('64:ff9b::203.0.113.5')), '203.0.113.5');
    assert.notEqual(keys.hash(ip('64:ff9b:1::203.0.113.5')), keys.hash(ip('203.0.113.5')));
  });

  test('further NAT64 prefixes can be configured', () => {
    const custom = compileClientKeys({ ...DEFAULT_KEY_OPTIONS, nat64: ['2001:db8:64::/96'] });
    assert.equal(custom.hash(ip('2001:db8:64::203.0.113.5')), keys.hash(ip('203.0.113.5')));
    for (const text of ['2001:db8:64::/64', '10.0.0.0/8', 'nonsense']) {
      assert.throws(() => compileClientKeys({ ...DEFAULT_KEY_OPTIONS, nat64: [text] }), ConfigError, text);
    }
  });

  test('prefix lengths can be configured', () => {
    const wide = compileClientKeys({ ...DEFAULT_KEY_OPTIONS, ipv4Prefix: 20, ipv6Prefix: 48 });
    assert.equal(wide.hash(ip('10.1.16.1')), wide.hash(ip('10.1.31.254')));
    assert.notEqual(wide.hash(ip('10.1.16.1')), wide.hash(ip('10.1.32.1')));
    assert.equal(wide.hash(ip('2001:db8:1:2::')), wide.hash(ip('2001:db8:1:3::')));
    assert.equal(wide.text(ip('10.1.31.254')), '10.1.16.0/20');
    assert.equal(wide.text(ip('64:ff9b::10.1.31.254')), '10.1.16.0/20');
  });

  test('a seed is mixed in', () => {
    const seeded = compileClientKeys({ ...DEFAULT_KEY_OPTIONS, seed: 7 });
    assert.equal(seeded.hash(ip('203.0.113.5')), seedHash(2099181832, 7));
  });

  test('a client without address has the hash of nothing', () => {
    assert.equal(keys.hash(null), FNV_OFFSET);
  });
});
