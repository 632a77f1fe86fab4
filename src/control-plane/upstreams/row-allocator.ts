import type { Clock } from '../../shared/clock.ts';

/** A worker may still hold a row number it read a moment before the row was given up. */
const QUARANTINE_MS = 10_000;
/** Given-up rows looked at for each row taken; keeps taking cheap when many are still in use. */
const LOOKS = 8;

export interface RowAllocatorDeps {
  readonly clock: Clock;
  /** Makes sure that the row exists in the table. */
  grow(row: number): void;
  /** No worker counts in the row any more. */
  idle(row: number): boolean;
  /** Called once, before a row is used again. */
  clear(row: number): void;
}

interface GivenUp {
  readonly row: number;
  readonly at: number;
}

/** Hands out row numbers of one kind. A number is used again only when it rested and is idle. */
export class RowAllocator {
  readonly #deps: RowAllocatorDeps;
  readonly #resting: GivenUp[] = [];
  #next = 0;

  constructor(deps: RowAllocatorDeps) {
    this.#deps = deps;
  }

  /** Rows handed out so far, given-up ones included. */
  get size(): number {
    return this.#next;
  }

  take(): number {
    const used = this.#takeRested();
    if (used !== -1) {
      this.#deps.clear(used);
      return used;
    }
    this.#deps.grow(this.#next);
    this.#next += 1;
    return this.#next - 1;
  }

  give(row: number): void {
    this.#resting.push({ row, at: this.#deps.clock.now() });
  }

  /** Takes a row out of its rest with all it holds; false when it does not rest. */
  revive(row: number): boolean {
    const at = this.#resting.findIndex((given) => given.row === row);
    if (at < 0) return false;
    this.#resting.splice(at, 1);
    return true;
  }

  #takeRested(): number {
    const restedBy = this.#deps.clock.now() - QUARANTINE_MS;
    for (let looks = Math.min(LOOKS, this.#resting.length); looks > 0; looks -= 1) {
      const given = this.#resting[0]!;
      if (given.at > restedBy) return -1;
      this.#resting.shift();
      if (this.#deps.idle(given.row)) return given.row;
      // Still counted in: it goes to the back and rests again, so the others are looked at too.
      this.give(given.row);
    }
    return -1;
  }
}
