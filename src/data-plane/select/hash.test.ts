import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseIp } from '../../shared/net/ip.ts';
import {
  fmix32,
  fnv1a32,
  fnv1a32Masked,
  homeOf,
  laterHomeOf,
  rendezvousScore,
  secondHomeOf,
  seedHash,
  weightedScore,
} from './hash.ts';

function hashOf(address: string): number {
  const ip = parseIp(address);
  assert.ok(ip !== null);
  return fnv1a32(ip.bytes);
}

describe('fnv1a32', () => {
  test('gives the published values', () => {
    assert.equal(fnv1a32(Buffer.from('')), 0x811c9dc5);
    assert.equal(fnv1a32(Buffer.from('a')), 0xe40c292c);
    assert.equal(fnv1a32(Buffer.from('foobar')), 0xbf9cf968);
  });

  test('gives the values fixed for client addresses', () => {
    assert.equal(hashOf('203.0.113.5'), 2099181832);
    assert.equal(hashOf('198.51.100.12'), 435720198);
    assert.equal(hashOf('103.10.20.30'), 2500805450);
    assert.equal(hashOf('103.20.10.15'), 862496449);
    assert.equal(hashOf('103.20.10.22'), 443055974);
  });

  test('the masked form hashes the masked bytes', () => {
    const mask = Uint8Array.of(0xff, 0xf0);
    assert.equal(fnv1a32Masked(Uint8Array.of(9, 1, 0x2f, 7), 1, mask), fnv1a32(Uint8Array.of(1, 0x20)));
  });
});

test('fmix32 is the finaliser of Murmur3', () => {
  assert.equal(fmix32(0), 0);
  assert.equal(fmix32(1), 1364076727);
  assert.equal(fmix32(0xffffffff), 2180083513);
});

test('seedHash differs by seed and is not the plain hash', () => {
  assert.equal(seedHash(2099181832, 7), 1527094669);
  assert.equal(seedHash(2099181832, 0), 2542826078);
});

describe('homes', () => {
  test('of 203.0.113.5 among five: 2, then 3, 4, 4, 1', () => {
    const hash = hashOf('203.0.113.5');
    const later = [2, 3, 4].map((step) => laterHomeOf(hash, 5, step));
    assert.deepEqual([homeOf(hash, 5), secondHomeOf(hash, 5), ...later], [2, 3, 4, 4, 1]);
  });

  test('the second is never the first', () => {
    for (let size = 2; size < 12; size += 1) {
      for (let hash = 0; hash < 500; hash += 1) {
        const second = secondHomeOf(hash, size);
        assert.notEqual(second, homeOf(hash, size));
        assert.ok(second >= 0 && second < size);
      }
    }
  });
});

test('rendezvous scores are fixed', () => {
  // Worked out with another program: key 203.0.113.5, identities app-1:3000, app-2:3000, app-3:3000.
  const scores = ['app-1:3000', 'app-2:3000', 'app-3:3000'].map((identity) =>
    rendezvousScore(hashOf('203.0.113.5'), fnv1a32(Buffer.from(identity))),
  );
  assert.deepEqual(scores, [2629612520, 3515923941, 242925034]);
});

test('a weighted score is finite and above 0 for every score, and 0 for weight 0', () => {
  for (const score of [0, 1, 0x7fffffff, 0xffffffff]) {
    assert.ok(weightedScore(score, 1) > 0 && Number.isFinite(weightedScore(score, 1)));
    assert.equal(Math.abs(weightedScore(score, 0)), 0);
  }
});
