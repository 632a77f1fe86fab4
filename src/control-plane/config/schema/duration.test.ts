import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatDuration, parseDuration } from './duration.ts';

test('a duration is whole nanoseconds or text in Go syntax with days', () => {
  const cases: readonly (readonly [unknown, number])[] = [
    [30_000_000_000, 30_000],
    [0, 0],
    ['0', 0],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['1.1s', 1100],
    ['2d', 172_800_000],
    ['250ms', 250],
    ['-1s', -1000],
    ['+1s', 1000],
  ];
  for (const [value, ms] of cases) assert.equal(parseDuration(value), ms, String(value));
});

test('a fraction of a millisecond is rounded away from zero', () => {
  assert.equal(parseDuration(1), 1);
  assert.equal(parseDuration('500us'), 1);
  assert.equal(parseDuration('500µs'), 1);
  assert.equal(parseDuration(-1), -1);
  assert.equal(parseDuration('1000001ns'), 2);
});

test('what is no duration is undefined', () => {
  for (const value of ['', '5', '1x', '1s ', ' 1s', 's', '.s', '1m30', 1.5, Number.NaN, null, {}, [], true]) {
    assert.equal(parseDuration(value), undefined, JSON.stringify(value));
  }
});

test('a printed duration reads back as itself', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e11, max: 1e11 }), (ms) => {
      assert.equal(parseDuration(formatDuration(ms)), ms);
    }),
  );
});
