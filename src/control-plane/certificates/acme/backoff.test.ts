import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryDelayMs } from './backoff.ts';
import { retryAfterMs } from './errors.ts';

const MINUTE_MS = 60_000;
const middle = { next: () => 0.5 };

test('the wait doubles from a minute to six hours', () => {
  const waits = [1, 2, 3, 4, 9, 10, 1000].map((failures) => retryDelayMs(failures, 0, middle) / MINUTE_MS);
  assert.deepEqual(waits, [1, 2, 4, 8, 256, 360, 360]);
});

test('the wait is spread by a fifth', () => {
  assert.equal(retryDelayMs(1, 0, { next: () => 0 }), 0.9 * MINUTE_MS);
  assert.ok(retryDelayMs(1, 0, { next: () => 0.999 }) < 1.1 * MINUTE_MS);
});

test('what an authority asks for is never undercut, up to a week', () => {
  assert.equal(retryDelayMs(1, 3_600_000, middle), 3_600_000);
  assert.equal(retryDelayMs(5, 1000, middle), 16 * MINUTE_MS);
  assert.equal(retryDelayMs(1, 1e12, middle), 7 * 86_400_000);
});

test('Retry-After is read in seconds and as a date', () => {
  const now = Date.UTC(2026, 0, 1);
  assert.equal(retryAfterMs('120', now), 120_000);
  assert.equal(retryAfterMs('Thu, 01 Jan 2026 00:01:00 GMT', now), 60_000);
  assert.equal(retryAfterMs('Wed, 31 Dec 2025 00:01:00 GMT', now), 0);
  for (const junk of [undefined, '', 'soon', '-5', ['1']]) assert.equal(retryAfterMs(junk, now), 0);
});
