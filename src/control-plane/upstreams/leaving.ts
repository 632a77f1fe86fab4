/** Why a member gets no new work at an address, which is when the `drain` of its pool decides about the work it has. PURE. */
import type { Verdict } from '../health/verdict.ts';
import type { EffectiveAdmin } from './admin-states.ts';

/** down: by its active check. operator: drain, maintenance, weight 0. removed: the config in force does not name it. */
export type LeavingCause = 'down' | 'operator' | 'removed';

export interface Leaving {
  readonly cause: LeavingCause;
  /** Best effort still sends it work: nothing is ended until that is over. */
  readonly tried: boolean;
  /** The operator gave a deadline of his own, which counts instead of the pool's. */
  readonly hasOwnDeadline: boolean;
}

export interface LeavingFacts {
  readonly admin: EffectiveAdmin;
  readonly weight: number;
  /** 'up' when the pool has no check. Passive checks do not count: what they say is over in a moment. */
  readonly verdict: Verdict;
  readonly tried: boolean;
}

/** null = it may have new work. */
export function leavingOf({ admin, weight, verdict, tried }: LeavingFacts): Leaving | null {
  const hasOwnDeadline = admin.deadline !== 0;
  if (admin.state !== 'ready') return { cause: 'operator', tried: false, hasOwnDeadline };
  if (weight === 0) return { cause: 'operator', tried: false, hasOwnDeadline: false };
  return verdict === 'down' ? { cause: 'down', tried, hasOwnDeadline: false } : null;
}

/**
 * Of a pool that is not in force any more: what the pools in force (of its layer) think of the address. As long as
 * one of them sends work there, nothing is drained; none of them has it: it was removed.
 */
export function leavingOfOld(admin: EffectiveAdmin, others: Iterable<Leaving | null>): Leaving | null {
  let last: Leaving | null = null;
  for (const other of others) {
    if (other === null) return null;
    if (last === null || other.tried) last = other;
  }
  if (last !== null) return last;
  return { cause: 'removed', tried: false, hasOwnDeadline: admin.state !== 'ready' && admin.deadline !== 0 };
}
