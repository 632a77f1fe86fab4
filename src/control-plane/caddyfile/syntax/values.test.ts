import assert from 'node:assert/strict';
import test from 'node:test';
import { parseByteSize, parseDurationNs, parseInteger } from './values.ts';

for (const [text, ns] of [
  ['10s', 10e9],
  ['1m30s', 90e9],
  ['1.5h', 5400e9],
  ['90d', 90 * 86_400e9],
  ['250ms', 250e6],
  ['5µs', 5000],
  ['-1s', -1e9],
  ['0', 0],
  ['10', null],
  ['s', null],
  ['1s2', null],
  ['1 s', null],
  ['--1s', null],
  ['9999999d', null],
] as const) {
  test(`'${text}' is ${ns === null ? 'no duration' : `${ns} nanoseconds`}`, () => {
    assert.equal(parseDurationNs(text), ns);
  });
}

for (const [text, bytes] of [
  ['10', 10],
  ['4KB', 4000],
  ['4kb', 4000],
  ['4KiB', 4096],
  ['1.5MB', 1_500_000],
  ['1gib', 2 ** 30],
  ['1 MB', 1_000_000],
  ['-1', null],
  ['4XB', null],
  ['constructor', null],
  ['1constructor', null],
] as const) {
  test(`'${text}' is ${bytes === null ? 'no size' : `${bytes} bytes`}`, () => {
    assert.equal(parseByteSize(text), bytes);
  });
}

test('only whole decimal numbers that are exact count as integers', () => {
  assert.deepEqual(['12', '-3', '1e3', '0x10', '1.0', '', '9007199254740993'].map(parseInteger), [
    12,
    -3,
    null,
    null,
    null,
    null,
    null,
  ]);
});
