import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TlsContexts } from './tls-contexts.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { seededRandom } from '../../shared/random.ts';
import type { BurstSpec } from '../compile/compiled.ts';
import { judgeBurst, runBurst } from './burst.ts';
import { checkProbe } from './check-probe.ts';
import type { ProbeResult } from './probe.ts';
import { plainOptions, startServer } from './tcp-probe.contract.ts';
import { systemClock } from '../../shared/clock.ts';

const BASE: ProbeResult = {
  outcome: 'pass',
  reason: '',
  detail: 'as the test said',
  roundTripMs: 10,
  localAddress: '127.0.0.1:1',
  status: 0,
  body: '',
};
const LOST: ProbeResult = { ...BASE, outcome: 'fail', reason: 'RECV_RESPONSE_TIMEOUT', detail: 'no answer' };
const ANY: BurstSpec = { count: 4, maxLoss: null, maxJitterMs: null };
const passes = (...times: number[]): ProbeResult[] => times.map((roundTripMs) => ({ ...BASE, roundTripMs }));

test('a burst passes while one of its probes does, with mean time, loss and jitter', () => {
  const result = judgeBurst(ANY, [...passes(10, 14, 12), LOST]);
  assert.equal(result.outcome, 'pass');
  assert.equal(result.roundTripMs, 12);
  assert.deepEqual(result.burst, { sent: 4, lost: 1, jitterMs: 3 });
});

test('a burst of which nothing came back fails as its first probe did', () => {
  const result = judgeBurst(ANY, [LOST, LOST]);
  assert.equal(result.reason, 'RECV_RESPONSE_TIMEOUT');
  assert.deepEqual(result.burst, { sent: 2, lost: 2, jitterMs: 0 });
});

test('more loss than allowed fails, as much as allowed passes', () => {
  const results = [...passes(10, 10, 10), LOST];
  assert.equal(judgeBurst({ ...ANY, maxLoss: 0.25 }, results).outcome, 'pass');
  assert.equal(judgeBurst({ ...ANY, maxLoss: 0.2 }, results).reason, 'TOO_MUCH_LOSS');
});

test('more jitter than allowed fails, as much as allowed passes', () => {
  assert.equal(judgeBurst({ ...ANY, maxJitterMs: 5 }, passes(10, 15, 10)).outcome, 'pass');
  assert.equal(judgeBurst({ ...ANY, maxJitterMs: 4 }, passes(10, 15, 10)).reason, 'TOO_MUCH_JITTER');
});

test('trouble of this machine makes the whole burst neutral', () => {
  const neutral: ProbeResult = { ...BASE, outcome: 'neutral', reason: 'LOCAL_TROUBLE' };
  assert.equal(judgeBurst(ANY, [...passes(1), neutral, LOST]).outcome, 'neutral');
});

test('the probes of a burst begin one after the other and all end within the timeout', async () => {
  const clock = new FakeClock();
  const begun: [number, number][] = [];
  const from = clock.now();
  const running = runBurst(ANY, 1000, { clock, signal: new AbortController().signal }, (timeoutMs) => {
    begun.push([clock.now() - from, timeoutMs]);
    return Promise.resolve(BASE);
  });
  await clock.advance(1000);
  await running;
  assert.deepEqual(begun, [
    [0, 1000],
    [20, 980],
    [40, 960],
    [60, 940],
  ]);
});

test('a burst of real connections makes that many', async () => {
  const server = await startServer(() => {});
  const environment = {
    random: seededRandom(1),
    echo: { ask: () => Promise.resolve({ outcome: 'none' as const }) },
    tls: new TlsContexts(),
  };
  const spec = { probe: { kind: 'tcp', close: 'reset', script: [], tls: null }, burst: { ...ANY, count: 5 } } as const;
  const deps = { clock: { ...systemClock, after: afterWithHold }, signal: new AbortController().signal };
  const result = await checkProbe(spec, environment).run(
    { host: '127.0.0.1', port: server.port },
    plainOptions(5000),
    deps,
  );
  await server.close();
  assert.equal(result.outcome, 'pass', result.detail);
  assert.equal(result.burst?.sent, 5);
});

test('a pass that took longer than max_rtt is a failure, silence is not', async () => {
  const server = await startServer((socket) => setTimeout(() => socket.write('x'), 50));
  const environment = {
    random: seededRandom(1),
    echo: { ask: () => Promise.resolve({ outcome: 'none' as const }) },
    tls: new TlsContexts(),
  };
  const script = [{ step: 'expect', bytes: 'x' }] as const;
  const probe = { kind: 'tcp', close: 'fin', script, tls: null } as const;
  const deps = { clock: systemClock, signal: new AbortController().signal };
  const target = { host: '127.0.0.1', port: server.port };
  const slow = await checkProbe({ probe, maxRttMs: 10 }, environment).run(target, plainOptions(5000), deps);
  const fine = await checkProbe({ probe, maxRttMs: 5000 }, environment).run(target, plainOptions(5000), deps);
  await server.close();
  assert.equal(slow.reason, 'TOO_SLOW');
  assert.equal(fine.outcome, 'pass');
});

/** As the system clock, but a test that waits for it stays alive. */
function afterWithHold(delayMs: number, task: () => void): { cancel(): void } {
  const timeout = setTimeout(task, delayMs);
  return { cancel: () => clearTimeout(timeout) };
}
