/**
 * `new_per_second`: how many connections or sessions may begin, exact over all workers. Seconds are those of the wall
 * clock, which all threads share, and begin with nothing used: two seconds' worth may come close together where they meet.
 */
import type { Clock } from '../../shared/clock.ts';
import { LIMIT_NEW_PER_SECOND, SERVER_LIMITS, SERVER_NEW, SERVER_NEW_SECOND } from '../../shared/state-table/layout.ts';
import type { StateTable } from '../../shared/state-table/table.ts';

export interface NewRateDeps {
  readonly clock: Clock;
  readonly table: StateTable;
  readonly lane: number;
}

export class NewRate {
  readonly #deps: NewRateDeps;

  constructor(deps: NewRateDeps) {
    this.#deps = deps;
  }

  /** Whether one more may begin now; one that may not is counted. `perSecond` 0 = any number. */
  admit(row: number, perSecond: number): boolean {
    if (perSecond === 0) return true;
    const { table, lane } = this.#deps;
    const own = table.servers(lane);
    const second = Math.floor(this.#deps.clock.wall() / 1000) | 0;
    if (own.load(row, SERVER_NEW_SECOND) !== second) {
      // Zero first: another worker that looks in between sees too few for an instant, never the old number as new.
      own.store(row, SERVER_NEW, 0);
      own.store(row, SERVER_NEW_SECOND, second);
    }
    // Counted in first and summed then: workers that race see each other, so the limit is never exceeded.
    own.add(row, SERVER_NEW, 1);
    if (begunIn(table, row, second) <= perSecond) return true;
    own.add(row, SERVER_NEW, -1);
    own.count(row, SERVER_LIMITS + LIMIT_NEW_PER_SECOND, 1);
    return false;
  }
}

function begunIn(table: StateTable, row: number, second: number): number {
  let sum = 0;
  for (let lane = 0; lane < table.laneCount; lane += 1) {
    const rows = table.servers(lane);
    if (rows.capacity > row && rows.load(row, SERVER_NEW_SECOND) === second) sum += rows.load(row, SERVER_NEW);
  }
  return sum;
}
