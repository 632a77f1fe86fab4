import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { MEMBER_DOWN } from '../../shared/state-table/layout.ts';
import { seededRandom } from '../../shared/random.ts';
import { makePool, makeRequest, type TestPool } from './policy.contract.ts';
import { smoothTurns, weightedUsable } from './weighted.ts';
import { createWeightedRoundRobin } from './weighted-round-robin.ts';
import { leastConnPolicy } from './least-conn.ts';
import { createRandomChoose } from './random-choose.ts';

function turnsOf(...values: readonly number[]): number[] {
  return [...smoothTurns({ values, max: Math.max(0, ...values) })];
}

function countsOf(turns: readonly number[], members: number): number[] {
  const counts = Array.from({ length: members }, () => 0);
  for (const position of turns) counts[position]! += 1;
  return counts;
}

function weightedPool(...weights: readonly number[]): TestPool {
  const pool = makePool(weights.length);
  pool.weights.splice(0, weights.length, ...weights);
  const table = { values: weights, max: Math.max(...weights) };
  return { ...pool, weightTable: () => table };
}

function assertShares(counts: readonly number[], shares: readonly number[]): void {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const whole = shares.reduce((sum, share) => sum + share, 0);
  counts.forEach((count, at) => {
    const expected = (total * shares[at]!) / whole;
    assert.ok(Math.abs(count - expected) <= total * 0.03, `member ${at}: ${count} instead of ${expected}`);
  });
}

describe('smooth turns', () => {
  test('are mixed, not in bursts', () => {
    assert.deepEqual(turnsOf(3, 2, 1), [0, 1, 0, 2, 1, 0]);
    assert.deepEqual(turnsOf(5, 1, 1), [0, 0, 1, 0, 2, 0, 0]);
  });

  test('are as short as the weights allow', () => {
    assert.deepEqual(turnsOf(7, 7, 7), [0, 1, 2]);
    assert.deepEqual(turnsOf(20, 10), [0, 1, 0]);
  });

  test('leave out weight 0', () => {
    assert.deepEqual(turnsOf(0, 2, 0, 1), [1, 3, 1]);
    assert.deepEqual(turnsOf(0, 0), []);
    assert.deepEqual(turnsOf(), []);
  });

  test('give everybody as many turns in a round as its weight says, and never far from its share on the way', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20), { minLength: 1, maxLength: 12 }), (weights) => {
        const turns = turnsOf(...weights);
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        if (total === 0) return;
        const had = weights.map(() => 0);
        turns.forEach((position, at) => {
          had[position]! += 1;
          const due = ((at + 1) * weights[position]!) / total;
          assert.ok(had[position]! - due <= weights.length, `member ${position} has ${had[position]} turns of ${due}`);
        });
        const scale = turns.length / total;
        assert.deepEqual(
          had,
          weights.map((weight) => weight * scale),
        );
      }),
    );
  });

  test('of large pools and large weights stay few, and everybody has one', () => {
    const many = Array.from({ length: 5000 }, (_, at) => 1 + (at % 7));
    const turns = turnsOf(...many);
    assert.deepEqual([...new Set(countsOf(turns, 5000))].includes(0), false);
    assert.ok(turns.length <= 40_000);
    const uneven = countsOf(turnsOf(65_535, 1, 32_768), 3);
    assert.ok(uneven[1] === 1 && uneven[0]! + uneven[2]! < 20_000);
    assert.ok(Math.abs(uneven[0]! / uneven[2]! - 2) < 0.01);
  });
});

describe('weighted_round_robin', () => {
  test('takes turns by weight, beginning with the first', () => {
    const pool = weightedPool(3, 2, 1);
    const policy = createWeightedRoundRobin();
    const picks = Array.from({ length: 12 }, () => policy.pick(pool, makeRequest()));
    assert.deepEqual(picks, [0, 1, 0, 2, 1, 0, 0, 1, 0, 2, 1, 0]);
  });

  test('keeps the proportions of the others when one is down', () => {
    const pool = weightedPool(4, 2, 1);
    pool.states[0] = MEMBER_DOWN;
    const policy = createWeightedRoundRobin();
    const picks = Array.from({ length: 90 }, () => policy.pick(pool, makeRequest()));
    assert.deepEqual(countsOf(picks, 3), [0, 60, 30]);
  });

  test('lets chance by weight decide when those who are away own nearly all turns', () => {
    const pool = weightedPool(10_000, 2, 1);
    pool.states[0] = MEMBER_DOWN;
    const policy = createWeightedRoundRobin();
    const random = seededRandom(5);
    const picks = Array.from({ length: 3000 }, () => policy.pick(pool, makeRequest({ random })));
    assertShares(countsOf(picks, 3), [0, 2, 1]);
  });

  test('follows weights that change', () => {
    const pool = makePool(2);
    const policy = createWeightedRoundRobin();
    const take = (count: number): number[] => Array.from({ length: count }, () => policy.pick(pool, makeRequest()));
    assert.deepEqual(countsOf(take(8), 2), [4, 4]);
    pool.weights[0] = 3;
    assert.deepEqual(countsOf(take(8), 2), [6, 2]);
  });
});

describe('by weight', () => {
  test('random gives each its share of the chance, down to one that hardly ever comes', () => {
    const pool = weightedPool(100, 10, 1, 50);
    pool.states[3] = MEMBER_DOWN;
    const request = makeRequest({ random: seededRandom(3) });
    const picks = Array.from({ length: 20_000 }, () => weightedUsable(pool, request));
    const counts = countsOf(picks, 4);
    assertShares(counts, [100, 10, 1, 0]);
    assert.ok(counts[2]! > 90 && counts[2]! < 300, `weight 1 came ${counts[2]} times`);
  });

  test('least_conn compares exchanges for each unit of weight', () => {
    const pool = weightedPool(4, 1);
    pool.loads.splice(0, 2, 6, 1);
    assert.equal(leastConnPolicy.pick(pool, makeRequest()), 0);
    pool.loads[0] = 8;
    assert.equal(leastConnPolicy.pick(pool, makeRequest()), 1);
  });
});

describe('random_choose', () => {
  const spread = (choose: number, loads: readonly number[], picks = 6000): number[] => {
    const pool = makePool(loads.length);
    pool.loads.splice(0, loads.length, ...loads);
    const policy = createRandomChoose(choose);
    const request = makeRequest({ random: seededRandom(8) });
    return countsOf(
      Array.from({ length: picks }, () => policy.pick(pool, request)),
      loads.length,
    );
  };

  test('of two different ones takes the better: the best of four wins half of the draws, the worst none', () => {
    assertShares(spread(2, [0, 1, 2, 3]), [3, 2, 1, 0]);
  });

  test('of as many as there are takes the least loaded, ties at random', () => {
    assertShares(spread(4, [2, 0, 5, 0]), [0, 1, 0, 1]);
    assertShares(spread(9, [2, 0, 5, 0]), [0, 1, 0, 1]);
  });

  test('never takes a loaded one before an idle one it has drawn, also in a large pool', () => {
    const counts = spread(
      3,
      Array.from({ length: 100 }, (_, at) => (at === 0 ? 9 : 0)),
    );
    assert.ok(counts[0]! <= 2, `the loaded one was taken ${counts[0]} times`);
  });
});
