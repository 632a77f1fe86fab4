import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { preferredCoding } from './accept-encoding.ts';

const NAMES = ['zstd', 'br', 'gzip'] as const;

for (const [accepted, expected] of [
  ['', null],
  ['identity', null],
  ['gzip', 'gzip'],
  ['GZIP', 'gzip'],
  ['gzip, br', 'br'],
  ['gzip;q=1.0, br;q=0.9', 'gzip'],
  ['gzip; q=0.5 , br ; q=0.5', 'br'],
  ['br;q=0', null],
  ['br;q=0.000', null],
  ['*', 'zstd'],
  ['zstd;q=0, *', 'br'],
  ['*;q=0.1, gzip;q=0.2', 'gzip'],
  ['x-gzip', null],
  ['gzip;q=nonsense', 'gzip'],
  ['gzip;level=9;q=0.3, br;q=0.2', 'gzip'],
  [',,gzip,', 'gzip'],
] as const) {
  test(`'${accepted}' of zstd, br and gzip is ${expected ?? 'none'}`, () => {
    assert.equal(preferredCoding(accepted, NAMES), expected);
  });
}

test('whatever a client sends, the answer is one of the formats or none', () => {
  fc.assert(
    fc.property(fc.string(), (accepted) => {
      const found = preferredCoding(accepted, NAMES);
      assert.ok(found === null || NAMES.includes(found));
    }),
  );
});
