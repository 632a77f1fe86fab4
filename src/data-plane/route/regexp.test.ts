import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { requestOf } from '../../../test/support/route-fixtures.ts';
import { NO_FACTS } from './placeholder/placeholder.ts';
import { compileRegexp, compileReplacement, replaceMatches } from './regexp.ts';

function replace(pattern: string, value: string, text: string): string {
  return replaceMatches(compileRegexp(pattern), value, compileReplacement(text, NO_FACTS), requestOf());
}

test('replaces what a plain engine replaces, for patterns both read alike', () => {
  const pattern = fc.constantFrom('a', 'a+', '(a)(b)?', '[ab]', 'a|b', 'ab', '^a', 'b$', '\\.');
  const value = fc.string({ unit: fc.constantFrom('a', 'b', '.', ' '), maxLength: 20 });
  fc.assert(
    fc.property(pattern, value, (source, text) => {
      const wanted = text.replace(new RegExp(source, 'g'), (match) => `<${match}>`);
      assert.equal(replace(source, text, '<${0}>'), wanted);
    }),
  );
});

test('matches that each read to the end of a long value are bounded, and nothing unread passes', () => {
  const value = 'a'.repeat(16_384);
  const replaced = replace('a.*z|a', value, 'b');
  assert.equal(replaced, 'b'.repeat(1024));
});

test('a value of usual size has all its matches replaced', () => {
  assert.equal(replace('a', 'a'.repeat(4096), 'b'), 'b'.repeat(4096));
});
