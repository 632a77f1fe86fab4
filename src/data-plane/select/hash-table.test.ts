import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseIp } from '../../shared/net/ip.ts';
import { DEFAULT_KEY_OPTIONS } from './client-key.ts';
import { makeHashTable } from './hash-table.ts';

function tableOf(address: string, upstreams = 3) {
  const ip = parseIp(address);
  assert.ok(ip !== null);
  return makeHashTable(ip, upstreams);
}

test('the table of 203.0.113.5 can be followed by hand', () => {
  const table = tableOf('203.0.113.5');
  assert.deepEqual(Object.keys(table), ['address', 'key', 'steps', 'hash', 'upstreams', 'index']);
  assert.deepEqual(
    { ...table, steps: [] },
    {
      address: '203.0.113.5',
      key: '203.0.113.5',
      steps: [],
      hash: 2099181832,
      upstreams: 3,
      index: 1,
    },
  );
  assert.deepEqual(
    table.steps.map((step) => step.byte),
    [203, 0, 113, 5],
  );
  assert.equal(table.steps[0]?.xor, (2166136261 ^ 203) >>> 0);
  let hash = 2166136261n;
  for (const step of table.steps) {
    assert.equal(BigInt(step.xor), hash ^ BigInt(step.byte));
    hash = (BigInt(step.xor) * 16777619n) % 2n ** 32n;
    assert.equal(BigInt(step.product), hash);
  }
  assert.equal(table.steps.at(-1)?.product, table.hash);
});

test('IPv6 shows the prefix that counts and hashes all sixteen bytes of it', () => {
  const table = tableOf('2001:db8:85a3:8d3:1319:8a2e:370:7348');
  assert.equal(table.key, '2001:db8:85a3:8d3::/64');
  assert.equal(table.steps.length, 16);
  assert.equal(table.hash, 3471129506);
  assert.equal(table.index, 2);
});

test('NAT64 shows the IPv4 address', () => {
  assert.equal(tableOf('64:ff9b::203.0.113.5').key, '203.0.113.5');
});

test('a seed changes the hash and leaves the steps', () => {
  const ip = parseIp('203.0.113.5');
  assert.ok(ip !== null);
  const table = makeHashTable(ip, 3, { ...DEFAULT_KEY_OPTIONS, seed: 7 });
  assert.equal(table.steps.at(-1)?.product, 2099181832);
  assert.equal(table.hash, 1527094669);
});
