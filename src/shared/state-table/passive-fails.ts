/** How long failures of passive checks count. Wall clock, because the monotonic clocks of two threads differ. */
import { MEMBER_PASSIVE_FAILS, MEMBER_PASSIVE_SINCE, MEMBER_STRIKE } from './layout.ts';
import type { Rows } from './table.ts';

/** What the failures tell is older than `durationMs`. The word wraps after 49 days, which the difference survives. */
export function isStale(members: Rows, row: number, wallMs: number, durationMs: number): boolean {
  const age = ((wallMs | 0) - members.load(row, MEMBER_PASSIVE_SINCE)) | 0;
  return age < 0 || age > durationMs;
}

/** Failures that still count at `wallMs`: those of a struck member, and those that are not older than `durationMs`. */
export function rememberedFails(members: Rows, row: number, durationMs: number, wallMs: number): number {
  const counts = members.load(row, MEMBER_STRIKE) !== 0 || !isStale(members, row, wallMs, durationMs);
  return counts ? members.load(row, MEMBER_PASSIVE_FAILS) : 0;
}
