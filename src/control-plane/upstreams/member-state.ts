/**
 * Which members of a pool may be picked. PURE. What a member is by itself (its standing) is kept apart
 * from what that means in its pool (its state), so that one changed verdict costs one member, not a
 * walk over a pool of thousands.
 */
import {
  MEMBER_DOWN,
  MEMBER_DRAIN,
  MEMBER_ELIGIBLE,
  MEMBER_HALF_OPEN,
  MEMBER_INITIAL,
  MEMBER_MAINT,
  MEMBER_STRUCK,
} from '../../shared/state-table/layout.ts';
import type { Verdict } from '../health/verdict.ts';
import type { AdminState } from '../types.ts';

export interface EndpointFacts {
  /** 'up' when the pool has no check. */
  readonly verdict: Verdict;
  /** `maint` also after a drain deadline has passed: nobody is let in any more. */
  readonly admin: AdminState;
}

/**
 * A member by itself. `down`: unhealthy, but may be tried when all are. `out`: cannot be used at all
 * (no address, or no endpoint that is both open and worth a try).
 */
export type Standing = 'eligible' | 'initial' | 'drain' | 'maint' | 'down' | 'out' | Exclude<PassiveStanding, 'good'>;

/** By its passive checks. struck: for a moment. half-open: a request may test it. ejected: a test has failed too. */
export type PassiveStanding = 'good' | 'struck' | 'half-open' | 'ejected';

/** How many members have each standing. */
export type StandingCounts = Readonly<Record<Standing, number>>;

/**
 * `unproven`: only members that no check has passed yet are left. `struck`: only those that failed passive checks are
 * left, and are used all the same. `best-effort`: all are down and all are tried.
 */
export type PoolMode = 'normal' | 'unproven' | 'struck' | 'best-effort';

/** A member is as good as its best endpoint. Weight 0 turns new clients away as a drain does. */
export function standingOf(endpoints: readonly EndpointFacts[], weight: number): Standing {
  if (endpoints.length === 0) return 'out';
  const open = endpoints.filter((endpoint) => endpoint.admin === 'ready');
  const has = (verdict: Verdict): boolean => open.some((endpoint) => endpoint.verdict === verdict);
  if (has('up')) return weight > 0 ? 'eligible' : 'drain';
  if (has('initial')) return weight > 0 ? 'initial' : 'drain';
  if (endpoints.some((endpoint) => endpoint.admin === 'drain' && endpoint.verdict !== 'down')) return 'drain';
  if (endpoints.every((endpoint) => endpoint.admin === 'maint')) return 'maint';
  return open.length > 0 && weight > 0 ? 'down' : 'out';
}

/** Passive checks take away only what would be eligible: they say nothing about a member that is away anyway. */
export function withPassive(standing: Standing, passive: PassiveStanding): Standing {
  return standing === 'eligible' && passive !== 'good' ? passive : standing;
}

export function poolMode(counts: StandingCounts, bestEffort: boolean): PoolMode {
  if (counts.eligible > 0) return 'normal';
  if (counts.initial > 0) return 'unproven';
  if (counts.struck + counts['half-open'] + counts.ejected > 0) return 'struck';
  return bestEffort && counts.down > 0 ? 'best-effort' : 'normal';
}

/** The MEMBER_STATE word. */
export function memberState(standing: Standing, mode: PoolMode): number {
  switch (standing) {
    case 'eligible':
      return MEMBER_ELIGIBLE;
    case 'initial':
      return mode === 'unproven' ? MEMBER_ELIGIBLE : MEMBER_INITIAL;
    case 'down':
      return mode === 'best-effort' ? MEMBER_ELIGIBLE : MEMBER_DOWN;
    case 'drain':
      return MEMBER_DRAIN;
    case 'maint':
      return MEMBER_MAINT;
    case 'out':
      return MEMBER_DOWN;
    case 'struck':
      return mode === 'struck' ? MEMBER_ELIGIBLE : MEMBER_STRUCK;
    case 'half-open':
      return mode === 'struck' ? MEMBER_ELIGIBLE : MEMBER_HALF_OPEN;
    case 'ejected':
      return mode === 'struck' ? MEMBER_ELIGIBLE : MEMBER_DOWN;
  }
}

export function countStandings(standings: readonly Standing[]): Record<Standing, number> {
  const counts: Record<Standing, number> = {
    ...{ eligible: 0, initial: 0, drain: 0, maint: 0, down: 0, out: 0 },
    ...{ struck: 0, 'half-open': 0, ejected: 0 },
  };
  for (const standing of standings) counts[standing] += 1;
  return counts;
}
