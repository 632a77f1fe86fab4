import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldsByName, responseFields } from './response-fields.ts';

const LINES =
  'X-A: 1\r\nSet-Cookie: a=1\r\nset-cookie:b=2 \r\nConnection: close\r\nKeep-Alive: timeout=5\r\n' +
  'Transfer-Encoding: chunked\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\nX-Empty:\r\n';

test('fields keep their order and repetitions, in lower case, without those of the connection', () => {
  assert.deepEqual(responseFields(200, LINES), [
    ...[':status', '200', 'x-a', '1', 'set-cookie', 'a=1', 'set-cookie', 'b=2', 'x-empty', ''],
  ]);
});

test('repetitions become lists where Node wants an object', () => {
  const fields = fieldsByName(103, `${LINES}Set-Cookie: c=3\r\n`);
  assert.deepEqual({ ...fields }, { ':status': '103', 'x-a': '1', 'set-cookie': ['a=1', 'b=2', 'c=3'], 'x-empty': '' });
});

test('names of what every object has are names like others', () => {
  const fields = fieldsByName(0, 'constructor: a\r\n__proto__: b\r\nconstructor: c\r\n');
  assert.deepEqual(Object.entries(fields), [
    ['constructor', ['a', 'c']],
    ['__proto__', 'b'],
  ]);
});

test('an unfinished line is no field', () => {
  assert.deepEqual(responseFields(200, 'a: 1\r\nb: 2'), [':status', '200', 'a', '1']);
});
