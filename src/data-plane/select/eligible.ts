/**
 * Who may be picked (PURE, HOT): eligible by the state table and not tried in this exchange. Nothing
 * here builds a list of candidates; counting twice is cheaper than garbage.
 */
import { MEMBER_ELIGIBLE, MEMBER_WAIT } from '../../shared/state-table/layout.ts';
import type { PickRequest, PoolView } from './policy.ts';

/** Random places looked at before the members are counted instead. */
const SAMPLES = 8;

export function isUsable(pool: PoolView, request: PickRequest, position: number): boolean {
  return pool.state(position) === MEMBER_ELIGIBLE && !request.tried.includes(position);
}

/** Usable, or full with room in its queue: whom affinity binds to it waits there (`lb_queue`). */
export function takesOwn(pool: PoolView, request: PickRequest, position: number): boolean {
  const state = pool.state(position);
  return (state === MEMBER_ELIGIBLE || state === MEMBER_WAIT) && !request.tried.includes(position);
}

export function countUsable(pool: PoolView, request: PickRequest): number {
  let count = 0;
  for (let position = 0; position < pool.size; position += 1) if (isUsable(pool, request, position)) count += 1;
  return count;
}

/** The usable member with `skip` usable ones before it in configured order; −1 when there are not so many. */
function nthUsable(pool: PoolView, request: PickRequest, skip: number): number {
  let left = skip;
  for (let position = 0; position < pool.size; position += 1) {
    if (!isUsable(pool, request, position)) continue;
    if (left === 0) return position;
    left -= 1;
  }
  return -1;
}

/** The first usable member at or behind `start`, going round once; −1 for none. */
export function usableFrom(pool: PoolView, request: PickRequest, start: number): number {
  for (let step = 0; step < pool.size; step += 1) {
    const position = (start + step) % pool.size;
    if (isUsable(pool, request, position)) return position;
  }
  return -1;
}

/**
 * A usable member, all with the same chance; −1 for none. Random places are tried first, so that a large
 * healthy pool costs one look; what remains when they all miss is as uniform as they are.
 */
export function randomUsable(pool: PoolView, request: PickRequest): number {
  for (let sample = 0; sample < SAMPLES && pool.size > 0; sample += 1) {
    const position = Math.floor(request.random.next() * pool.size);
    if (isUsable(pool, request, position)) return position;
  }
  const count = countUsable(pool, request);
  return count === 0 ? -1 : nthUsable(pool, request, Math.floor(request.random.next() * count));
}
