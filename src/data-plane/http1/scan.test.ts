import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findHeadEnd, hasBareLf, skipLeadingCrlf } from './scan.ts';

const PIECES = fc.array(fc.constantFrom('\r\n', '\r', '\n', 'a', 'bcd', '\r\n\r\n', ' '), { maxLength: 30 });

test('the end of a head is behind the first CR LF CR LF and nothing else', () => {
  fc.assert(
    fc.property(PIECES, fc.nat(10), (pieces, from) => {
      const text = pieces.join('');
      const found = text.indexOf('\r\n\r\n', from);
      assert.equal(findHeadEnd(Buffer.from(text), from, text.length), found < 0 ? -1 : found + 4);
    }),
    { numRuns: 5000 },
  );
});

test('a scan resumed 3 bytes back finds what a whole scan finds, split anywhere', () => {
  const buffer = Buffer.from('GET / HTTP/1.1\r\nA: b\r\n\r\nGET');
  for (let cut = 0; cut <= buffer.length; cut += 1) {
    const first = findHeadEnd(buffer, 0, cut);
    assert.equal(first >= 0 ? first : findHeadEnd(buffer, Math.max(0, cut - 3), buffer.length), 24);
  }
});

test('bytes outside the range do not count', () => {
  const buffer = Buffer.from('\r\n\r\n\r\n\r\n');
  assert.equal(findHeadEnd(buffer, 0, 3), -1);
  assert.equal(findHeadEnd(buffer, 1, 8), 6);
  assert.equal(findHeadEnd(buffer, 6, 8), -1);
  assert.equal(findHeadEnd(Buffer.from('\n\n'), 0, 2), -1);
  assert.equal(findHeadEnd(Buffer.from('a\n\r\n'), 0, 4), -1);
});

test('empty lines before a request are skipped, half of one is kept', () => {
  const skip = (text: string): number => skipLeadingCrlf(Buffer.from(text), 0, text.length);
  assert.deepEqual(
    ['GET', '\r\nGET', '\r\n\r\nGET', '\r\n\r', '\r', '\n', '\r\r\n', ''].map(skip),
    [0, 2, 4, 2, 0, 0, 0, 0],
  );
});

test('an LF without CR is found wherever it stands', () => {
  const bare = (text: string, from = 0): boolean => hasBareLf(Buffer.from(text), from, text.length);
  assert.deepEqual(
    ['a\r\nb\r\n', 'a\nb', '\n', 'a\r\nb\n', '', 'a\r'].map((text) => bare(text)),
    [false, true, true, true, false, false],
  );
  assert.equal(bare('a\nb\r\n', 2), false);
  assert.equal(hasBareLf(Buffer.from('ab\n'), 0, 2), false);
});
