import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestWord } from './near-miss.ts';

test('a slip or two still finds the word', () => {
  const words = ['listen', 'routes', 'read_timeout', 'accept'];
  assert.equal(nearestWord('listn', words), 'listen');
  assert.equal(nearestWord('rotues', words), 'routes');
  assert.equal(nearestWord('read_timeouts', words), 'read_timeout');
  assert.equal(nearestWord('accept', words), 'accept');
});

test('another word, and a short one that is half wrong, find nothing', () => {
  assert.equal(nearestWord('upstreams', ['listen', 'routes']), null);
  assert.equal(nearestWord('ur', ['uri', 'not']), 'uri');
  assert.equal(nearestWord('x', ['add', 'set']), null);
  assert.equal(nearestWord('a'.repeat(100_000), ['listen']), null);
});
