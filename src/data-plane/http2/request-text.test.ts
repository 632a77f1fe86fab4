/** HTTP/2 requests as text, and what the request parser reads from it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BODY_CHUNKED, BODY_LENGTH, BODY_NONE, Head } from '../http1/head.ts';
import { DEFAULT_HEAD_LIMITS } from '../http1/limits.ts';
import { parseRequestHead } from '../http1/request-parser.ts';
import { requestText, type RequestText } from './request-text.ts';

const GET = [':method', 'GET', ':scheme', 'https', ':path', '/a?b', ':authority', 'a.test:8443'];
const createKey = (): string => 'a2V5';

function read(raw: readonly string[], ended = true): { head: Head; request: RequestText } {
  const request = requestText(raw, ended, createKey);
  assert.ok(typeof request !== 'number');
  const head = new Head();
  assert.equal(parseRequestHead(request.text, head, DEFAULT_HEAD_LIMITS), 0);
  assert.equal(head.count, request.lines);
  return { head, request };
}

function refused(raw: readonly string[], ended = true): number {
  const request = requestText(raw, ended, createKey);
  return typeof request === 'number' ? request : 0;
}

test('method, path and authority are those of the pseudo-fields', () => {
  const { head } = read([...GET, 'x-a', '1', 'x-a', '2']);
  assert.equal(head.method, 'GET');
  assert.equal(head.originForm, '/a?b');
  assert.equal(head.authority, 'a.test:8443');
  assert.equal(head.text.includes('x-a: 1\r\nx-a: 2\r\n'), true);
  assert.equal(head.body, BODY_NONE);
  assert.equal(head.upgrade, false);
});

test('crumbs of a cookie become one line', () => {
  const { head } = read([...GET, 'cookie', 'a=1', 'x', 'y', 'cookie', 'b=2']);
  assert.equal(head.find('cookie'), 'a=1; b=2');
});

for (const { name, fields, ended, body } of [
  { name: 'that ends with its head has none', fields: [], ended: true, body: BODY_NONE },
  { name: 'of unknown length is chunked', fields: [], ended: false, body: BODY_CHUNKED },
  { name: 'of known length keeps it', fields: ['content-length', '5'], ended: false, body: BODY_LENGTH },
]) {
  test(`the body of a request ${name}`, () => assert.equal(read([...GET, ...fields], ended).head.body, body));
}

test('TE: trailers is understood, and Host stands in for :authority', () => {
  const { head } = read([...GET.slice(0, 6), 'host', 'b.test', 'te', 'trailers']);
  assert.equal(head.authority, 'b.test');
  assert.equal(head.acceptsTrailers, true);
});

test('an extended CONNECT for websocket becomes an upgrade with a key of ours', () => {
  const raw = [':method', 'CONNECT', ...GET.slice(2), ':protocol', 'websocket', 'sec-websocket-key', 'theirs'];
  const { head, request } = read(raw, false);
  assert.equal(request.opensTunnel, true);
  assert.equal(head.method, 'GET');
  assert.equal(head.upgrade, true);
  assert.equal(head.body, BODY_NONE);
  assert.equal(head.find('sec-websocket-key'), 'a2V5');
  assert.equal(head.find('upgrade'), 'websocket');
});

test('what is malformed in HTTP/2 is refused', () => {
  const cases: readonly (readonly [number, readonly string[]])[] = [
    [400, [...GET, 'host', 'b.test']],
    [400, [...GET, 'host', 'a.test:8443', 'host', 'a.test:8443']],
    [400, [...GET, ':path', '/b']],
    [400, [...GET, ':status', '200']],
    [400, [...GET, 'connection', 'close']],
    [400, [...GET, 'transfer-encoding', 'chunked']],
    [400, [...GET, 'upgrade', 'h2c']],
    [400, GET.slice(0, 6)],
    [400, [...GET.slice(0, 4), ...GET.slice(6)]],
    [400, [':method', 'GET', ':scheme', 'ftp', ...GET.slice(4)]],
    [400, [...GET.slice(0, 4), ':path', 'http://b.test/', ...GET.slice(6)]],
    [400, [...GET, ':protocol', 'websocket']],
    [400, [':method', 'CONNECT', ...GET.slice(2), ':protocol', 'websocket', 'content-length', '1']],
    [501, [':method', 'CONNECT', ':authority', 'a.test:1']],
    [501, [':method', 'CONNECT', ...GET.slice(2), ':protocol', 'connect-udp']],
  ];
  for (const [status, raw] of cases) assert.equal(refused(raw), status, raw.join(' '));
});

test('a value that breaks out of its line never passes for fields of its own', () => {
  const part = fc.string({ unit: fc.constantFrom('a', ':', ' ', '\r', '\n', '\0', '\t', ';', '/'), maxLength: 12 });
  fc.assert(
    fc.property(fc.array(fc.tuple(part, part), { maxLength: 5 }), (fields) => {
      const request = requestText([...GET, ...fields.flat()], true, createKey);
      if (typeof request === 'number') return;
      const head = new Head();
      const status = parseRequestHead(request.text, head, DEFAULT_HEAD_LIMITS);
      if (status !== 0 || head.count !== request.lines) return;
      for (const [name, value] of fields) assert.doesNotMatch(name + value, /[\r\n\0]/);
    }),
  );
});
