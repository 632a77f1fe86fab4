import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as errors from './errors.ts';

test('every fault has its own number, word and sentence, and a status of the 4xx or 5xx class', () => {
  const codes = Object.entries(errors).flatMap(([name, code]): [string, number][] =>
    typeof code === 'number' ? [[name, code]] : [],
  );
  const values = codes.map(([, code]) => code);
  assert.equal(new Set(values).size, values.length);
  assert.equal(new Set(values.map(errors.faultName)).size, values.length);
  assert.equal(new Set(values.map(errors.describeFault)).size, values.length);
  for (const [name, code] of codes) {
    assert.equal(errors.faultName(code), name.replace('ERROR_', '').toLowerCase());
    assert.ok(errors.faultStatus(code) >= 400 && errors.faultStatus(code) < 600);
  }
});

test('0 is no fault', () => {
  assert.deepEqual([errors.faultName(0), errors.faultStatus(0)], ['none', 0]);
});
