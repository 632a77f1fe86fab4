import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sessionsPossible } from './descriptors.ts';

test('half of the descriptors may be sessions', () => {
  const limits =
    'Limit                     Soft Limit           Hard Limit           Units\nMax open files            1024                 4096                 files\n';
  assert.equal(
    sessionsPossible(() => limits),
    512,
  );
});

test('a system that does not tell sets no limit', () => {
  assert.equal(
    sessionsPossible(() => ''),
    Infinity,
  );
});

test('this system tells, or has no /proc', () => {
  assert.ok(sessionsPossible() >= 1);
});
