import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MEMBER_DOWN, MEMBER_DRAIN, MEMBER_INITIAL } from '../../shared/state-table/layout.ts';
import { seededRandom } from '../../shared/random.ts';
import { firstPolicy } from './first.ts';
import { leastConnPolicy } from './least-conn.ts';
import { FULL_SCAN_MEMBERS } from './draws.ts';
import { makePool, makeRequest, type TestPool } from './policy.contract.ts';
import type { Policy } from './policy.ts';
import { randomPolicy } from './random.ts';
import { roundRobinPolicy } from './round-robin.ts';

/** How often each member was picked. */
function spread(policy: Policy, pool: TestPool, picks: number): number[] {
  const counts = Array.from({ length: pool.size }, () => 0);
  const request = makeRequest({ random: seededRandom(42) });
  for (let at = 0; at < picks; at += 1) counts[policy.pick(pool, request)]! += 1;
  return counts;
}

function assertEven(counts: readonly number[], members: readonly number[], picks: number): void {
  counts.forEach((count, position) => {
    const expected = members.includes(position) ? picks / members.length : 0;
    assert.ok(Math.abs(count - expected) <= picks * 0.03, `member ${position}: ${count} instead of ${expected}`);
  });
}

describe('round_robin', () => {
  test('starts with the first and takes turns', () => {
    const pool = makePool(3);
    const picks = Array.from({ length: 6 }, () => roundRobinPolicy.pick(pool, makeRequest()));
    assert.deepEqual(picks, [0, 1, 2, 0, 1, 2]);
  });

  test('goes on to the next in order when one is down, and shares its turns among the others', () => {
    const pool = makePool(3);
    pool.states[1] = MEMBER_DOWN;
    const picks = Array.from({ length: 6 }, () => roundRobinPolicy.pick(pool, makeRequest()));
    assert.deepEqual(picks, [0, 2, 0, 2, 0, 2]);
  });

  test('finds the eligible one even when other threads take the tickets in between', () => {
    const pool = makePool(2);
    pool.states[0] = MEMBER_DOWN;
    const contended = { ...pool, nextTicket: () => 2, size: 2 };
    assert.equal(roundRobinPolicy.pick(contended, makeRequest()), 1);
  });

  test('goes on over the end of the ticket numbers', () => {
    const pool = makePool(3);
    pool.tickets = 0xffffffff;
    const picks = Array.from({ length: 3 }, () => roundRobinPolicy.pick(pool, makeRequest()));
    assert.deepEqual(picks, [0, 0, 1]);
  });
});

describe('random', () => {
  test('spreads evenly over the eligible ones', () => {
    const pool = makePool(4);
    pool.states[2] = MEMBER_DRAIN;
    assertEven(spread(randomPolicy, pool, 6000), [0, 1, 3], 6000);
  });

  test('spreads evenly even when hardly any of many is eligible', () => {
    const pool = makePool(500);
    pool.states.fill(MEMBER_DOWN);
    for (const position of [3, 4, 490]) pool.states[position] = 1;
    assertEven(spread(randomPolicy, pool, 3000), [3, 4, 490], 3000);
  });
});

describe('least_conn', () => {
  test('picks the one with the fewest running exchanges', () => {
    const pool = makePool(4);
    pool.loads.splice(0, 4, 5, 2, 1, 9);
    assert.equal(leastConnPolicy.pick(pool, makeRequest()), 2);
    pool.states[2] = MEMBER_INITIAL;
    assert.equal(leastConnPolicy.pick(pool, makeRequest()), 1);
  });

  test('breaks ties at random and fairly', () => {
    const pool = makePool(5);
    pool.loads[1] = 3;
    assertEven(spread(leastConnPolicy, pool, 6000), [0, 2, 3, 4], 6000);
  });

  test('compares two samples in a large pool', () => {
    const pool = makePool(FULL_SCAN_MEMBERS + 1);
    pool.loads[0] = 1000;
    const counts = spread(leastConnPolicy, pool, 5000);
    assert.ok(counts[0]! <= 10, `the loaded member was picked ${counts[0]} times`);
    assert.ok(counts.filter((count) => count > 0).length > 60, 'the others were all used');
  });
});

test('first picks the first eligible one in configured order', () => {
  const pool = makePool(3);
  assert.equal(firstPolicy.pick(pool, makeRequest()), 0);
  pool.states[0] = MEMBER_DOWN;
  assert.equal(firstPolicy.pick(pool, makeRequest()), 1);
  assert.equal(firstPolicy.pick(pool, makeRequest({ tried: [1] })), 2);
});
