import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startDnsServer } from '../../../test/support/dns-server.ts';
import { lookupName } from './lookup.ts';

test('the system resolver knows localhost and tells no TTL', async () => {
  const answer = await lookupName('localhost', []);
  assert.ok(
    [...(answer.ipv4 ?? []), ...(answer.ipv6 ?? [])].some((address) => address === '127.0.0.1' || address === '::1'),
  );
  assert.equal(answer.ttlMs, null);
});

test('a name the system cannot resolve is an error, not a throw', async () => {
  // An empty label: refused before any packet leaves this machine.
  const answer = await lookupName('no..name', []);
  assert.equal(answer.ipv4, null);
  assert.notEqual(answer.error, '');
});

test('a DNS server is asked for both families, and the shortest TTL counts', { timeout: 30_000 }, async () => {
  const server = await startDnsServer({
    'app.test': [
      { type: 'A', address: '10.0.0.2', ttl: 60 },
      { type: 'A', address: '10.0.0.1', ttl: 60 },
      { type: 'AAAA', address: 'fd000000000000000000000000000001', ttl: 20 },
    ],
    'four.test': [{ type: 'A', address: '10.0.0.3', ttl: 60 }],
  });
  const both = await lookupName('app.test', [server.address]);
  const four = await lookupName('four.test', [server.address]);
  const none = await lookupName('gone.test', [server.address]);
  server.close();
  assert.deepEqual([...(both.ipv4 ?? [])].sort(), ['10.0.0.1', '10.0.0.2']);
  assert.deepEqual(both.ipv6, ['fd00::1']);
  assert.equal(both.ttlMs, 20_000);
  assert.deepEqual({ ipv4: four.ipv4, ipv6: four.ipv6 }, { ipv4: ['10.0.0.3'], ipv6: [] });
  assert.deepEqual({ ipv4: none.ipv4, ipv6: none.ipv6, error: none.error }, { ipv4: [], ipv6: [], error: 'ENOTFOUND' });
});

test('a DNS server that fails leaves the answer open instead of empty', { timeout: 30_000 }, async () => {
  const server = await startDnsServer({}, 2);
  const answer = await lookupName('app.test', [server.address]);
  server.close();
  assert.deepEqual({ ipv4: answer.ipv4, ipv6: answer.ipv6 }, { ipv4: null, ipv6: null });
  assert.notEqual(answer.error, '');
});
