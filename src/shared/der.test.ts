import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { childrenOf, objectIdOf, octetsOf, readElement, smallNumberOf } from './der.ts';

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(' ', ''), 'hex');
}

test('short and long lengths are read, and what follows is left alone', () => {
  assert.deepEqual(readElement(hex('04 02 aabb cc')).content, hex('aabb'));
  const long = Buffer.concat([hex('04 82 0100'), Buffer.alloc(256, 1), hex('ff')]);
  const { content, whole } = readElement(long);
  assert.equal(content.length, 256);
  assert.equal(whole.length, 260);
});

test('an indefinite length ends where its zeros stand, also inside of another', () => {
  const nested = hex('30 80 30 80 04 01 aa 0000 04 01 bb 0000 ff');
  const element = readElement(nested);
  assert.equal(element.whole.length, nested.length - 1);
  const [inner, second] = childrenOf(element);
  assert.deepEqual(
    childrenOf(inner!).map(({ content }) => content),
    [hex('aa')],
  );
  assert.deepEqual(second!.content, hex('bb'));
});

test('an octet string in pieces is one', () => {
  assert.deepEqual(octetsOf(readElement(hex('24 80 04 02 0102 04 01 03 0000'))), hex('010203'));
  assert.deepEqual(octetsOf(readElement(hex('a0 03 04 01 09')), 0x80), hex('09'));
  assert.throws(() => octetsOf(readElement(hex('02 01 00'))), /damaged/);
});

test('object identifiers and numbers are read', () => {
  assert.equal(objectIdOf(readElement(hex('06 09 2a864886f70d010701'))), '1.2.840.113549.1.7.1');
  assert.equal(objectIdOf(readElement(hex('06 03 883703'))), '2.999.3');
  assert.equal(smallNumberOf(readElement(hex('02 02 0800'))), 2048);
  assert.throws(() => smallNumberOf(readElement(hex('02 01 ff'))), /out of range/);
  assert.throws(() => smallNumberOf(undefined), /damaged/);
});

test('bytes of any kind give an element or an Error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        const { whole } = readElement(Buffer.from(bytes));
        assert.ok(whole.length >= 2 && whole.length <= bytes.length);
      } catch (error) {
        assert.match((error as Error).message, /damaged|cut off/);
      }
    }),
  );
});

test('elements in elements without end are an Error', () => {
  assert.throws(() => readElement(Buffer.alloc(100_000, Buffer.from([0x30, 0x80]))), /damaged/);
});
