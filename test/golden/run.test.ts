import assert from 'node:assert/strict';
import path from 'node:path';
import test from 'node:test';
import { checkCase, goldenCases } from './golden.ts';

/** Cases of the outside suite that must pass; raise it when more do. */
const MUST_PASS = 95;

const own = path.join(import.meta.dirname, 'caddyfile');
for (const golden of goldenCases(own)) {
  test(`adapts ${golden.name} as written down`, () => checkCase(golden, own));
}

const outside = process.env['HOLDFAST_ADAPT_CASES'];
const skip = outside === undefined && 'HOLDFAST_ADAPT_CASES names no folder of adapt cases';

test(`adapts at least ${MUST_PASS} cases of the folder in HOLDFAST_ADAPT_CASES`, { skip }, (context) => {
  if (outside === undefined) return;
  const cases = goldenCases(outside);
  const failed: string[] = [];
  for (const golden of cases) {
    try {
      checkCase(golden, outside);
    } catch (error) {
      failed.push(golden.name);
      context.diagnostic(`${golden.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  context.diagnostic(`${cases.length - failed.length} of ${cases.length} cases pass`);
  assert.ok(cases.length - failed.length >= MUST_PASS, `too many fail: ${failed.join(', ')}`);
});
