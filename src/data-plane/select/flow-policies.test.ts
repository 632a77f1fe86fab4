/** Policies for connections and sessions: source_hash, tuple_hash, quic_cid, weighted_least_conn. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseIp } from '../../shared/net/ip.ts';
import {
  MEMBER_DOWN,
  MEMBER_DRAIN,
  MEMBER_FULL,
  MEMBER_MAINT,
  MEMBER_STRUCK,
} from '../../shared/state-table/layout.ts';
import { seededRandom } from '../../shared/random.ts';
import { compileClientKeys, DEFAULT_KEY_OPTIONS } from './client-key.ts';
import { buildPolicy } from './index.ts';
import { FULL_SCAN_MEMBERS } from './draws.ts';
import { MaglevTable } from './maglev.ts';
import { identitiesOf, makePool, makeRequest, SOURCE_HASH } from './policy.contract.ts';
import type { FlowFacts, PickRequest } from './policy.ts';
import { tupleHash } from './tuple-hash.ts';
import { weightedLeastConnPolicy } from './weighted-least-conn.ts';

const FLOW: FlowFacts = {
  peerPort: 40_000,
  localAddress: '192.0.2.1',
  localPort: 443,
  connectionHash: -1,
  knownPosition: -1,
};

function flow(changes: Partial<FlowFacts> = {}, client = '203.0.113.5'): PickRequest {
  return makeRequest({ client: parseIp(client), flow: { ...FLOW, ...changes } });
}

describe('source_hash', () => {
  test('goes by the masked address alone: neither ports nor the low half of an IPv6 address count', () => {
    const policy = buildPolicy(SOURCE_HASH, { identities: identitiesOf(7) });
    const pool = makePool(7);
    const first = policy.pick(pool, flow({}, '2001:db8:1:2::1'));
    for (let port = 1; port < 40; port += 1) {
      const request = flow({ peerPort: port, localPort: port }, `2001:db8:1:2:ffff::${port}`);
      assert.equal(policy.pick(pool, request), first);
      assert.equal(request.affinity, 'hit');
    }
    pool.states[first] = MEMBER_DOWN;
    const moved = flow({}, '2001:db8:1:2::1');
    assert.notEqual(policy.pick(pool, moved), first);
    assert.equal(moved.affinity, 'moved');
  });

  test('with another seed clients stand elsewhere', () => {
    const [one, other] = [null, 9].map((seed) =>
      buildPolicy({ ...SOURCE_HASH, seed }, { identities: identitiesOf(7) }),
    );
    const pool = makePool(7);
    const clients = Array.from({ length: 60 }, (_, host) => flow({}, `203.0.113.${host}`));
    assert.ok(clients.some((client) => one!.pick(pool, client) !== other!.pick(pool, client)));
  });
});

describe('tuple_hash', () => {
  test('hashes both ends byte by byte, in network order', () => {
    // FNV-1a of cb 00 71 05, 9c 40, c0 00 02 01, 01 bb.
    assert.equal(tupleHash(flow()), 52208329);
    assert.equal(tupleHash(flow({ localAddress: '::ffff:192.0.2.1' })), 52208329);
  });

  test('each of the four numbers counts', () => {
    const hashes = [
      flow(),
      flow({ peerPort: 40_001 }),
      flow({ localPort: 444 }),
      flow({ localAddress: '192.0.2.2' }),
      flow({ localAddress: '' }),
      flow({}, '203.0.113.6'),
    ].map(tupleHash);
    assert.equal(new Set(hashes).size, hashes.length);
  });

  test('connections of one client are spread, and the same connection goes to the same member', () => {
    const policy = buildPolicy({ policy: 'tuple_hash' }, { identities: identitiesOf(4) });
    const pool = makePool(4);
    const picks = Array.from({ length: 200 }, (_, at) => policy.pick(pool, flow({ peerPort: 30_000 + at })));
    for (const position of [0, 1, 2, 3]) assert.ok(picks.filter((pick) => pick === position).length > 20);
    assert.equal(policy.pick(pool, flow({ peerPort: 30_000 })), picks[0]);
  });
});

describe('quic_cid', () => {
  const policy = buildPolicy({ policy: 'quic_cid' }, { identities: identitiesOf(5) });

  test('a new connection goes by its id wherever it comes from, anything else by its address as with source_hash', () => {
    const pool = makePool(5);
    const table = new MaglevTable(identitiesOf(5));
    const bySource = buildPolicy(SOURCE_HASH, { identities: identitiesOf(5) });
    const keys = compileClientKeys(DEFAULT_KEY_OPTIONS);
    fc.assert(
      fc.property(fc.nat(), fc.nat({ max: 255 }), (connectionHash, host) => {
        const client = `203.0.113.${host}`;
        assert.equal(policy.pick(pool, flow({ connectionHash }, client)), table.pick(pool, flow(), connectionHash));
        assert.equal(policy.pick(pool, flow({}, client)), bySource.pick(pool, flow({}, client)));
        assert.equal(policy.pick(pool, flow({}, client)), table.pick(pool, flow(), keys.hash(parseIp(client))));
      }),
    );
  });

  test('a known connection stays with its member, also one that drains, but not with one that fails or was tried', () => {
    const pool = makePool(5);
    for (const knownPosition of [0, 1, 2, 3, 4]) {
      assert.equal(policy.pick(pool, flow({ knownPosition })), knownPosition);
      pool.states[knownPosition] = MEMBER_DRAIN;
      assert.equal(policy.pick(pool, flow({ knownPosition })), knownPosition);
      for (const state of [MEMBER_DOWN, MEMBER_MAINT, MEMBER_FULL, MEMBER_STRUCK]) {
        pool.states[knownPosition] = state;
        assert.notEqual(policy.pick(pool, flow({ knownPosition })), knownPosition);
      }
      pool.states[knownPosition] = 1;
      assert.notEqual(policy.pick(pool, { ...flow({ knownPosition }), tried: [knownPosition] }), knownPosition);
    }
  });

  test('explains what it knew', () => {
    const sentences = policy.explain(makePool(5), flow({ knownPosition: 3, connectionHash: 7 })).join('\n');
    assert.match(sentences, /hash 7\n/);
    assert.match(sentences, /known to be on upstream 3 \(app-4:3000\): it stays there/);
  });
});

describe('weighted_least_conn', () => {
  test('takes the one with the fewest running for its weight; an idle one always comes first', () => {
    const pool = makePool(3);
    pool.weights.splice(0, 3, 10, 1, 4);
    pool.loads.splice(0, 3, 9, 1, 3);
    assert.equal(weightedLeastConnPolicy.pick(pool, makeRequest()), 2);
    pool.loads[1] = 0;
    assert.equal(weightedLeastConnPolicy.pick(pool, makeRequest()), 1);
    pool.states[1] = MEMBER_DOWN;
    pool.loads[2] = 4;
    assert.equal(weightedLeastConnPolicy.pick(pool, makeRequest()), 0);
  });

  test('among equals chance decides, by weight', () => {
    const pool = makePool(3);
    pool.weights.splice(0, 3, 1, 2, 5);
    const random = seededRandom(11);
    const counts = [0, 0, 0];
    for (let at = 0; at < 4000; at += 1) counts[weightedLeastConnPolicy.pick(pool, makeRequest({ random }))]! += 1;
    [500, 1000, 2500].forEach((expected, at) => assert.ok(Math.abs(counts[at]! - expected) < 150, counts.join()));
  });

  test('running work settles in proportion to the weights, in large pools too', () => {
    for (const size of [4, FULL_SCAN_MEMBERS + 36]) {
      const pool = makePool(size);
      pool.weights.forEach((_, at) => void (pool.weights[at] = 1 + (at % 4)));
      const random = seededRandom(3);
      const sum = pool.weights.reduce((total, weight) => total + weight, 0);
      for (let at = 0; at < sum * 20; at += 1) {
        pool.loads[weightedLeastConnPolicy.pick(pool, makeRequest({ random }))]! += 1;
      }
      pool.loads.forEach((load, at) => {
        assert.ok(Math.abs(load / pool.weights[at]! - 20) <= 6, `${load} at weight ${pool.weights[at]}`);
      });
    }
  });
});
