/** Sentences that several policies' `explain` share. */
import {
  MEMBER_BACKUP,
  MEMBER_DOWN,
  MEMBER_DRAIN,
  MEMBER_ELIGIBLE,
  MEMBER_FULL,
  MEMBER_INITIAL,
  MEMBER_HALF_OPEN,
  MEMBER_MAINT,
  MEMBER_STRUCK,
  MEMBER_WAIT,
} from '../../shared/state-table/layout.ts';
import { countUsable } from './eligible.ts';
import type { PickRequest, PoolView } from './policy.ts';

const STATE_NAMES: Readonly<Record<number, string>> = {
  [MEMBER_DOWN]: 'down',
  [MEMBER_ELIGIBLE]: 'eligible',
  [MEMBER_INITIAL]: 'not proven yet',
  [MEMBER_DRAIN]: 'draining',
  [MEMBER_MAINT]: 'in maintenance',
  [MEMBER_BACKUP]: 'a backup while others may be picked',
  [MEMBER_STRUCK]: 'struck by its passive checks',
  [MEMBER_HALF_OPEN]: 'waiting for a request that tests it',
  [MEMBER_FULL]: 'full',
  [MEMBER_WAIT]: 'full, its own clients wait in its queue',
};

/** `2 (app-3:3000)` */
export function describeMember(pool: PoolView, position: number): string {
  return `${position} (${pool.identity(position)})`;
}

/** A MEMBER_* value in words: `down`. */
export function stateName(state: number): string {
  return STATE_NAMES[state] ?? 'in an unknown state';
}

/** `down`, or `tried already` for a member this exchange has used up. */
export function describeState(pool: PoolView, request: PickRequest, position: number): string {
  if (request.tried.includes(position)) return 'tried already';
  return stateName(pool.state(position));
}

export function describeCandidates(pool: PoolView, request: PickRequest): string {
  return `${countUsable(pool, request)} of ${pool.size} upstreams may be picked`;
}

/** The last sentence of every explanation: it names the pick. */
export function describePick(pool: PoolView, position: number): string {
  return position < 0 ? 'no upstream may be picked' : `picked upstream ${describeMember(pool, position)}`;
}
