import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EncodePlan } from '../../shared/plan/types.ts';
import { encodeFields, type CompiledEncoding } from './encode.ts';
import { compileRequire } from './response-ops.ts';

const PLAN: EncodePlan = {
  handler: 'encode',
  formats: [{ name: 'gzip', level: 5 }],
  minBytes: 512,
  match: { status: [], headers: { 'Content-Type': ['text/*'] } },
};

const GZIP: CompiledEncoding = { format: PLAN.formats[0]!, minBytes: 512, fits: compileRequire(PLAN.match) };
const TEXT = ['Content-Type', 'text/plain'] as const;

function encoded(fields: readonly string[], bodyBytes = -1, status = 200): string[] | null {
  const changed = [...fields];
  return encodeFields(GZIP, { method: 'GET', status, bodyBytes }, changed) ? changed : null;
}

test('length and ranges go, coding and Vary come', () => {
  assert.deepEqual(encoded([...TEXT, 'Content-Length', '512', 'accept-ranges', 'bytes'], 512), [
    ...TEXT,
    'Content-Encoding',
    'gzip',
    'Vary',
    'Accept-Encoding',
  ]);
});

test('a Vary that says so already stays as it is, another one gets company', () => {
  for (const value of ['Accept-Encoding', 'Origin, accept-encoding', '*']) {
    assert.deepEqual(encoded([...TEXT, 'Vary', value])?.filter((text) => text === 'Vary').length, 1);
  }
  assert.deepEqual(encoded([...TEXT, 'Vary', 'X-Accept-Encoding'])?.slice(-2), ['Vary', 'Accept-Encoding']);
});

test('strong entity tags say which representation they mean, weak ones mean all', () => {
  assert.ok(encoded([...TEXT, 'ETag', '"a"'])?.includes('"a-gzip"'));
  assert.ok(encoded([...TEXT, 'ETag', 'W/"a"'])?.includes('W/"a"'));
  assert.ok(encoded([...TEXT, 'ETag', 'junk'])?.includes('junk'));
});

test('the smallest body that is encoded has the minimum length; without a known length all are', () => {
  assert.deepEqual(
    [encoded(TEXT, 0), encoded(TEXT, 511)].map((fields) => fields === null),
    [true, true],
  );
  assert.ok(encoded(TEXT, 512) !== null && encoded(TEXT, -1) !== null);
});

test('what is encoded, cut or protected already stays as it is', () => {
  for (const fields of [
    ['Content-Encoding', 'br'],
    ['Content-Range', 'bytes 0-1/2'],
    ['Cache-Control', 'private, No-Transform'],
  ]) {
    assert.equal(encoded([...TEXT, ...fields]), null, fields.join(': '));
  }
  for (const status of [101, 204, 206, 304]) assert.equal(encoded(TEXT, -1, status), null, String(status));
  assert.equal(encoded(['Content-Type', 'image/png']), null);
  assert.equal(encoded([]), null);
});

test('a 304 varies like the response it stands for', () => {
  const fields = ['ETag', '"a-gzip"'];
  assert.equal(encodeFields(GZIP, { method: 'GET', status: 304, bodyBytes: 0 }, fields), false);
  assert.deepEqual(fields, ['ETag', '"a-gzip"', 'Vary', 'Accept-Encoding']);
});
