import { SHAPES } from '../../shared/state-table/layout.ts';
import type { Rows, StateTable } from '../../shared/state-table/table.ts';

/** Totals of dead workers live here; no worker owns it. */
const BASE_LANE = 0;

/** Gives every worker a lane of its own and takes it back when the worker is dead. */
export class Lanes {
  readonly #table: StateTable;
  readonly #taken = new Set<number>([BASE_LANE]);

  constructor(table: StateTable) {
    this.#table = table;
  }

  /** The lowest free lane. */
  take(): number {
    let lane = BASE_LANE;
    while (this.#taken.has(lane)) lane += 1;
    this.#taken.add(lane);
    return lane;
  }

  /**
   * Folds what a dead worker counted into the base lane and zeroes its words. Only after the thread's
   * exit: until then it is the one writer of its totals.
   */
  release(lane: number): void {
    foldTotals(this.#table.facts(lane), this.#table.facts(BASE_LANE), SHAPES.facts.doubles);
    foldTotals(this.#table.servers(lane), this.#table.servers(BASE_LANE), SHAPES.server.doubles);
    this.#table.lanes.clear(lane);
    this.#taken.delete(lane);
  }
}

function foldTotals(from: Rows, to: Rows, words: number): void {
  const rows = Math.min(from.capacity, to.capacity);
  for (let row = 0; row < rows; row += 1) {
    for (let word = 0; word < words; word += 1) to.count(row, word, from.total(row, word));
    from.clear(row);
  }
}
