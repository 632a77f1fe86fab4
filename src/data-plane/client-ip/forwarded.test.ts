import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { compilePrefixes } from '../../shared/net/cidr.ts';
import { parseIp } from '../../shared/net/ip.ts';
import { deriveClient } from './derive.ts';
import { forwardedFor, forwardedHost, forwardedProto, isSecureScheme } from './forwarded.ts';

const PEER = parseIp('127.0.0.1');

describe('forwardedFor', () => {
  test('names the peer alone when it is not trusted', () => {
    assert.equal(forwardedFor(PEER, false, '1.2.3.4'), '127.0.0.1');
  });

  test('appends the peer to a trusted list', () => {
    assert.equal(
      forwardedFor(PEER, true, '6.6.6.6, 203.0.113.9, 10.0.0.7'),
      '6.6.6.6, 203.0.113.9, 10.0.0.7, 127.0.0.1',
    );
    assert.equal(forwardedFor(PEER, true, ''), '127.0.0.1');
  });

  test('cuts a trusted list at junk and prints every address canonically', () => {
    assert.equal(
      forwardedFor(PEER, true, '6.6.6.6, unknown, 203.0.113.9:80 ,[2001:DB8::1]:443'),
      '203.0.113.9, 2001:db8::1, 127.0.0.1',
    );
  });

  test('has nothing to append for a peer without address', () => {
    assert.equal(forwardedFor(null, true, '203.0.113.9'), '203.0.113.9');
    assert.equal(forwardedFor(null, false, '203.0.113.9'), '');
  });

  test('emits a clean list of addresses, whatever came, and a reader of it finds our client', () => {
    const trusted = compilePrefixes(['127.0.0.0/8', '10.0.0.0/8']);
    const entry = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('10.0.0.1', 'unknown', ''), fc.string());
    fc.assert(
      fc.property(fc.array(entry), (entries) => {
        const list = entries.join(',');
        const sent = forwardedFor(PEER, true, list);
        for (const text of sent.split(', ')) assert.equal(parseIp(text)?.text, text);
        assert.equal(deriveClient(PEER, trusted, sent)?.text, deriveClient(PEER, trusted, list)?.text);
      }),
    );
  });
});

describe('forwardedProto', () => {
  test('is what we see, unless a trusted proxy says otherwise', () => {
    assert.equal(forwardedProto(false, 'https', false), 'http');
    assert.equal(forwardedProto(false, '', true), 'https');
    assert.equal(forwardedProto(true, 'https', false), 'https');
    assert.equal(forwardedProto(true, 'HTTP', true), 'http');
    assert.equal(forwardedProto(true, '', true), 'https');
  });

  test('takes the right-most of a list and ignores what is no scheme', () => {
    assert.equal(forwardedProto(true, 'http, https', false), 'https');
    assert.equal(forwardedProto(true, 'gopher', false), 'http');
  });

  test('https and wss are the secure ones', () => {
    assert.deepEqual(['https', 'wss', 'http', 'ws'].map(isSecureScheme), [true, true, false, false]);
  });
});

describe('forwardedHost', () => {
  test('is the request host, unless a trusted proxy names another', () => {
    assert.equal(forwardedHost(false, 'evil.example', 'a.example:8080'), 'a.example:8080');
    assert.equal(forwardedHost(true, 'front.example:443', 'a.example'), 'front.example:443');
    assert.equal(forwardedHost(true, 'old.example, front.example', 'a.example'), 'front.example');
    assert.equal(forwardedHost(true, '', 'a.example'), 'a.example');
  });

  test('replaces a claimed host that could not be one', () => {
    for (const claim of ['a b', 'a/b', 'u@h', 'a\u0000b', '<x>'])
      assert.equal(forwardedHost(true, claim, 'h'), 'h', claim);
  });
});
