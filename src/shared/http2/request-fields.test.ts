import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestFields } from './request-fields.ts';

test('pseudo-fields come first, then the fields in order with lower-case names', () => {
  const fields = requestFields('GET /a?b=c d HTTP/1.1', 'X-B: 1\r\nHost: h:8080\r\nX-A:2\r\nX-B: 3\r\n', 'https');
  assert.deepEqual(fields, [
    ':method',
    'GET',
    ':scheme',
    'https',
    ':authority',
    'h:8080',
    ':path',
    '/a?b=c d',
    'x-b',
    '1',
    'x-a',
    '2',
    'x-b',
    '3',
  ]);
});

test('fields of the connection stay behind, and TE keeps nothing but trailers', () => {
  const lines =
    'Connection: TE, keep-alive\r\nKeep-Alive: timeout=5\r\nTE: gzip, trailers\r\nTransfer-Encoding: chunked\r\n' +
    'Upgrade: h2c\r\nHTTP2-Settings: x\r\nProxy-Connection: close\r\nX: 1\r\n';
  assert.deepEqual(requestFields('POST / HTTP/1.1', lines, 'http').slice(8), ['te', 'trailers', 'x', '1']);
  assert.deepEqual(requestFields('POST / HTTP/1.1', 'TE: gzip\r\n', 'http').slice(8), []);
});

test('a value may hold colons, or be empty', () => {
  const fields = requestFields('GET * HTTP/1.1', 'A: b:c\r\nD:\r\n', 'http');
  assert.deepEqual(fields.slice(6), [':path', '*', 'a', 'b:c', 'd', '']);
});
