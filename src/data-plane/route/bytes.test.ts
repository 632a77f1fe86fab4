import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodePercent, fromBytes, lowerAscii, percentEncode, toBytes } from './bytes.ts';

test('escapes become bytes, and what is no escape stays as it is', () => {
  assert.equal(decodePercent('/a%2Fb%2f%41%00'), '/a/b/A\0');
  for (const text of ['%', '%4', '%4z', '%z4', '%%', 'a%', '']) assert.equal(decodePercent(text), text);
  assert.equal(decodePercent('%%41%4'), '%A%4');
  assert.equal(decodePercent('%2541'), '%41');
});

test('any bytes survive being escaped and resolved', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (values) => {
      const bytes = String.fromCharCode(...values);
      assert.equal(decodePercent([...bytes].map(percentEncode).join('')), bytes);
    }),
  );
});

test('text becomes its UTF-8 bytes and comes back', () => {
  assert.equal(toBytes('é'), '\u00c3\u00a9');
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => assert.equal(fromBytes(toBytes(text)), text)));
});

test('only ASCII letters change case: bytes of other characters stay', () => {
  assert.equal(lowerAscii('AbC'), 'abc');
  assert.equal(lowerAscii('\u00c3\u0089A'), '\u00c3\u0089a');
});
