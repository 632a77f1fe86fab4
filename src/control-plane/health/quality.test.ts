import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProbeResult } from './probe.ts';
import { lossOf, observe, type RoundTrips } from './quality.ts';

const PASS: ProbeResult = {
  outcome: 'pass',
  reason: '',
  detail: '',
  roundTripMs: 0,
  localAddress: '',
  status: 0,
  body: '',
};

function after(...times: number[]): RoundTrips | null {
  return times.reduce<RoundTrips | null>((known, roundTripMs) => observe(known, { ...PASS, roundTripMs }), null);
}

test('the first round trip is the average, later ones move it by an eighth', () => {
  assert.equal(after(8)?.averageMs, 8);
  assert.equal(after(8, 16)?.averageMs, 9);
});

test('jitter is smoothed by a sixteenth of the difference, as RTP has it', () => {
  assert.equal(after(10)?.jitterMs, 0);
  assert.equal(after(10, 26)?.jitterMs, 1);
  assert.equal(after(10, 26, 26)?.jitterMs, 1 - 1 / 16);
});

test('failures, neutral results and silence say nothing about time', () => {
  const known = after(10);
  assert.equal(observe(known, { ...PASS, outcome: 'fail', reason: 'CONNECT_TIMEOUT', roundTripMs: 5000 }), known);
  assert.equal(observe(known, { ...PASS, outcome: 'neutral', roundTripMs: 5000 }), known);
  assert.equal(observe(known, { ...PASS, silent: true, roundTripMs: 5000 }), known);
});

test('loss counts what went unanswered, each probe of a burst, and nothing neutral', () => {
  assert.equal(lossOf([]), 0);
  const lost: ProbeResult = { ...PASS, outcome: 'fail', reason: 'RECV_RESPONSE_TIMEOUT' };
  const refused: ProbeResult = { ...PASS, outcome: 'fail', reason: 'CONNECT_FAILED' };
  assert.equal(lossOf([PASS, lost, refused, PASS, { ...PASS, outcome: 'neutral' }]), 0.25);
  assert.equal(lossOf([{ ...PASS, burst: { sent: 8, lost: 2, jitterMs: 0 } }, lost, PASS]), 0.3);
});
