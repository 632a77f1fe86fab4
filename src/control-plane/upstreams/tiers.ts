/**
 * Backups (PURE): a pool is two tiers, and the backups get work only while none of the others may have it.
 * A proven backup comes before an upstream that no check has passed yet, or that has just failed passive checks.
 */
import { MEMBER_BACKUP, MEMBER_ELIGIBLE } from '../../shared/state-table/layout.ts';
import { memberState, poolMode, type PoolMode, type Standing, type StandingCounts } from './member-state.ts';

export interface Tiers {
  readonly primary: PoolMode;
  readonly backup: PoolMode;
  /** Backups stand by: no new clients. Always true for a pool without backups. */
  readonly standBy: boolean;
}

/** Of a pool before anybody is known. */
export const NO_TIERS: Tiers = Object.freeze({ primary: 'normal', backup: 'normal', standBy: true });

export function tiersOf(primary: StandingCounts, backup: StandingCounts, bestEffort: boolean): Tiers {
  if (primary.eligible > 0) return NO_TIERS;
  if (backup.eligible > 0) return { primary: 'normal', backup: 'normal', standBy: false };
  const first = poolMode(primary, false);
  if (first !== 'normal') return { primary: first, backup: 'normal', standBy: true };
  const second = poolMode(backup, false);
  if (second !== 'normal') return { primary: 'normal', backup: second, standBy: false };
  return { primary: poolMode(primary, bestEffort), backup: poolMode(backup, bestEffort), standBy: false };
}

/** The mode of the tier that has the work. */
export function servingMode({ primary, backup }: Tiers): PoolMode {
  return primary === 'normal' ? backup : primary;
}

export function sameTiers(one: Tiers, other: Tiers): boolean {
  return one.primary === other.primary && one.backup === other.backup && one.standBy === other.standBy;
}

/** The MEMBER_STATE word. */
export function stateInTier(standing: Standing, isBackup: boolean, tiers: Tiers): number {
  if (!isBackup) return memberState(standing, tiers.primary);
  const state = memberState(standing, tiers.backup);
  return tiers.standBy && state === MEMBER_ELIGIBLE ? MEMBER_BACKUP : state;
}
