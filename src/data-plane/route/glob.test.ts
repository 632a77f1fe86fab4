import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ConfigError } from '../../shared/config-error.ts';
import { compileGlob } from './glob.ts';

describe('globs', () => {
  const cases: readonly (readonly [pattern: string, text: string, matches: boolean])[] = [
    ['/a', '/a', true],
    ['/a', '/a/', false],
    ['/a/*/c', '/a/b/c', true],
    ['/a/*/c', '/a//c', true],
    ['/a/*/c', '/a/b/b/c', false],
    ['/*.php/*', '/index.php/x', true],
    ['/a*b*c', '/aXbYbZc', true],
    ['/a*b*c', '/aXb/c', false],
    ['/?', '/x', true],
    ['/?', '//', false],
    ['/[a-c]x', '/bx', true],
    ['/[^a-c]x', '/bx', false],
    ['/[^a-c]x', '//x', false],
    ['/[]x]', '/]', true],
    [String.raw`/\*`, '/*', true],
    [String.raw`/\*`, '/x', false],
  ];
  for (const [pattern, text, matches] of cases) {
    test(`${pattern} ${matches ? 'takes' : 'refuses'} ${text}`, () =>
      assert.equal(compileGlob(pattern)(text), matches));
  }

  test('an unclosed class or a backslash at the end is an error at load', () => {
    assert.throws(() => compileGlob('/[a'), ConfigError);
    assert.throws(() => compileGlob('/a\\'), ConfigError);
  });

  test('agrees with a backtracking expression', () => {
    const piece = fc.constantFrom('a', 'b', '/', '*', '?');
    const text = fc.array(fc.constantFrom('a', 'b', '/'), { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), text, (pieces, path) => {
        const wild = new Map([
          ['*', '[^/]*'],
          ['?', '[^/]'],
        ]);
        const source = pieces.map((part) => wild.get(part) ?? part).join('');
        assert.equal(compileGlob(pieces.join(''))(path), new RegExp(`^${source}$`).test(path));
      }),
      { numRuns: 2000 },
    );
  });

  test('many stars against a long hostile path still end', () => {
    assert.equal(compileGlob(`/${'*a'.repeat(12)}*b`)(`/${'a'.repeat(16_000)}`), false);
  });
});
