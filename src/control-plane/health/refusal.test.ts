import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSpec } from '../../../test/support/upstreams-world.ts';
import { countsNow, isAbout } from './refusal.ts';

const TARGET = { host: '10.0.0.1', port: 53 };
const UDP = { kind: 'udp', echo: false, payload: 'x', expect: null } as const;

test('a refusal is about a check only if that asks at the address that refused, in its protocol', () => {
  const tcp = checkSpec();
  const udp = checkSpec({ probe: UDP });
  assert.equal(isAbout(tcp, TARGET, 'tcp'), true);
  assert.equal(isAbout(udp, TARGET, 'udp'), true);
  // A companion port over TCP says nothing about the UDP port, and the other way round.
  assert.equal(isAbout(tcp, TARGET, 'udp'), false);
  assert.equal(isAbout(udp, TARGET, 'tcp'), false);
  assert.equal(isAbout(checkSpec({ port: 53 }), TARGET, 'tcp'), true);
  assert.equal(isAbout(checkSpec({ port: 54 }), TARGET, 'tcp'), false);
  assert.equal(isAbout(checkSpec({ address: { host: '10.0.0.1', port: 53 } }), TARGET, 'tcp'), false);
});

test('of many refusals one counts in half an interval after the last failure, whatever that was', () => {
  const spec = checkSpec({ intervalMs: 4000 });
  assert.deepEqual(
    [0, 1999, 2000].map((ms) => countsNow(spec, 50_000, 50_000 + ms)),
    [false, false, true],
  );
});
