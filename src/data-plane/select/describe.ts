/** Sentences that several policies' `explain` share. */
import {
  MEMBER_DOWN,
  MEMBER_DRAIN,
  MEMBER_ELIGIBLE,
  MEMBER_INITIAL,
  MEMBER_MAINT,
} from '../../shared/state-table/layout.ts';
import { countUsable } from './eligible.ts';
import type { PickRequest, PoolView } from './policy.ts';

const STATE_NAMES: Readonly<Record<number, string>> = {
  [MEMBER_DOWN]: 'down',
  [MEMBER_ELIGIBLE]: 'eligible',
  [MEMBER_INITIAL]: 'not proven yet',
  [MEMBER_DRAIN]: 'draining',
  [MEMBER_MAINT]: 'in maintenance',
};

/** `2 (app-3:3000)` */
export function describeMember(pool: PoolView, position: number): string {
  return `${position} (${pool.identity(position)})`;
}

/** `down`, or `tried already` for a member this exchange has used up. */
export function describeState(pool: PoolView, request: PickRequest, position: number): string {
  if (request.tried.includes(position)) return 'tried already';
  return STATE_NAMES[pool.state(position)] ?? 'in an unknown state';
}

export function describeCandidates(pool: PoolView, request: PickRequest): string {
  return `${countUsable(pool, request)} of ${pool.size} upstreams may be picked`;
}

/** The last sentence of every explanation: it names the pick. */
export function describePick(pool: PoolView, position: number): string {
  return position < 0 ? 'no upstream may be picked' : `picked upstream ${describeMember(pool, position)}`;
}
