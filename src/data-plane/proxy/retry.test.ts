import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { RetryPlan } from '../../shared/plan/types.ts';
import { mayRetry, mayWait, timeLeft } from './retry.ts';

const DIAL_TIMEOUT_MS = 3000;

const plan: fc.Arbitrary<RetryPlan> = fc.record({
  retries: fc.option(fc.integer({ min: 0, max: 6 })),
  tryDurationMs: fc.option(fc.integer({ min: 1, max: 20_000 })),
  tryIntervalMs: fc.integer({ min: 0, max: 2000 }),
});

/** Tries that all fail after `tookMs`, without a pause: how many are made, and when the last one begins. */
function run(retry: RetryPlan, tookMs: readonly number[]): { readonly tries: number; readonly lastBegan: number } {
  let now = 0;
  let lastBegan = 0;
  let tries = 0;
  for (const took of tookMs) {
    tries += 1;
    lastBegan = now;
    now += took;
    if (!mayRetry(retry, DIAL_TIMEOUT_MS, { startedAt: 0, now, attempts: tries })) break;
  }
  return { tries, lastBegan };
}

test('no request is tried more often than 1 + lb_retries, and no try begins after lb_try_duration', () => {
  fc.assert(
    fc.property(plan, fc.array(fc.integer({ min: 0, max: 4000 }), { minLength: 1, maxLength: 12 }), (retry, took) => {
      const { tries, lastBegan } = run(retry, took);
      if (retry.retries !== null) assert.ok(tries <= 1 + retry.retries, `${tries} tries`);
      assert.ok(lastBegan === 0 || lastBegan < (retry.tryDurationMs ?? 2 * DIAL_TIMEOUT_MS), `began at ${lastBegan}`);
    }),
  );
});

test('as long as both limits allow, it goes on', () => {
  fc.assert(
    fc.property(plan, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 0, max: 20_000 }), (retry, attempts, now) => {
      const inTime = now < (retry.tryDurationMs ?? 2 * DIAL_TIMEOUT_MS);
      const allowed = retry.retries === null || attempts <= retry.retries;
      assert.equal(mayRetry(retry, DIAL_TIMEOUT_MS, { startedAt: 0, now, attempts }), inTime && allowed);
    }),
  );
});

test('a pause is made only if it ends in time, and never without lb_retries or lb_try_duration', () => {
  fc.assert(
    fc.property(plan, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 0, max: 20_000 }), (retry, attempts, now) => {
      const state = { startedAt: 0, now, attempts };
      if (!mayWait(retry, DIAL_TIMEOUT_MS, state)) return;
      assert.ok(retry.retries !== null || retry.tryDurationMs !== null);
      assert.ok(timeLeft(retry, DIAL_TIMEOUT_MS, state) > retry.tryIntervalMs);
      assert.ok(mayRetry(retry, DIAL_TIMEOUT_MS, state));
    }),
  );
});
