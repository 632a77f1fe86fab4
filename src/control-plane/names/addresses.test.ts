import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeAddresses } from './addresses.ts';

const nothing = { ipv4: [], ipv6: [] };

test('addresses are sorted by number, IPv4 first, without duplicates', () => {
  const answer = { ipv4: ['10.0.0.10', '10.0.0.9', '10.0.0.10'], ipv6: ['fd00::2', 'fd00::1'], ttlMs: null, error: '' };
  assert.deepEqual(mergeAddresses(nothing, answer).addresses, ['10.0.0.9', '10.0.0.10', 'fd00::1', 'fd00::2']);
});

test('a half that failed keeps what was known, a half that is empty does not', () => {
  const before = { ipv4: ['10.0.0.1'], ipv6: ['fd00::1'] };
  const failed = mergeAddresses(before, { ipv4: ['10.0.0.2'], ipv6: null, ttlMs: null, error: 'ETIMEOUT' });
  assert.deepEqual(failed.addresses, ['10.0.0.2', 'fd00::1']);
  const empty = mergeAddresses(before, { ipv4: ['10.0.0.2'], ipv6: [], ttlMs: null, error: '' });
  assert.deepEqual(empty.addresses, ['10.0.0.2']);
});
