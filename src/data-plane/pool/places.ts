/**
 * `max_requests`: places on servers, counted exactly over all workers, and the lines of those who wait
 * for one. A pool without a limit has none of this.
 */
import type { EndpointPlan, MemberPlan, QueuePlan } from '../../shared/plan/types.ts';
import {
  FACT_IN_FLIGHT,
  FACT_WAITING,
  FACT_WAKES,
  MEMBER_BACKUP,
  MEMBER_DRAIN,
  MEMBER_ELIGIBLE,
  MEMBER_FULL,
  MEMBER_WAIT,
} from '../../shared/state-table/layout.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import { WaitingLine, type LineWorld, type Ticket } from './waiting-line.ts';

/** What places need to know of their pool. */
export interface PlacedPool {
  readonly size: number;
  /** Exchanges and tunnels on the member, all workers together. */
  load(position: number): number;
  /** The member's word in the table. */
  word(position: number): number;
  endpointsOf(position: number): readonly EndpointPlan[];
}

/** Words under which somebody may be sent to a member: new clients, or only its own. */
const OPEN: readonly number[] = Object.freeze([MEMBER_ELIGIBLE, MEMBER_DRAIN, MEMBER_BACKUP]);

export class Places {
  readonly #pool: PlacedPool;
  readonly #table: StateTable;
  readonly #queue: QueuePlan | null;
  /** By position; Infinity = no limit. */
  readonly #limits: readonly number[];
  readonly #lines: Map<number, WaitingLine> = new Map();

  constructor(pool: PlacedPool, members: readonly MemberPlan[], queue: QueuePlan | null, table: StateTable) {
    this.#pool = pool;
    this.#table = table;
    this.#queue = queue;
    this.#limits = members.map(({ maxRequests }) => maxRequests ?? Infinity);
  }

  /** Milliseconds a request waits at most. */
  get timeoutMs(): number {
    return this.#queue?.timeoutMs ?? 0;
  }

  /** What a pick sees instead of the member's word: FULL or WAIT when it is full. */
  stateOf(position: number, word: number): number {
    if (!OPEN.includes(word) || !this.#isTaken(position)) return word;
    if (!this.#hasRoom(position)) return MEMBER_FULL;
    // Clients of its own find their way by the other words, and are turned away into the line.
    return word === MEMBER_ELIGIBLE ? MEMBER_WAIT : word;
  }

  /**
   * Takes a place for an exchange: adds to the own row, then sums over all workers, then steps back if that is too
   * much. So no two workers ever share the last place; at worst both step back. `first`: it stood first in the
   * line, and passes those behind it.
   */
  take(world: LineWorld, position: number, slot: number, first: boolean): boolean {
    if (!first && this.#isTaken(position)) return false;
    world.facts.add(slot, FACT_IN_FLIGHT, 1);
    if (this.#pool.load(position) <= this.#limits[position]!) return true;
    world.facts.add(slot, FACT_IN_FLIGHT, -1);
    return false;
  }

  /** An exchange left the member: one of those who wait is next, in whichever worker, each with the same chance. */
  left(world: LineWorld, position: number, slot: number): void {
    if (this.#queue === null) return;
    const waiting = this.#table.sumFacts(slot, FACT_WAITING);
    if (waiting === 0) return;
    const lane = this.#table.factsHolding(slot, FACT_WAITING, Math.floor(world.random.next() * waiting));
    if (lane === world.facts) {
      this.#lines.get(position)?.wake();
    } else if (lane !== null) {
      lane.add(slot, FACT_WAKES, 1);
      lane.notify(slot, FACT_WAKES);
    }
  }

  /** Waits for a place. False: there is no queue, or it is full. `first`: it stood first already. */
  join(world: LineWorld, ticket: Ticket, first: boolean): boolean {
    if (this.#queue === null) return false;
    const line = this.#lineOf(world, ticket.position);
    if (!first) return line.join(ticket, this.#queue.limit);
    line.rejoin(ticket);
    return true;
  }

  quit(ticket: Ticket): void {
    this.#lines.get(ticket.position)?.leave(ticket);
  }

  /** The member with the shortest line a request may join when nobody has a place; −1 = none. */
  shortestLine(tried: readonly number[]): number {
    let best = -1;
    let bestWaiting = Infinity;
    for (let position = 0; position < this.#pool.size; position += 1) {
      if (this.stateOf(position, this.#pool.word(position)) !== MEMBER_WAIT || tried.includes(position)) continue;
      const waiting = this.#waitingFor(position);
      if (waiting >= bestWaiting) continue;
      best = position;
      bestWaiting = waiting;
    }
    return best;
  }

  /** Nobody passes a line: a server for which somebody waits has no place for newcomers. */
  #isTaken(position: number): boolean {
    const limit = this.#limits[position]!;
    if (limit === Infinity) return false;
    return this.#pool.load(position) >= limit || (this.#queue !== null && this.#waitingFor(position) > 0);
  }

  #hasRoom(position: number): boolean {
    return this.#queue !== null && this.#waitingFor(position) < this.#queue.limit;
  }

  #waitingFor(position: number): number {
    let sum = 0;
    for (const { slot } of this.#pool.endpointsOf(position)) sum += this.#table.sumFacts(slot, FACT_WAITING);
    return sum;
  }

  #lineOf(world: LineWorld, position: number): WaitingLine {
    let line = this.#lines.get(position);
    if (line === undefined) {
      line = new WaitingLine(world, this.#table, {
        isOpen: () => OPEN.includes(this.#pool.word(position)) && this.#pool.endpointsOf(position).length > 0,
        hasPlace: () => this.#pool.load(position) < this.#limits[position]!,
      });
      this.#lines.set(position, line);
    }
    return line;
  }
}
