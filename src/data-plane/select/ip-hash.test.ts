import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseIp } from '../../shared/net/ip.ts';
import { MEMBER_DOWN } from '../../shared/state-table/layout.ts';
import { createIpHash } from './ip-hash.ts';
import { identitiesOf, IP_HASH, makePool, makeRequest } from './policy.contract.ts';
import type { Affinity } from './policy.ts';

interface Pick {
  readonly position: number;
  readonly affinity: Affinity;
}

function pick(
  address: string,
  size: number,
  down: readonly number[] = [],
  changes: Partial<typeof IP_HASH> = {},
): Pick {
  const pool = makePool(size);
  for (const position of down) pool.states[position] = MEMBER_DOWN;
  const policy = createIpHash({ ...IP_HASH, ...changes }, identitiesOf(size));
  const request = makeRequest({ client: parseIp(address) });
  return { position: policy.pick(pool, request), affinity: request.affinity };
}

describe('ip_hash', () => {
  test('sends the fixed addresses to their fixed places of three', () => {
    const places: Readonly<Record<string, number>> = {
      '203.0.113.5': 1,
      '198.51.100.12': 0,
      '103.10.20.30': 2,
      '103.20.10.15': 1,
      '103.20.10.22': 2,
      '2001:db8:85a3:8d3:1319:8a2e:370:7348': 2,
    };
    for (const [address, position] of Object.entries(places)) {
      assert.deepEqual(pick(address, 3), { position, affinity: 'hit' }, address);
    }
  });

  test('sends 203.0.113.5 to 2 when 1 of three is down', () => {
    assert.deepEqual(pick('203.0.113.5', 3, [1]), { position: 2, affinity: 'moved' });
  });

  test('on_failure all sends 203.0.113.5 to 0 when 1 of three is down', () => {
    assert.deepEqual(pick('203.0.113.5', 3, [1], { onFailure: 'all' }), { position: 0, affinity: 'moved' });
  });

  test('of five, 203.0.113.5 goes to 2, then 3, 4, 1', () => {
    assert.equal(pick('203.0.113.5', 5).position, 2);
    assert.equal(pick('203.0.113.5', 5, [2]).position, 3);
    assert.equal(pick('203.0.113.5', 5, [2, 3]).position, 4);
    assert.equal(pick('203.0.113.5', 5, [2, 3, 4]).position, 1);
    assert.equal(pick('203.0.113.5', 5, [1, 2, 3, 4]).position, 0);
    assert.deepEqual(pick('203.0.113.5', 5, [0, 1, 2, 3, 4]), { position: -1, affinity: '' });
  });

  test('finds the only eligible one of many thousand', () => {
    const down = Array.from({ length: 5000 }, (_, position) => position).filter((position) => position !== 4321);
    assert.equal(pick('203.0.113.5', 5000, down).position, 4321);
  });

  test('a member tried in this exchange counts as gone', () => {
    const request = makeRequest({ tried: [1] });
    assert.equal(createIpHash(IP_HASH, identitiesOf(3)).pick(makePool(3), request), 2);
    assert.equal(request.affinity, 'moved');
  });

  test('all clients without address share one member', () => {
    const policy = createIpHash(IP_HASH, identitiesOf(3));
    assert.equal(policy.pick(makePool(3), makeRequest({ client: null })), 0x811c9dc5 % 3);
  });

  test('an even number of servers splits even hosts only when a seed mixes them', () => {
    const used = (changes: Partial<typeof IP_HASH>) =>
      new Set(Array.from({ length: 100 }, (_, at) => pick(`198.51.100.${at * 2}`, 2, [], changes).position)).size;
    assert.equal(used({}), 1);
    assert.equal(used({ seed: 0 }), 2);
    assert.equal(used({ mapping: 'rendezvous' }), 2);
  });
});

describe('ip_hash mapping rendezvous', () => {
  const rendezvous = { mapping: 'rendezvous' } as const;

  test('sends the fixed addresses to the fixed members', () => {
    assert.deepEqual(pick('203.0.113.5', 3, [], rendezvous), { position: 1, affinity: 'hit' });
    assert.deepEqual(pick('198.51.100.12', 3, [], rendezvous), { position: 0, affinity: 'hit' });
    assert.deepEqual(pick('192.0.2.7', 3, [], rendezvous), { position: 2, affinity: 'hit' });
  });

  test('a doubled weight draws a client over', () => {
    const pool = makePool(3);
    pool.weights[1] = 2;
    const policy = createIpHash({ ...IP_HASH, ...rendezvous }, identitiesOf(3));
    assert.equal(policy.pick(pool, makeRequest({ client: parseIp('192.0.2.7') })), 1);
  });

  test('says moved while the best member is away', () => {
    assert.deepEqual(pick('203.0.113.5', 3, [1], rendezvous), { position: 0, affinity: 'moved' });
  });

  test('of members with the same identity the first is used', () => {
    const policy = createIpHash({ ...IP_HASH, ...rendezvous }, ['app', 'app', 'app']);
    assert.equal(policy.pick(makePool(3), makeRequest()), 0);
  });
});

test('explain shows key, hash, homes and choice', () => {
  const pool = makePool(3);
  pool.states[1] = MEMBER_DOWN;
  const policy = createIpHash(IP_HASH, identitiesOf(3));
  assert.deepEqual(policy.explain(pool, makeRequest()), [
    'key 203.0.113.5, hash 2099181832',
    '2 of 3 upstreams may be picked',
    'home: 2099181832 mod 3 = upstream 1 (app-2:3000), down',
    'second home: upstream 2 (app-3:3000), eligible',
    'picked upstream 2 (app-3:3000)',
  ]);
});
