import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { adaptCaddyfile } from '../caddyfile/adapt.ts';
import { errorStatusOf } from './error-status.ts';

/** The expression that `handle_errors` with these words adapts to. */
function expressionOf(words: readonly string[]): string {
  const { config } = adaptCaddyfile(`:80 {\nhandle_errors ${words.join(' ')} {\nrespond x\n}\n}\n`, {
    filename: 'Caddyfile',
    env: {},
  });
  const [expression] = /(?<="expression":)"[^"]*"/.exec(JSON.stringify(config)) ?? [];
  assert.ok(expression !== undefined);
  return JSON.parse(expression) as string;
}

test('whatever codes and classes handle_errors names, its expression is read back as them', () => {
  const word = fc.oneof(
    fc.integer({ min: 400, max: 599 }).map(String),
    fc.integer({ min: 1, max: 9 }).map((digit) => `${digit}xx`),
  );
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 8 }), (words) => {
      const wanted = words.map((text) => Number(text.replace('xx', '')));
      assert.deepEqual(errorStatusOf(expressionOf(words))?.toSorted(ascending), wanted.toSorted(ascending));
    }),
    { numRuns: 100 },
  );
});

test('any other expression stays one', () => {
  const status = '{http.error.status_code}';
  for (const expression of [
    '',
    `${status} == 404`,
    `${status} in [404] && path("/a")`,
    `${status} in [404] || true`,
    `${status} >= 400 && ${status} <= 599`,
    `!(${status} in [404])`,
    '{http.request.uri} in [404]',
  ]) {
    assert.equal(errorStatusOf(expression), null, expression);
  }
});

function ascending(left: number, right: number): number {
  return left - right;
}
