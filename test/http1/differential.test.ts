/**
 * The promise behind the codec: what it accepts, Node's own parser accepts, with the same method, target, fields, body,
 * end of message and next message; and the answer does not depend on how the bytes were split.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/shared/random.ts';
import { compare, compareWithNode } from './compare.ts';
import { Generator } from './generator.ts';
import { NodeReader } from './node-reader.ts';
import { readOurs } from './our-reader.ts';
import type { Case, Message, Reading } from './reading.ts';

const SEED = 20_261_130;
const CASES = 100_000;

test('100,000 generated and mutated messages read as Node reads them, whole and byte by byte', () => {
  const generator = new Generator(seededRandom(SEED));
  const node = new NodeReader();
  let accepted = 0;
  let refused = 0;
  for (let count = 0; count < CASES; count += 1) {
    const testCase = generator.next();
    const { difference, ours } = compare(testCase, node);
    assert.equal(difference, '', `case ${count} of seed ${SEED}: ${JSON.stringify(testCase)}`);
    if (ours.messages.some((message) => message.complete)) accepted += 1;
    else refused += 1;
  }
  // Guards the generator: a comparison of refusals would prove nothing.
  assert.ok(accepted > CASES / 4 && refused > CASES / 10, `${accepted} accepted, ${refused} refused`);
});

const CHUNKED_AND_NEXT: Case = {
  kind: 'request',
  methods: [],
  text:
    'POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: 1\r\n\r\n' +
    'GET / HTTP/1.1\r\nHost: b\r\n\r\n',
};

/** Ways a codec could be wrong about the case above. */
const WRONG_READINGS: Readonly<Record<string, (first: Message, reading: Reading) => Reading>> = {
  method: (first, reading) => withFirst(reading, { ...first, line: ['PUT', '/a'] }),
  target: (first, reading) => withFirst(reading, { ...first, line: ['POST', '/b'] }),
  version: (first, reading) => withFirst(reading, { ...first, version: 10 }),
  'a field': (first, reading) =>
    withFirst(reading, { ...first, fields: ['Host', 'b', 'Transfer-Encoding', 'chunked'] }),
  body: (first, reading) => withFirst(reading, { ...first, body: 'hi\r\n' }),
  trailers: (first, reading) => withFirst(reading, { ...first, trailers: '' }),
  upgrade: (first, reading) => withFirst(reading, { ...first, upgrade: true }),
  closing: (first, reading) => withFirst(reading, { ...first, keepAlive: false }),
  'where it ends': (first, reading) => withFirst(reading, { ...first, complete: false }),
  'a message too many': (first, reading) => ({ ...reading, messages: [...reading.messages, first] }),
  'a message too few': (first, reading) => ({ ...reading, messages: [first] }),
};

function withFirst(reading: Reading, first: Message): Reading {
  return { ...reading, messages: [first, ...reading.messages.slice(1)] };
}

for (const [what, spoil] of Object.entries(WRONG_READINGS)) {
  test(`the comparison notices a wrong reading: ${what}`, () => {
    const node = new NodeReader();
    const reading = readOurs(CHUNKED_AND_NEXT, false);
    assert.equal(compareWithNode(CHUNKED_AND_NEXT, reading, node), '');
    assert.notEqual(compareWithNode(CHUNKED_AND_NEXT, spoil(reading.messages[0]!, reading), node), '');
  });
}
