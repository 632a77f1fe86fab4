import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { cleanPath, createPathReader } from './path.ts';

describe('cleanPath', () => {
  const cases: readonly (readonly [path: string, merged: string, unmerged: string])[] = [
    ['/', '/', '/'],
    ['/a/./b', '/a/b', '/a/b'],
    ['/a/../b', '/b', '/b'],
    ['/a/b/..', '/a', '/a'],
    ['/a/b/../', '/a/', '/a/'],
    ['/../../a', '/a', '/a'],
    ['//a///b//', '/a/b/', '//a///b//'],
    ['//', '/', '//'],
    ['/a//../b', '/b', '/a/b'],
    ['/.hidden/..x', '/.hidden/..x', '/.hidden/..x'],
    ['*', '*', '*'],
  ];
  for (const [path, merged, unmerged] of cases) {
    test(`${path} is ${merged}, or ${unmerged} with runs of slashes kept`, () => {
      assert.equal(cleanPath(path, true), merged);
      assert.equal(cleanPath(path, false), unmerged);
    });
  }

  test('a clean path holds no dot segment and cleaning it again changes nothing', () => {
    const path = fc.array(fc.constantFrom('/', '.', '..', 'a', '/a')).map((parts) => `/${parts.join('')}`);
    fc.assert(
      fc.property(path, fc.boolean(), (dirty, merges) => {
        const clean = cleanPath(dirty, merges);
        assert.ok(clean.split('/').every((segment) => segment !== '.' && segment !== '..'));
        assert.equal(cleanPath(clean, merges), clean);
        if (merges) assert.ok(!clean.includes('//'));
      }),
    );
  });
});

test('a path reader answers for the target it is given, not for the one before', () => {
  const read = createPathReader();
  assert.equal(read('/A%2e%2E/x').merged, '/a../x');
  assert.equal(read('/A/%2e%2E/x?/..').merged, '/x');
  assert.equal(read('/b//c').unmerged, '/b//c');
  assert.equal(read('/b//c').merged, '/b/c');
});
