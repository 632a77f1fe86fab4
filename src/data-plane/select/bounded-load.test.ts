import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ipFromBytes } from '../../shared/net/ip.ts';
import { MEMBER_DOWN } from '../../shared/state-table/layout.ts';
import { createIpHash } from './ip-hash.ts';
import { identitiesOf, IP_HASH, makePool, makeRequest } from './policy.contract.ts';

const addresses = fc.array(fc.uint8Array({ minLength: 4, maxLength: 4 }), { minLength: 1, maxLength: 60 });

test('whatever the clients, nobody has more than the factor times the mean, and somebody always takes the client', () => {
  const mapping = fc.constantFrom('modulo' as const, 'rendezvous' as const);
  const factor = fc.constantFrom(1, 1.25, 2);
  fc.assert(
    fc.property(addresses, fc.integer({ min: 1, max: 7 }), mapping, factor, (clients, size, how, balanceFactor) => {
      const pool = makePool(size);
      const policy = createIpHash({ ...IP_HASH, mapping: how, balanceFactor }, identitiesOf(size));
      clients.forEach((bytes, placed) => {
        const position = policy.pick(pool, makeRequest({ client: ipFromBytes(bytes) }));
        assert.ok(position >= 0);
        pool.loads[position]! += 1;
        assert.ok(pool.loads[position]! <= Math.ceil((balanceFactor * (placed + 1)) / size));
      });
    }),
  );
});

test('a client spills only while its home is above the bound, and the home is told', () => {
  const pool = makePool(3);
  const policy = createIpHash({ ...IP_HASH, balanceFactor: 1.25 }, identitiesOf(3));
  const plain = createIpHash(IP_HASH, identitiesOf(3));
  const home = plain.pick(pool, makeRequest());
  const quiet = makeRequest();
  assert.equal(policy.pick(pool, quiet), home);
  assert.equal(quiet.spilledFrom, -1);
  pool.loads[home] = 10;
  const busy = makeRequest();
  const position = policy.pick(pool, busy);
  assert.notEqual(position, home);
  assert.deepEqual([busy.spilledFrom, busy.affinity], [home, 'moved']);
});

test('the mean is that of the members that may be picked', () => {
  const pool = makePool(3);
  const policy = createIpHash({ ...IP_HASH, balanceFactor: 1.25 }, identitiesOf(3));
  const home = createIpHash(IP_HASH, identitiesOf(3)).pick(pool, makeRequest());
  for (let position = 0; position < 3; position += 1) if (position !== home) pool.states[position] = MEMBER_DOWN;
  pool.loads[home] = 1000;
  const request = makeRequest();
  assert.equal(policy.pick(pool, request), home);
  assert.equal(request.spilledFrom, -1);
});

test('explain says the bound', () => {
  const pool = makePool(2);
  pool.loads.splice(0, 2, 4, 5);
  const policy = createIpHash({ ...IP_HASH, balanceFactor: 1.25 }, identitiesOf(2));
  const sentences = policy.explain(pool, makeRequest()).join('\n');
  assert.match(sentences, /balance_factor 1\.25: nobody may have more than 7 running/);
});
