/** A few draws instead of a look at everybody, for pools in which that costs more than it gains (PURE, HOT). */
import type { PickRequest, PoolView } from './policy.ts';

/** Above this many members draws are compared. */
export const FULL_SCAN_MEMBERS = 64;

type Draw = (pool: PoolView, request: PickRequest) => number;
type Cost = (pool: PoolView, position: number) => number;

/**
 * The cheapest of `count` drawn members, the first of equals; −1 when nobody can be drawn. In a large pool draws
 * seldom meet: one that does costs a choice, not a pass over everybody.
 */
export function bestOfDraws(pool: PoolView, request: PickRequest, count: number, draw: Draw, costOf: Cost): number {
  let best = draw(pool, request);
  for (let drawn = 1; drawn < count && best >= 0; drawn += 1) {
    const position = draw(pool, request);
    // −1 when the last eligible member went in between.
    if (position >= 0 && costOf(pool, position) < costOf(pool, best)) best = position;
  }
  return best;
}
