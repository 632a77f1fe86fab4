/** Chance as an argument: a source that can be seeded, so that a pick can be replayed. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
}

export const systemRandom: Random = { next: Math.random };

/** Mulberry32: a small seeded generator for tests and simulations. Not for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    },
  };
}
