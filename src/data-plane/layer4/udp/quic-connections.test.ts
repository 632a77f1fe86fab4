import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { quicLong, quicShort } from '../../../../test/support/quic-datagrams.ts';
import { QuicConnections } from './quic-connections.ts';

const HOME = { slot: 3, identity: 'udp/quic-1:443' };
const CLIENT = Buffer.from('c11e');

test('an id that a server gave out is found in long and in short headers, whatever its length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 4, maxLength: 20 }), fc.uint8Array({ minLength: 1 }), (bytes, rest) => {
      const id = Buffer.from(bytes);
      const known = new QuicConnections(10);
      known.learn(quicLong(CLIENT, id), HOME);
      assert.deepEqual(known.find(quicShort(id, Buffer.from(rest))), HOME);
      assert.deepEqual(known.find(quicLong(id, CLIENT)), HOME);
      assert.equal(known.find(quicShort(Buffer.from(id).fill(id[0]! ^ 1), Buffer.from(rest))), null);
    }),
  );
});

test('ids of several lengths are told apart', () => {
  const known = new QuicConnections(10);
  const ids = [4, 8, 20].map((length) => Buffer.alloc(length, length));
  ids.forEach((id, at) => known.learn(quicLong(CLIENT, id), { slot: at, identity: `s${at}` }));
  ids.forEach((id, at) => assert.equal(known.find(quicShort(id, Buffer.alloc(30)))?.slot, at));
});

test('nothing is learned of version negotiation, of short headers, and of ids that would be found by chance', () => {
  const known = new QuicConnections(10);
  const id = Buffer.from('0011223344556677', 'hex');
  known.learn(quicLong(CLIENT, id, 0), HOME);
  known.learn(quicShort(id, Buffer.alloc(20)), HOME);
  known.learn(quicLong(CLIENT, id.subarray(0, 3)), HOME);
  known.learn(quicLong(CLIENT, Buffer.alloc(21, 1)), HOME);
  known.learn(Buffer.alloc(0), HOME);
  assert.equal(known.size, 0);
  assert.equal(known.find(Buffer.alloc(0)), null);
});

test('there are never more than the capacity, and what was used longest ago goes first', () => {
  const known = new QuicConnections(3);
  const id = (number: number): Buffer => Buffer.alloc(8, number);
  for (const number of [1, 2, 3]) known.learn(quicLong(CLIENT, id(number)), { ...HOME, slot: number });
  assert.equal(known.find(quicShort(id(1), Buffer.alloc(9)))?.slot, 1);
  known.learn(quicLong(CLIENT, id(4)), HOME);
  assert.equal(known.size, 3);
  assert.equal(known.find(quicShort(id(2), Buffer.alloc(9))), null);
  assert.equal(known.find(quicShort(id(1), Buffer.alloc(9)))?.slot, 1);
  known.capacity = 1;
  known.learn(quicLong(CLIENT, id(5)), HOME);
  assert.equal(known.size, 1);
});

test('a home is a position of the pool only while that has the same server at the same address', () => {
  const known = new QuicConnections(3);
  const id = Buffer.alloc(8, 7);
  known.learn(quicLong(CLIENT, id), HOME);
  const datagram = quicShort(id, Buffer.alloc(9));
  const members = (slots: readonly number[]): Parameters<typeof known.positionOf>[1] => ({
    size: slots.length,
    identity: (position) => `udp/quic-${position}:443`,
    endpointsOf: (position) => [{ slot: slots[position]! }],
  });
  assert.equal(known.positionOf(datagram, members([1, 3])), 1);
  assert.equal(known.positionOf(datagram, members([3, 1])), -1);
  assert.equal(known.positionOf(Buffer.from('hello, world'), members([1, 3])), -1);
});
