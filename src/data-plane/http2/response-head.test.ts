/** The texts that HTTP/2 heads become, as the response parser reads them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { responseHeadText, trailerLines } from '../../shared/http2/response-head.ts';
import { BODY_CHUNKED, BODY_LENGTH, BODY_NONE, Head } from '../http1/head.ts';
import { DEFAULT_HEAD_LIMITS } from '../http1/limits.ts';
import { parseResponseHead } from '../http1/response-parser.ts';
import { readTrailer } from '../http1/trailers.ts';

const OPEN = 0x4;
const ENDS = 0x5;

function parse(raw: readonly string[], flags: number, method = 'GET'): { head: Head; fault: number } {
  const head = new Head();
  return { head, fault: parseResponseHead(responseHeadText(raw, flags, method), head, method, DEFAULT_HEAD_LIMITS) };
}

for (const { name, raw, flags, method = 'GET', body, length } of [
  { name: 'without a length', raw: [':status', '200'], flags: OPEN, body: BODY_CHUNKED, length: -1 },
  { name: 'with one', raw: [':status', '200', 'content-length', '5'], flags: OPEN, body: BODY_LENGTH, length: 5 },
  { name: 'that ends with its head', raw: [':status', '200'], flags: ENDS, body: BODY_LENGTH, length: 0 },
  { name: '204', raw: [':status', '204'], flags: ENDS, body: BODY_NONE, length: -1 },
  { name: '304', raw: [':status', '304', 'content-length', '9'], flags: ENDS, body: BODY_NONE, length: 9 },
  {
    name: 'to HEAD',
    raw: [':status', '200', 'content-length', '9'],
    flags: ENDS,
    method: 'HEAD',
    body: BODY_NONE,
    length: 9,
  },
  { name: 'of 103', raw: [':status', '103', 'link', 'x'], flags: OPEN, body: BODY_NONE, length: -1 },
]) {
  test(`the framing of a response ${name}`, () => {
    const { head, fault } = parse(raw, flags, method);
    assert.equal(fault, 0);
    assert.equal(head.body, body);
    assert.equal(head.contentLength, length);
  });
}

test('fields keep their order and their repetitions, and framing fields of HTTP/1 say nothing', () => {
  const raw = [
    ':status',
    '200',
    'set-cookie',
    'a=1',
    'set-cookie',
    'b=2',
    'transfer-encoding',
    'gzip',
    'connection',
    'close',
  ];
  const { head, fault } = parse(raw, OPEN);
  assert.equal(fault, 0);
  assert.equal(head.text.includes('set-cookie: a=1\r\nset-cookie: b=2\r\n'), true);
  assert.equal(head.keepAlive, true);
  assert.equal(head.body, BODY_CHUNKED);
});

test('two lengths, a line end in a value and a status that is none are refused', () => {
  assert.notEqual(parse([':status', '200', 'content-length', '1', 'content-length', '1'], OPEN).fault, 0);
  assert.notEqual(parse([':status', '200', 'x', 'a\r\nset-cookie: b'], OPEN).head.count, 0);
  assert.notEqual(parse([':status', '20'], OPEN).fault, 0);
  assert.notEqual(parse(['x', 'y'], OPEN).fault, 0);
});

test('whatever fields come, the parser decides and nothing throws', () => {
  const part = fc.string({ unit: 'binary-ascii', maxLength: 12 });
  fc.assert(
    fc.property(fc.array(part, { maxLength: 10 }), fc.integer({ min: 0, max: 5 }), (raw, flags) => {
      assert.doesNotThrow(() => parse([':status', '200', ...raw], flags));
    }),
  );
});

test('trailers that frame, route or authenticate are dropped', () => {
  const raw = ['grpc-status', '0', 'content-length', '5', 'x-sum', 'abc', ':status', '200', 'bad name', 'x'];
  assert.equal(trailerLines(raw, readTrailer), 'grpc-status: 0\r\nx-sum: abc\r\n');
});
