import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { requestOf } from '../../../test/support/route-fixtures.ts';
import type { QueryOpsPlan } from '../../shared/plan/types.ts';
import { NO_FACTS } from './placeholder/placeholder.ts';
import { compileQueryOps } from './query-ops.ts';

const NONE: QueryOpsPlan = { rename: [], set: [], add: [], replace: [], delete: [] };

function change(query: string | null, plan: Partial<QueryOpsPlan>): string | null {
  return compileQueryOps({ ...NONE, ...plan }, NO_FACTS)(query, requestOf());
}

const pair = (key: string, value: string): { key: string; value: string } => ({ key, value });

test('parts that no operation names keep their bytes and their order', () => {
  assert.equal(change('b=%7e&a&&c=+x', { set: [pair('new', '1')] }), 'b=%7e&a&c=+x&new=1');
});

test('a key is set where it stood first, and once', () => {
  assert.equal(change('a=1&b=2&a=3', { set: [pair('a', 'x y')] }), 'a=x%20y&b=2');
  assert.equal(change(null, { set: [pair('a', '1')] }), 'a=1');
});

test('a value is added behind those that are there', () => {
  assert.equal(change('a=1&b=2', { add: [pair('a', '3')] }), 'a=1&b=2&a=3');
});

test('a renamed key takes the place of the one that had its new name', () => {
  assert.equal(change('old=1&new=2&old=3', { rename: [pair('old', 'new')] }), 'new=1&new=3');
  assert.equal(change('new=2', { rename: [pair('old', 'new')] }), 'new=2');
});

test('a key is deleted however it is written, and the last one takes the question mark along', () => {
  assert.equal(change('%61=1&b=2&a', { delete: ['a'] }), 'b=2');
  assert.equal(change('a=1', { delete: ['a'] }), null);
});

test('values are replaced decoded, by text or expression, of one key or of all', () => {
  const rule = { search: '', searchRegexp: '', replace: '' };
  assert.equal(change('a=x%26y&b=x', { replace: [{ ...rule, key: 'a', search: '&', replace: '=' }] }), 'a=x%3Dy&b=x');
  const all = { ...rule, key: '*', searchRegexp: '(\\d+)', replace: '<$1>' };
  assert.equal(change('a=1&b=x&c=22', { replace: [all] }), 'a=%3C1%3E&b=x&c=%3C22%3E');
});

test('operations run in the order rename, set, add, replace, delete', () => {
  const plan: Partial<QueryOpsPlan> = {
    delete: ['gone'],
    replace: [{ key: 'b', search: '1', searchRegexp: '', replace: '2' }],
    add: [pair('b', '1')],
    set: [pair('b', '0')],
    rename: [pair('a', 'b')],
  };
  assert.equal(change('a=9&gone=1', plan), 'b=0&b=2');
});

test('values of a request cannot end their part', () => {
  const plan = { set: [pair('from', '{http.request.header.x}')] };
  const setFrom = compileQueryOps({ ...NONE, ...plan }, NO_FACTS);
  fc.assert(
    fc.property(fc.string(), (text) => {
      const value = text.replace(/[^\x21-\x7e]/g, '');
      const query = setFrom('a=1', requestOf({ fields: ['X', value] }));
      assert.match(query ?? '', /^a=1&from=[^&=#? ]*$/);
      assert.equal(new URLSearchParams(query ?? '').get('from'), value);
    }),
  );
});
