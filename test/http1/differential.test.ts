/**
 * The promise behind the codec: what it accepts, Node's own parser accepts, with the same method, target, fields, body,
 * end of message and next message; and the answer does not depend on how the bytes were split.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/shared/random.ts';
import { compare } from './compare.ts';
import { Generator } from './generator.ts';
import { NodeReader } from './node-reader.ts';
import type { Case } from './reading.ts';

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

test('the comparison notices a message that ends elsewhere', () => {
  const node = new NodeReader();
  const request = (lines: string, rest: string): Case =>
    ({ kind: 'request', methods: [], text: `POST / HTTP/1.1\r\nHost: a\r\n${lines}\r\n${rest}` });
  const chunked = node.read(request('Transfer-Encoding: chunked\r\n', '0\r\n\r\n'));
  const plain = node.read(request('X-Transfer-Encoding: chunked\r\n', '0\r\n\r\n'));
  assert.equal(chunked.messages[0]?.complete, true);
  assert.equal(plain.end, 'refused');
});
