import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { compilePrefixes } from '../../shared/net/cidr.ts';
import { parseIp } from '../../shared/net/ip.ts';
import { deriveClient, explainClient, isTrustedPeer } from './derive.ts';

const TRUSTED = compilePrefixes(['10.0.0.0/24', '127.0.0.0/8', 'fd00::/8']);

function clientOf(list: string, peer = '127.0.0.1'): string | undefined {
  return deriveClient(parseIp(peer), TRUSTED, list)?.text;
}

describe('deriveClient', () => {
  test('stops at the first untrusted address from the right', () => {
    assert.equal(clientOf('203.0.113.5, 172.16.0.22, 10.0.0.10'), '172.16.0.22');
    assert.equal(clientOf('6.6.6.6, 203.0.113.9, 10.0.0.7'), '203.0.113.9');
  });

  test('does not believe a peer that is not trusted', () => {
    assert.equal(clientOf('1.2.3.4', '198.51.100.1'), '198.51.100.1');
  });

  test('does not believe anybody without trusted_proxies', () => {
    assert.equal(deriveClient(parseIp('127.0.0.1'), null, '1.2.3.4')?.text, '127.0.0.1');
  });

  test('takes the left-most address when every hop is trusted', () => {
    assert.equal(clientOf('10.0.0.3, 10.0.0.2, 10.0.0.1'), '10.0.0.3');
  });

  test('takes the peer when there is no header or it is empty', () => {
    for (const list of ['', ' ', ',', ' , ,']) assert.equal(clientOf(list), '127.0.0.1');
  });

  test('trusts a mapped peer like the IPv4 address it is', () => {
    assert.equal(clientOf('203.0.113.9', '::ffff:10.0.0.1'), '203.0.113.9');
  });

  test('has no client when the peer has no address', () => {
    assert.equal(deriveClient(null, TRUSTED, '1.2.3.4'), null);
  });

  const spellings: Readonly<Record<string, string>> = {
    '203.0.113.9:55123': '203.0.113.9',
    '[2001:db8::1]': '2001:db8::1',
    '[2001:db8::1]:443': '2001:db8::1',
    '[2001:db8::1%eth0]:443': '2001:db8::1',
    '2001:DB8:0:0:0:0:0:1': '2001:db8::1',
    '::ffff:203.0.113.9': '203.0.113.9',
    '[::ffff:203.0.113.9]:80': '203.0.113.9',
    'fe80::1%eth0': 'fe80::1',
    '203.0.113.9 ,10.0.0.7': '203.0.113.9',
    '\t203.0.113.9\t': '203.0.113.9',
    '2001:db8::1:443': '2001:db8::1:443',
    '203.0.113.9, ,10.0.0.7,': '203.0.113.9',
    '8.8.8.8, [fd00::7]:9, 10.0.0.7:80': '8.8.8.8',
  };
  for (const [list, client] of Object.entries(spellings)) {
    test(`reads '${list}' as ${client}`, () => assert.equal(clientOf(list), client));
  }

  const junk = [
    'unknown',
    '_hidden',
    '1.2.3.4.5',
    '010.0.0.1',
    '203.0.113.9:',
    '203.0.113.9:99999',
    '[203.0.113.9]',
    '[2001:db8::1',
    '"203.0.113.9"',
    'for=203.0.113.9',
    'client.example',
    '203.0.113.9;203.0.113.10',
  ];
  for (const entry of junk) {
    test(`stops at '${entry}': the last good hop is the client`, () => {
      assert.equal(clientOf(entry), '127.0.0.1');
      assert.equal(clientOf(`6.6.6.6, ${entry}, 10.0.0.7`), '10.0.0.7');
    });
  }

  test('nothing to the left of the first untrusted address has any effect', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(5), (left, hops) => {
        const right = Array.from({ length: hops }, () => ', 10.0.0.9').join('');
        assert.equal(clientOf(`${left},203.0.113.9${right}`), '203.0.113.9');
      }),
    );
  });

  test('never throws, and the explanation has the same answer', () => {
    const entry = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('10.0.0.1', 'unknown', ''), fc.string());
    fc.assert(
      fc.property(fc.array(entry), (entries) => {
        const list = entries.join(', ');
        const peer = parseIp('127.0.0.1');
        assert.equal(explainClient(peer, TRUSTED, list).client?.text, deriveClient(peer, TRUSTED, list)?.text);
      }),
    );
  });
});

describe('explainClient', () => {
  const explain = (list: string, peer = '127.0.0.1') => explainClient(parseIp(peer), TRUSTED, list);

  test('lists what it looked at, right-most first', () => {
    const { hops, trusted, why } = explain('203.0.113.5, 172.16.0.22, 10.0.0.10');
    assert.deepEqual(hops, [
      { text: '10.0.0.10', verdict: 'trusted' },
      { text: '172.16.0.22', verdict: 'client' },
    ]);
    assert.equal(trusted, true);
    assert.match(why, /172\.16\.0\.22 is the first address that is not trusted/);
  });

  test('says why the header was not believed', () => {
    assert.match(explain('1.2.3.4', '198.51.100.1').why, /198\.51\.100\.1 is not in trusted_proxies/);
    assert.match(explainClient(parseIp('127.0.0.1'), null, '').why, /no trusted_proxies are configured/);
    assert.match(explainClient(null, TRUSTED, '').why, /no IP address/);
  });

  test('says where junk stopped it, and when nobody but proxies was named', () => {
    assert.match(explain('1.1.1.1, unknown, 10.0.0.1').why, /'unknown' is no IP address/);
    assert.match(explain('10.0.0.1').why, /left-most/);
    assert.match(explain('').why, /names no client/);
  });
});

test('isTrustedPeer needs an address and a list', () => {
  assert.equal(isTrustedPeer(parseIp('10.0.0.1'), TRUSTED), true);
  assert.equal(isTrustedPeer(parseIp('10.0.1.1'), TRUSTED), false);
  assert.equal(isTrustedPeer(parseIp('10.0.0.1'), null), false);
  assert.equal(isTrustedPeer(null, TRUSTED), false);
});
