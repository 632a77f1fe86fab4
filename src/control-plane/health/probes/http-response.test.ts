import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ResponseReader } from './http-response.ts';

/** Feeds `bytes` in pieces of the sizes given. */
function read(bytes: Buffer, sizes: readonly number[], method = 'GET'): ResponseReader {
  const reader = new ResponseReader(method, 1_048_576);
  let at = 0;
  for (const size of sizes) {
    reader.push(bytes.subarray(at, at + size));
    at += size;
  }
  reader.push(bytes.subarray(at));
  reader.end();
  return reader;
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 30 });

test('however a chunked response is cut into pieces, the body is the same', () => {
  const parts = fc.array(fc.uint8Array({ minLength: 1, maxLength: 50 }), { maxLength: 6 });
  fc.assert(
    fc.property(parts, sizes, (chunks, cuts) => {
      const coded = chunks.map((part) =>
        Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]),
      );
      const head = Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      const reader = read(Buffer.concat([head, ...coded, Buffer.from('0\r\n\r\n')]), cuts);
      assert.equal(reader.error, '');
      assert.equal(reader.complete, true);
      assert.deepEqual(reader.body(), Buffer.concat(chunks));
    }),
  );
});

test('no bytes whatsoever make the reader throw', () => {
  const head = fc.constantFrom('', 'HTTP/1.1 200 OK\r\n', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
  fc.assert(
    fc.property(head, fc.uint8Array({ maxLength: 200 }), sizes, (text, noise, cuts) => {
      read(Buffer.concat([Buffer.from(text), noise]), cuts);
    }),
  );
});

test('pieces already read do not change when the buffer they came in is used again', () => {
  const reader = new ResponseReader('GET', 100);
  reader.push(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n'));
  const shared = Buffer.from('abc');
  reader.push(shared);
  shared.write('xyz');
  reader.push(shared);
  assert.equal(reader.body().toString(), 'abcxyz');
});
