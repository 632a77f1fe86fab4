/** May an exchange try again? PURE. The rules of failover without options and of `lb_retries` / `lb_try_duration`. */
import type { RetryPlan } from '../../shared/plan/types.ts';

/** What is known when a try has failed. */
export interface TryState {
  /** Monotonic milliseconds when the first try began. */
  readonly startedAt: number;
  readonly now: number;
  /** Tries made so far. */
  readonly attempts: number;
}

/** Time left for further tries in milliseconds; 0 = none. */
export function timeLeft(plan: RetryPlan, dialTimeoutMs: number, state: TryState): number {
  const allowed = plan.tryDurationMs ?? 2 * dialTimeoutMs;
  return Math.max(0, state.startedAt + allowed - state.now);
}

/** Whether another upstream may be tried at all. `lb_retries 0` turns failover off. */
export function mayRetry(plan: RetryPlan, dialTimeoutMs: number, state: TryState): boolean {
  if (plan.retries === 0) return false;
  if (plan.retries !== null && state.attempts > plan.retries) return false;
  return timeLeft(plan, dialTimeoutMs, state) > 0;
}

/**
 * Whether it is worth waiting for an upstream to come back once every eligible one was tried: all tries
 * together take no longer than they may, so the wait must end before that.
 */
export function mayWait(plan: RetryPlan, dialTimeoutMs: number, state: TryState): boolean {
  if (plan.tryDurationMs === null && plan.retries === null) return false;
  return mayRetry(plan, dialTimeoutMs, state) && timeLeft(plan, dialTimeoutMs, state) > plan.tryIntervalMs;
}

/** Methods that may go to another upstream after their bytes were sent (RFC 9110 section 9.2.1). */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

/** Methods that may be replayed on a fresh connection when a reused one broke (RFC 9110 section 9.2.2). */
export function isIdempotent(method: string): boolean {
  return isSafe(method) || method === 'PUT' || method === 'DELETE' || method === 'TRACE';
}
