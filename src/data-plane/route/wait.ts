/** Routes that stop at a handler until something outside of the router is known, and then go on. */
import type { SectionHash } from '../../shared/plan/types.ts';
import type { Decision, RouteState, WaitDecision } from './decision.ts';
import type { Resume } from './handle-response.ts';
import type { RequestView } from './request-view.ts';

/** What has to be found out. Plain data: who does it is the worker's affair. */
export type Errand = PasswordErrand | MetricsErrand | ChallengeErrand | DeriveErrand;

export interface PasswordErrand {
  readonly kind: 'password';
  readonly username: string;
  /** Bytes. */
  readonly password: string;
  readonly hash: string;
  /** A result may be remembered. */
  readonly cache: boolean;
}

interface MetricsErrand {
  readonly kind: 'metrics';
}

interface ChallengeErrand {
  readonly kind: 'challenge';
  readonly token: string;
}

/** A pool of upstreams at these addresses, and otherwise like `pattern`. */
export interface DeriveErrand {
  readonly kind: 'derive';
  readonly pattern: SectionHash;
  /** Bytes. */
  readonly addresses: readonly string[];
}

/** `unavailable`: nobody could say in time. */
export interface ErrandResult {
  readonly outcome: 'yes' | 'no' | 'unavailable';
  readonly text: string;
}

export const YES: ErrandResult = Object.freeze({ outcome: 'yes', text: '' });
export const NO: ErrandResult = Object.freeze({ outcome: 'no', text: '' });
export const UNAVAILABLE: ErrandResult = Object.freeze({ outcome: 'unavailable', text: '' });

/**
 * What the request comes to once the result is there: the handler's own answer, or that of what stands behind it. null =
 * no handler answered. `state` is that of the request and goes on to be filled.
 */
export function resumeRoutes<Pool>(
  wait: WaitDecision,
  result: ErrandResult,
  request: RequestView,
  state: RouteState,
): Decision<Pool> | null {
  const behind = state.resume ?? [];
  state.resume = null;
  const own = wait.finish(result, request, state);
  if (own !== null) {
    // `handle_response` may want what stands behind it.
    if (own.kind === 'proxy' && own.handleResponse !== null) state.resume = [...behind];
    return own;
  }
  for (let next = 0; next < behind.length; next += 1) {
    const outcome = behind[next]!(request, state);
    if (outcome === null) continue;
    // It stopped again: what was left out this time stands in front of the lists that have not run yet.
    if (state.resume !== null) (state.resume as Resume[]).push(...behind.slice(next + 1));
    return outcome.kind === 'ended' ? null : outcome;
  }
  return null;
}
