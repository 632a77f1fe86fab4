import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { findCookie } from './cookie-header.ts';

describe('findCookie', () => {
  const cases: readonly (readonly [cookies: string, value: string])[] = [
    ['', ''],
    ['lb=1', '1'],
    ['a=0; lb=1; b=2', '1'],
    ['lb=first; lb=second', 'first'],
    ['lb=; lb=second', ''],
    ['lb', ''],
    ['lb;lb=2', '2'],
    ['LB=1', ''],
    ['xlb=1; lbx=2; x=lb=3', ''],
    ['  lb=1  ;a=2', '1'],
    ['a=2;lb=1', '1'],
    [';;; lb=1', '1'],
    ['lb="1"', '"1"'],
    ['lb=a=b', 'a=b'],
    ['a=1, lb=2', ''],
  ];
  for (const [cookies, value] of cases) {
    test(`in '${cookies}' is '${value}'`, () => assert.equal(findCookie(cookies, 'lb'), value));
  }

  test('finds a cookie among any others', () => {
    const other = fc
      .tuple(fc.stringMatching(/^[a-km-z]{1,5}$/), fc.stringMatching(/^[^;]*$/))
      .map((pair) => pair.join('='));
    fc.assert(
      fc.property(fc.array(other), fc.array(other), (before, after) => {
        assert.equal(findCookie([...before, 'lb=v', ...after].join('; '), 'lb'), 'v');
      }),
    );
  });

  test('takes any text', () => {
    fc.assert(fc.property(fc.string(), (cookies) => assert.equal(typeof findCookie(cookies, 'lb'), 'string')));
  });
});
