/** Each session is a file descriptor, and the process has only so many: connections, logs and probes need some, too. */
import { readFileSync } from 'node:fs';
import { LANE_UDP_SESSIONS } from '../../../shared/state-table/layout.ts';
import type { StateTable } from '../../../shared/state-table/table.ts';

const LIMITS_FILE = '/proc/self/limits';
/** Sessions may use this share of the descriptors of the process. */
const SESSION_SHARE = 0.5;

/** Sessions that descriptors allow (each needs one); Infinity where the system does not tell. */
export function sessionsPossible(read: () => string = readLimits): number {
  const limit = /^Max open files\s+(\d+)/m.exec(read())?.[1];
  return limit === undefined ? Infinity : Math.max(1, Math.floor(Number(limit) * SESSION_SHARE));
}

function readLimits(): string {
  try {
    return readFileSync(LIMITS_FILE, 'latin1');
  } catch {
    return '';
  }
}

/**
 * Divides them between the UDP sockets of the process, in whichever workers they are. Half is kept for all alike: so
 * much each socket gets, also while another one is flooded. The other half is whose it is first.
 */
export class SessionBudget {
  readonly #table: StateTable;
  readonly #lane: number;
  readonly #read: () => number;
  #possible: number;

  constructor(deps: { readonly table: StateTable; readonly lane: number }, read: () => number = sessionsPossible) {
    this.#table = deps.table;
    this.#lane = deps.lane;
    this.#read = read;
    this.#possible = read();
  }

  /** The limit of a running process can be changed. */
  refresh(): void {
    this.#possible = this.#read();
  }

  /** What one of so many sockets can have. */
  most(sockets: number): number {
    return Math.max(1, Math.floor((this.#possible * (sockets + 1)) / (2 * sockets)));
  }

  /** Whether one of so many sockets, which has `own` sessions, may have another. */
  hasRoom(own: number, sockets: number): boolean {
    const kept = Math.max(1, Math.floor(this.#possible / (2 * sockets)));
    return own < kept || this.#total() < this.most(sockets);
  }

  count(delta: 1 | -1): void {
    this.#table.lanes.add(this.#lane, LANE_UDP_SESSIONS, delta);
  }

  #total(): number {
    const { lanes, laneCount } = this.#table;
    let sum = 0;
    for (let lane = 0; lane < laneCount; lane += 1) sum += lanes.load(lane, LANE_UDP_SESSIONS);
    return sum;
  }
}
