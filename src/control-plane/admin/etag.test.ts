import assert from 'node:assert/strict';
import { test } from 'node:test';
import { etagOf, xxHash64 } from './etag.ts';

const VECTORS: readonly (readonly [string, string])[] = [
  ['', 'ef46db3751d8e999'],
  ['a', 'd24ec4f1a98c6e5b'],
  ['abc', '44bc2cf5ad770999'],
  ['Nobody inspects the spammish repetition', 'fbcea83c8a378bf1'],
];

for (const [text, hash] of VECTORS) {
  test(`xxHash64 of ${JSON.stringify(text)} is the published value`, async () => {
    assert.equal((await xxHash64(Buffer.from(text))).toString(16), hash);
  });
}

test('an entity tag names the path and changes with the body', async () => {
  assert.equal(await etagOf('/config/', ''), '"/config/ ef46db3751d8e999"');
  assert.notEqual(await etagOf('/config/', 'null\n'), await etagOf('/config/', '1\n'));
});
