import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainReason, REASONS, reasonCode } from './reasons.ts';

test('every reason has a number of its own, a cause and a remedy', () => {
  assert.equal(new Set(REASONS.map((reason) => reasonCode(reason.word))).size, REASONS.length);
  for (const { word, cause, remedy } of REASONS) {
    assert.deepEqual({ word, ...explainReason(word) }, { word, ...explainReason(word), cause, remedy });
    assert.match(cause, /\.$/);
    assert.match(remedy, /\.$/);
  }
});

test('no reason has the number 0 and nothing to explain', () => {
  assert.equal(reasonCode(''), 0);
  assert.deepEqual(explainReason(''), { cause: '', remedy: '' });
});
