import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StateTable } from '../../../shared/state-table/table.ts';
import { SessionBudget, sessionsPossible } from './descriptors.ts';

test('half of the descriptors may be sessions', () => {
  const limits =
    'Limit                     Soft Limit           Hard Limit           Units\nMax open files            1024                 4096                 files\n';
  assert.equal(
    sessionsPossible(() => limits),
    512,
  );
});

test('a system that does not tell sets no limit', () => {
  assert.equal(
    sessionsPossible(() => ''),
    Infinity,
  );
});

test('this system tells, or has no /proc', () => {
  assert.ok(sessionsPossible() >= 1);
});

function budgets(possible: number, count: number): SessionBudget[] {
  const table = new StateTable();
  table.grow('lane', 0, count);
  for (let lane = 0; lane < count; lane += 1) table.grow('server', lane, 0);
  return Array.from({ length: count }, (_, lane) => new SessionBudget({ table, lane }, () => possible));
}

test('one socket may have all sessions', () => {
  const [budget] = budgets(100, 1);
  assert.equal(budget!.most(1), 100);
  for (let own = 0; own < 100; own += 1) {
    assert.ok(budget!.hasRoom(own, 1));
    budget!.count(1);
  }
  assert.ok(!budget!.hasRoom(100, 1));
  budget!.count(-1);
  assert.ok(budget!.hasRoom(99, 1));
});

test('a flooded socket leaves each of the others its part, and all together stay within the limit', () => {
  const sockets = budgets(120, 3);
  const held = sockets.map((budget) => {
    let own = 0;
    for (; budget.hasRoom(own, 3); own += 1) budget.count(1);
    return own;
  });
  assert.deepEqual(held, [80, 20, 20]);
});

test('with fewer descriptors than sockets each may have one session', () => {
  const [budget] = budgets(2, 1);
  assert.ok(budget!.hasRoom(0, 1000));
  budget!.count(1);
  assert.ok(!budget!.hasRoom(1, 1000));
});
