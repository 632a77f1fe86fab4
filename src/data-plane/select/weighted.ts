/** Chance and turns by weight (PURE, HOT). */
import { isUsable, randomUsable } from './eligible.ts';
import type { PickRequest, PoolView, WeightTable } from './policy.ts';

/** Random places looked at before the weights are added up instead. */
const SAMPLES = 8;
/** Turns times members up to which the smooth sequence is worked out exactly: about 10 ms. */
const EXACT_WORK = 4_000_000;
/** Turns of a sequence at most, but for larger pools: then everybody has one or a few. */
const MAX_TURNS = 16_384;

/** A usable member with a chance in proportion to its weight; −1 for none. Weights count only among usable members. */
export function weightedUsable(pool: PoolView, request: PickRequest): number {
  const { values, max } = pool.weightTable();
  if (max <= 1) return randomUsable(pool, request);
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const position = Math.floor(request.random.next() * pool.size);
    if (request.random.next() * max < values[position]! && isUsable(pool, request, position)) return position;
  }
  return drawUsable(pool, request, values);
}

/** Two passes: the sum, then the member where a random part of it is reached. */
function drawUsable(pool: PoolView, request: PickRequest, values: readonly number[]): number {
  let sum = 0;
  for (let position = 0; position < pool.size; position += 1) {
    if (isUsable(pool, request, position)) sum += values[position]!;
  }
  let left = request.random.next() * sum;
  for (let position = 0; position < pool.size; position += 1) {
    if (!isUsable(pool, request, position)) continue;
    left -= values[position]!;
    if (left < 0) return position;
  }
  // Nobody is usable, all who are have weight 0 for the moment, or somebody went in between.
  return randomUsable(pool, request);
}

/**
 * The order in which members take turns: each as often as its weight says in a round, and its turns as far
 * apart as can be (3, 2, 1 gives 0 1 0 2 1 0). Weight 0 has no turn. Sums too large to work with are scaled down,
 * with at least one turn for each weight above 0.
 */
export function smoothTurns({ values, max }: WeightTable): Uint32Array {
  const weights = shrink(values, max);
  const turns = weights.reduce((sum, weight) => sum + weight, 0);
  return turns * weights.length <= EXACT_WORK ? takeTurns(weights, turns) : spreadTurns(weights);
}

function shrink(values: readonly number[], max: number): readonly number[] {
  const divisor = values.reduce(greatestCommonDivisor, 0);
  if (divisor === 0) return values;
  const whole = values.map((weight) => weight / divisor);
  const turns = whole.reduce((sum, weight) => sum + weight, 0);
  if (turns <= MAX_TURNS || max === divisor) return whole;
  return whole.map((weight) => (weight === 0 ? 0 : Math.max(1, Math.round((weight * MAX_TURNS) / turns))));
}

function greatestCommonDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestCommonDivisor(other, one % other);
}

/** Everybody saves up its weight a turn; the richest pays for the turn with what all have got. Ties to the first. */
function takeTurns(weights: readonly number[], turns: number): Uint32Array {
  const saved = weights.map(() => 0);
  return Uint32Array.from({ length: turns }, () => {
    let best = -1;
    for (let position = 0; position < weights.length; position += 1) {
      saved[position]! += weights[position]!;
      if (weights[position]! > 0 && (best < 0 || saved[position]! > saved[best]!)) best = position;
    }
    saved[best]! -= turns;
    return best;
  });
}

/** For large pools: the turns of each member at even distances, all of them sorted. */
function spreadTurns(weights: readonly number[]): Uint32Array {
  const turns = weights.flatMap((weight, position) =>
    Array.from({ length: weight }, (_, turn) => ({ position, at: (turn + 0.5) / weight })),
  );
  turns.sort((one, other) => one.at - other.at || one.position - other.position);
  return Uint32Array.from(turns, ({ position }) => position);
}
