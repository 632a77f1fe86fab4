import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WaitingBody } from './waiting-body.ts';

test('what is taken is what was added, once, or again and again when it is whole', () => {
  const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40_000 }), { maxLength: 8 });
  fc.assert(
    fc.property(chunks, fc.constantFrom(0, 1, 20_000, 1_000_000), (pieces, keepBytes) => {
      const body = new WaitingBody(keepBytes);
      for (const piece of pieces) {
        // The bytes around a piece belong to others, and the read buffer of a kept one is used again.
        const around = Buffer.concat([Buffer.from('xx'), piece, Buffer.from('yy')]);
        body.add(around, 2, 2 + piece.length);
        if (keepBytes > 0) around.fill(0);
      }
      const all = Buffer.concat(pieces);
      assert.equal(body.bytes, all.length);
      assert.equal(body.overflows, all.length > keepBytes);
      body.whole = keepBytes > 0 && !body.overflows;
      for (const expected of [all, body.whole ? all : Buffer.alloc(0)]) {
        assert.deepEqual(Buffer.concat(body.take()), expected);
      }
    }),
    { numRuns: 60 },
  );
});

test('more bytes may follow what was taken', () => {
  const body = new WaitingBody(4);
  body.add(Buffer.from('hello'), 0, 5);
  assert.equal(Buffer.concat(body.take()).toString(), 'hello');
  body.add(Buffer.from('world'), 0, 5);
  assert.equal(Buffer.concat(body.take()).toString(), 'world');
});

test('a kept body that comes byte by byte costs blocks, not an object a byte', () => {
  const body = new WaitingBody(100_000);
  const byte = Buffer.from('a');
  for (let at = 0; at < 50_000; at += 1) body.add(byte, 0, 1);
  assert.equal(body.take().length, 4);
});

test('bytes that nobody keeps pause the client at 64 KiB, or at a thousand pieces', () => {
  const body = new WaitingBody(0);
  body.add(Buffer.alloc(65_535), 0, 65_535);
  assert.equal(body.full, false);
  body.add(Buffer.alloc(1), 0, 1);
  assert.equal(body.full, true);
  const pieces = new WaitingBody(0);
  for (let at = 0; at < 1024; at += 1) pieces.add(Buffer.alloc(1), 0, 1);
  assert.equal(pieces.full, true);
});
