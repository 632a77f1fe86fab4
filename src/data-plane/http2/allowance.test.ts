import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Allowance } from './allowance.ts';

function taken(allowance: Allowance, nowMs: number, times: number): number {
  return Array.from({ length: times }, () => allowance.take(nowMs)).filter(Boolean).length;
}

test('a burst is allowed, then so many a second', () => {
  const allowance = new Allowance(10, 5, 1000);
  assert.equal(taken(allowance, 1000, 20), 10);
  assert.equal(taken(allowance, 2000, 20), 5);
  assert.equal(taken(allowance, 2100, 20), 0);
  assert.equal(taken(allowance, 2200, 20), 1);
});

test('it never holds more than the burst', () => {
  const allowance = new Allowance(3, 100, 0);
  assert.equal(taken(allowance, 1_000_000, 10), 3);
  for (let at = 0; at < 10; at += 1) allowance.give();
  assert.equal(taken(allowance, 1_000_000, 10), 3);
});

test('what is given back can be taken', () => {
  const allowance = new Allowance(1, 0, 0);
  assert.equal(allowance.take(0), true);
  assert.equal(allowance.take(0), false);
  allowance.give();
  assert.equal(allowance.take(0), true);
});
