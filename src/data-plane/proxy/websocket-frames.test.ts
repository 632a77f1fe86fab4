import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../shared/random.ts';
import { closeFrame, FrameTracker } from './websocket-frames.ts';

function frame(opcode: number, masked: boolean, length: number): Buffer {
  const flag = masked ? 0x80 : 0;
  const mask = masked ? [1, 2, 3, 4] : [];
  const head =
    length < 126
      ? [0x80 | opcode, flag | length]
      : length < 65_536
        ? [0x80 | opcode, flag | 126, length >> 8, length & 0xff]
        : [0x80 | opcode, flag | 127, 0, 0, 0, 0, 0, (length >> 16) & 0xff, (length >> 8) & 0xff, length & 0xff];
  return Buffer.concat([Buffer.from([...head, ...mask]), Buffer.alloc(length, 0x88)]);
}

const lengths = fc.constantFrom(0, 1, 125, 126, 300, 65_535, 65_536, 70_000);
const frames = fc.array(fc.tuple(fc.constantFrom(0, 1, 2, 9, 10), fc.boolean(), lengths), {
  minLength: 1,
  maxLength: 4,
});

test('it is at a boundary exactly behind each frame, however the bytes are cut', () => {
  fc.assert(
    fc.property(frames, fc.integer({ min: 1, max: 5000 }), (parts, step) => {
      const made = parts.map(([opcode, masked, length]) => frame(opcode, masked, length));
      const ends = new Set<number>([0]);
      let total = 0;
      for (const one of made) ends.add((total += one.length));
      const bytes = Buffer.concat(made);
      const tracker = new FrameTracker();
      for (let at = 0; at < bytes.length; at += step) {
        const end = Math.min(bytes.length, at + step);
        tracker.push(bytes, at, end);
        assert.equal(tracker.atBoundary, ends.has(end), `at ${end}`);
      }
      assert.equal(tracker.closed, false);
    }),
    { numRuns: 60 },
  );
});

test('a close frame is noticed', () => {
  for (const bytes of [closeFrame('client', seededRandom(1)), closeFrame('server', seededRandom(1))]) {
    const tracker = new FrameTracker();
    tracker.push(bytes, 0, bytes.length);
    assert.deepEqual([tracker.closed, tracker.atBoundary], [true, true]);
  }
});

test('the close frame to a server is masked and says 1001', () => {
  const bytes = closeFrame('server', seededRandom(7));
  assert.deepEqual([bytes[0], bytes[1], bytes.length], [0x88, 0x82, 8]);
  assert.equal(((bytes[6]! ^ bytes[2]!) << 8) | (bytes[7]! ^ bytes[3]!), 1001);
  assert.equal(closeFrame('client', seededRandom(7)).toString('hex'), '880203e9');
});
