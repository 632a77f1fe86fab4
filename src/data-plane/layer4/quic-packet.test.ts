import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { connectionHashOf, readLongHeader } from './quic-packet.ts';
import { fnv1a32 } from '../select/hash.ts';

/** The client's first packet of RFC 9001, appendix A.2, as far as it is not encrypted. */
const RFC_9001_INITIAL = Buffer.from('c000000001088394c8f03e5157080000449e7b9aec34', 'hex');

describe('a long header', () => {
  test('says version and both ids', () => {
    const header = readLongHeader(RFC_9001_INITIAL);
    assert.equal(header?.version, 1);
    assert.equal(header?.destination.toString('hex'), '8394c8f03e515708');
    assert.equal(header?.source.length, 0);
    assert.equal(connectionHashOf(RFC_9001_INITIAL), fnv1a32(Buffer.from('8394c8f03e515708', 'hex')));
  });

  test('is read whatever the version, with ids as long as a byte can say', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 0xffff_ffff }),
        fc.uint8Array({ maxLength: 255 }),
        fc.uint8Array({ maxLength: 255 }),
        fc.uint8Array({ maxLength: 40 }),
        fc.integer({ min: 0x80, max: 0xff }),
        (version, destination, source, rest, first) => {
          const head = Buffer.alloc(5, first);
          head.writeUInt32BE(version, 1);
          const lengths = [Buffer.of(destination.length), Buffer.of(source.length)] as const;
          const whole = Buffer.concat([head, lengths[0], destination, lengths[1], source, rest]);
          const header = readLongHeader(whole);
          assert.equal(header?.version, version);
          assert.deepEqual([...header.destination], [...destination]);
          assert.deepEqual([...header.source], [...source]);
          const cut = whole.length - rest.length - 1;
          assert.equal(readLongHeader(whole.subarray(0, cut)), null);
        },
      ),
    );
  });

  test('is not found in other datagrams, and nothing that a peer sends makes it throw', () => {
    assert.equal(readLongHeader(Buffer.alloc(0)), null);
    assert.equal(connectionHashOf(Buffer.from('4000000001088394c8f03e515708', 'hex')), -1);
    assert.equal(connectionHashOf(Buffer.from('c0000000010000', 'hex')), -1);
    fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => void connectionHashOf(Buffer.from(bytes))));
  });
});
