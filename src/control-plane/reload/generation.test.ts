import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Generations } from './generation.ts';

function generations(): { of: Generations<object>; released: number[] } {
  const released: number[] = [];
  return { released, of: new Generations((generation) => released.push(generation)) };
}

test('an old generation is released when the last worker that runs it is idle, not before', () => {
  const { of, released } = generations();
  const [a, b] = [{}, {}];
  of.commit(1, [a, b]);
  of.commit(2, [a, b]);
  of.idle(a, 1);
  assert.deepEqual(released, []);
  of.idle(b, 1);
  assert.deepEqual(released, [1]);
});

test('the generation in force is never released, even without a worker', () => {
  const { of, released } = generations();
  const worker = {};
  of.commit(1, [worker]);
  of.gone(worker);
  assert.deepEqual(released, []);
  of.commit(2, []);
  assert.deepEqual(released, [1]);
});

test('a dead worker holds no generation, and each is released once', () => {
  const { of, released } = generations();
  const [a, b] = [{}, {}];
  of.commit(1, [a]);
  of.join(b, 1);
  of.commit(2, [a, b]);
  of.commit(3, [a, b]);
  of.gone(a);
  assert.deepEqual(released, []);
  of.idle(b, 2);
  of.idle(b, 1);
  of.gone(b);
  assert.deepEqual(released, [2, 1]);
});
