import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parsePayload } from './payload.ts';

test('escapes stand for their bytes, other characters for their UTF-8', () => {
  assert.equal(parsePayload('PING\\r\\n'), 'PING\r\n');
  assert.equal(parsePayload('\\t\\0\\\\\\x7f\\xFF'), '\t\0\\\x7f\xff');
  assert.equal(parsePayload('é'), '\xc3\xa9');
});

test('hex: holds digits, spaces between them are free', () => {
  assert.equal(parsePayload('hex:00 ff0A'), '\0\xff\n');
  for (const text of ['hex:', 'hex:0', 'hex:0g', 'hex:0 0 0']) assert.equal(parsePayload(text), null, text);
});

test('unknown and unfinished escapes are refused', () => {
  for (const text of ['\\q', '\\', '\\x', '\\x1', '\\x1g', 'a\\']) assert.equal(parsePayload(text), null, text);
});

test('any bytes can be written as hex and as escapes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 64 }), (bytes) => {
      const buffer = Buffer.from(bytes);
      const escaped = [...bytes].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
      assert.equal(parsePayload(`hex:${buffer.toString('hex')}`), buffer.toString('latin1'));
      assert.equal(parsePayload(escaped), buffer.toString('latin1'));
    }),
  );
});
