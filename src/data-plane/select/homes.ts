/**
 * The walk over a client's homes (PURE, HOT). Places are counted in the configured pool, never among
 * the eligible ones, so a client moves only when its own server goes or comes back, and it comes home.
 * A full server whose queue has room still is a home: its clients wait there.
 */
import { homeOf, laterHomeOf, secondHomeOf } from './hash.ts';
import { takesOwn } from './eligible.ts';
import type { PickRequest, PoolView } from './policy.ts';

/** Steps a member; the chance that the walk ends without a usable one, if there is one, is e^−64. */
const STEPS_PER_MEMBER = 64;

/** The first usable home of the client with this hash; −1 when no member is usable. */
export function pickHome(pool: PoolView, request: PickRequest, hash: number): number {
  const { size } = pool;
  if (size === 0) return -1;
  const home = homeOf(hash, size);
  if (takesOwn(pool, request, home)) return home;
  if (size === 1) return -1;
  const second = secondHomeOf(hash, size);
  if (takesOwn(pool, request, second)) return second;
  return pickLaterHome(pool, request, hash);
}

/** `on_failure all`: the textbook variant, `usable[hash mod M]`. */
export function pickAmongUsable(pool: PoolView, request: PickRequest, hash: number): number {
  const count = countTakers(pool, request);
  return count === 0 ? -1 : nthTaker(pool, request, hash % count, 0);
}

/**
 * Steps 2, 3, … The members are counted first: with none usable the walk would be long and for nothing, with
 * one it could only end there. After the last step (practically never) the next usable one after home is taken.
 */
function pickLaterHome(pool: PoolView, request: PickRequest, hash: number): number {
  const count = countTakers(pool, request);
  if (count > 1) {
    for (let step = 2; step < STEPS_PER_MEMBER * pool.size; step += 1) {
      const position = laterHomeOf(hash, pool.size, step);
      if (takesOwn(pool, request, position)) return position;
    }
  }
  return nthTaker(pool, request, 0, homeOf(hash, pool.size));
}

function countTakers(pool: PoolView, request: PickRequest): number {
  let count = 0;
  for (let position = 0; position < pool.size; position += 1) if (takesOwn(pool, request, position)) count += 1;
  return count;
}

/** The taker with `skip` others before it, going round once from `start`; −1 when there are not so many. */
function nthTaker(pool: PoolView, request: PickRequest, skip: number, start: number): number {
  let left = skip;
  for (let step = 0; step < pool.size; step += 1) {
    const position = (start + step) % pool.size;
    if (!takesOwn(pool, request, position)) continue;
    if (left === 0) return position;
    left -= 1;
  }
  return -1;
}
