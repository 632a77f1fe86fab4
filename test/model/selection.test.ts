/** What affinity promises over whole populations of clients. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { buildPolicy } from '../../src/data-plane/select/index.ts';
import { COOKIE, identitiesOf, IP_HASH, makePool, makeRequest } from '../../src/data-plane/select/policy.contract.ts';
import type { Policy, PoolView } from '../../src/data-plane/select/policy.ts';
import { ipFromBytes, type IpAddress } from '../../src/shared/net/ip.ts';
import type { IpHashPlan } from '../../src/shared/plan/types.ts';
import { seededRandom } from '../../src/shared/random.ts';
import { MEMBER_DOWN, MEMBER_ELIGIBLE } from '../../src/shared/state-table/layout.ts';

/** Random addresses; all of them different for all that matters. */
function makeClients(count: number, seed: number): IpAddress[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => {
    const ip = ipFromBytes(Uint8Array.from({ length: 4 }, () => Math.floor(random.next() * 256)));
    assert.ok(ip !== null);
    return ip;
  });
}

function ipHash(size: number, changes: Partial<IpHashPlan> = {}): Policy {
  return buildPolicy({ ...IP_HASH, ...changes }, { identities: identitiesOf(size) });
}

function place(policy: Policy, pool: PoolView, clients: readonly IpAddress[]): number[] {
  return clients.map((client) => policy.pick(pool, makeRequest({ client })));
}

function shareOf(places: readonly number[], position: number): number {
  return places.filter((each) => each === position).length / places.length;
}

function shareMoved(before: readonly number[], after: readonly number[]): number {
  return before.filter((position, at) => position !== after[at]).length / before.length;
}

const sizes = fc.integer({ min: 1, max: 12 });
const mappings = fc.constantFrom('modulo', 'rendezvous');
const downSets = fc.array(fc.nat(11), { maxLength: 11 });

/** The rule as it is written, in big integers and with a list: slow, and nothing shared with the real one. */
function homeByTheBook(client: IpAddress, size: number, isEligible: (position: number) => boolean): number {
  const word = 2n ** 32n;
  let hash = 2166136261n;
  for (const byte of client.bytes) hash = ((hash ^ BigInt(byte)) * 16777619n) % word;
  const places = Array.from({ length: size }, (_, position) => position);
  const home = Number(hash % BigInt(size));
  if (isEligible(home)) return home;
  const others = places.filter((position) => position !== home);
  const second = others[Number((hash / BigInt(size)) % BigInt(others.length))]!;
  if (isEligible(second)) return second;
  for (let step = 2n; ; step += 1n) {
    let mixed = (hash + step * 0x9e3779b9n) % word;
    mixed = ((mixed ^ (mixed >> 16n)) * 0x85ebca6bn) % word;
    mixed = ((mixed ^ (mixed >> 13n)) * 0xc2b2ae35n) % word;
    const place = Number((mixed ^ (mixed >> 16n)) % BigInt(size));
    if (isEligible(place)) return place;
  }
}

describe('ip_hash', () => {
  test('goes home, to the second home, then to later ones exactly as the rule says', () => {
    fc.assert(
      fc.property(sizes, downSets, fc.nat(), (size, down, seed) => {
        const pool = makePool(size);
        for (const position of down) pool.states[position % size] = MEMBER_DOWN;
        fc.pre(pool.states.includes(MEMBER_ELIGIBLE));
        const clients = makeClients(20, seed);
        const isEligible = (position: number) => pool.states[position] === MEMBER_ELIGIBLE;
        const expected = clients.map((client) => homeByTheBook(client, size, isEligible));
        assert.deepEqual(place(ipHash(size), pool, clients), expected);
      }),
    );
  });

  test('a server that goes moves its own clients and nobody else, however many are down already', () => {
    fc.assert(
      fc.property(sizes, mappings, downSets, fc.nat(11), fc.nat(), (size, mapping, down, next, seed) => {
        const pool = makePool(size);
        for (const position of down) pool.states[position % size] = MEMBER_DOWN;
        const policy = ipHash(size, { mapping });
        const clients = makeClients(50, seed);
        const before = place(policy, pool, clients);
        pool.states[next % size] = MEMBER_DOWN;
        place(policy, pool, clients).forEach((position, at) => {
          if (before[at] !== next % size) assert.equal(position, before[at]);
          else assert.notEqual(position, next % size);
        });
      }),
    );
  });

  test('a server that comes back takes its own clients back and nobody else', () => {
    fc.assert(
      fc.property(sizes, mappings, downSets, fc.nat(), (size, mapping, down, seed) => {
        const pool = makePool(size);
        const policy = ipHash(size, { mapping });
        const clients = makeClients(50, seed);
        const home = place(policy, pool, clients);
        for (const position of down) pool.states[position % size] = MEMBER_DOWN;
        for (const position of down) {
          const before = place(policy, pool, clients);
          pool.states[position % size] = MEMBER_ELIGIBLE;
          place(policy, pool, clients).forEach((now, at) => assert.ok(now === before[at] || now === position % size));
        }
        assert.deepEqual(place(policy, pool, clients), home);
      }),
    );
  });

  test('shares of three servers are within two points of even for ten thousand addresses', () => {
    const clients = makeClients(10_000, 3);
    for (const mapping of ['modulo', 'rendezvous'] as const) {
      const places = place(ipHash(3, { mapping }), makePool(3), clients);
      for (const position of [0, 1, 2]) {
        assert.ok(Math.abs(shareOf(places, position) - 1 / 3) < 0.02, `${mapping}: ${shareOf(places, position)}`);
      }
    }
  });

  test('the clients of a dead server are spread over the others, at one and at several dead', () => {
    const clients = makeClients(20_000, 4);
    const pool = makePool(5);
    for (const dead of [1, 3]) {
      pool.states[dead] = MEMBER_DOWN;
      const left = pool.states.filter((state) => state === MEMBER_ELIGIBLE).length;
      const places = place(ipHash(5), pool, clients);
      pool.states.forEach((state, position) => {
        const expected = state === MEMBER_ELIGIBLE ? 1 / left : 0;
        assert.ok(Math.abs(shareOf(places, position) - expected) < 0.02, `${position}: ${shareOf(places, position)}`);
      });
    }
  });

  test('the textbook variant moves clients of healthy servers too', () => {
    const clients = makeClients(2_000, 5);
    const pool = makePool(3);
    const policy = ipHash(3, { onFailure: 'all' });
    const before = place(policy, pool, clients);
    pool.states[0] = MEMBER_DOWN;
    const healthy = before.flatMap((position, at) => (position === 0 ? [] : [at]));
    const after = place(policy, pool, clients);
    const moved = healthy.filter((at) => after[at] !== before[at]).length / healthy.length;
    assert.ok(moved > 0.4 && moved < 0.6, `${moved}`);
  });

  test('IPv6 clients of one /64 stay together', () => {
    const bytes = fc.uint8Array({ minLength: 16, maxLength: 16 });
    const policy = ipHash(7);
    fc.assert(
      fc.property(bytes, bytes, (one, other) => {
        one[0] = 0x20;
        other.set(one.subarray(0, 8));
        const [a, b] = [ipFromBytes(one), ipFromBytes(other)];
        assert.ok(a !== null && b !== null);
        const places = place(policy, makePool(7), [a, b]);
        assert.equal(places[0], places[1]);
      }),
    );
  });

  test('two tiers with different seeds place clients independently', () => {
    const clients = makeClients(9_000, 6);
    const front = place(ipHash(3), makePool(3), clients);
    const behind = clients.filter((_, at) => front[at] === 0);
    const same = place(ipHash(3), makePool(3), behind);
    const seeded = place(ipHash(3, { seed: 1 }), makePool(3), behind);
    assert.equal(shareOf(same, 0), 1);
    for (const position of [0, 1, 2]) assert.ok(Math.abs(shareOf(seeded, position) - 1 / 3) < 0.04);
  });
});

describe('rendezvous', () => {
  const clients = makeClients(10_000, 7);
  const placed = (size: number) => place(ipHash(size, { mapping: 'rendezvous' }), makePool(size), clients);

  test('adding one of N moves about one in N, and only to the new one', () => {
    for (const size of [3, 5, 10]) {
      const before = placed(size - 1);
      const after = placed(size);
      const moved = shareMoved(before, after);
      assert.ok(Math.abs(moved - 1 / size) < 0.02, `${size}: ${moved}`);
      after.forEach((position, at) => assert.ok(position === before[at] || position === size - 1));
    }
  });

  test('modulo moves most of them, which is why the mapping exists', () => {
    assert.ok(shareMoved(place(ipHash(4), makePool(4), clients), place(ipHash(5), makePool(5), clients)) > 0.7);
  });

  test('weights give shares in proportion', () => {
    const pool = makePool(3);
    pool.weights.splice(0, 3, 1, 2, 5);
    const places = place(ipHash(3, { mapping: 'rendezvous' }), pool, clients);
    pool.weights.forEach((weight, position) => {
      assert.ok(Math.abs(shareOf(places, position) - weight / 8) < 0.02, `${position}: ${shareOf(places, position)}`);
    });
  });

  test('a heavier member only draws clients, it sends none away', () => {
    const pool = makePool(4);
    const policy = ipHash(4, { mapping: 'rendezvous' });
    const before = place(policy, pool, clients);
    pool.weights[2] = 2;
    place(policy, pool, clients).forEach((position, at) => assert.ok(position === before[at] || position === 2));
  });
});

describe('cookie', () => {
  test('changing a pool from ip_hash to cookie with that fallback moves no client', () => {
    const clients = makeClients(1_000, 8);
    const cookie = buildPolicy({ ...COOKIE, fallback: IP_HASH }, { identities: identitiesOf(5) });
    for (const down of [[], [1], [0, 2, 3]]) {
      const pool = makePool(5);
      for (const position of down) pool.states[position] = MEMBER_DOWN;
      const before = place(ipHash(5), pool, clients);
      assert.deepEqual(place(cookie, pool, clients), before);
    }
  });

  test('a client that keeps its cookie stays over any number of failures elsewhere', () => {
    fc.assert(
      fc.property(fc.nat(4), downSets, (home, down) => {
        const pool = makePool(5);
        const policy = buildPolicy(COOKIE, { identities: identitiesOf(5) });
        const issue = makeRequest({ stickyAction: 'issue' });
        const cookies = policy.answered(pool, issue, home).split(';')[0]!;
        for (const position of down) if (position % 5 !== home) pool.states[position % 5] = MEMBER_DOWN;
        const request = makeRequest({ cookies });
        assert.equal(policy.pick(pool, request), home);
        assert.equal(policy.answered(pool, request, home), '');
      }),
    );
  });
});
