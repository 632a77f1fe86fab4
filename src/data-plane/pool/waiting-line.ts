/** Requests that wait for one server because it is full: first come, first served (one line a member and worker). */
import { FACT_QUEUED, FACT_QUEUE_TIMEOUTS, FACT_WAITING, FACT_WAKES } from '../../shared/state-table/layout.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import { Deadline, type Expirable } from '../wheel.ts';
import type { World } from '../world.ts';

/** A look at the server besides being told: places can also come free by a worker's end or a changed name. */
const LOOK_MS = 50;
/** A thread that nobody tells anything stops to listen, so that a line of an old plan holds nothing. */
const LISTEN_MS = 1000;

/** What a line needs of its worker. */
export type LineWorld = Pick<World, 'clock' | 'facts' | 'random' | 'wheel'>;

/** A request that waits. The calls come from the event loop, never from within `join`. */
export interface Waiter {
  /** The server seems to have a place. Whoever still does not get one joins again, in front. */
  onTurn(): void;
  /** The server takes nobody any more: down, in maintenance or without an address. */
  onServerGone(): void;
  onQueueTimeout(): void;
}

/** One request's place in a line. */
export interface Ticket {
  readonly waiter: Waiter;
  readonly position: number;
  /** The slot it is counted at. */
  readonly slot: number;
  /** Monotonic milliseconds. */
  readonly since: number;
  readonly expiresAt: number;
}

/** What a line asks about its server. */
export interface LineServer {
  /** Somebody may be sent there at all. */
  isOpen(): boolean;
  hasPlace(): boolean;
}

export class WaitingLine implements Expirable {
  readonly #world: LineWorld;
  readonly #table: StateTable;
  readonly #server: LineServer;
  readonly #tickets: Ticket[] = [];
  readonly #deadline: Deadline = new Deadline(this);
  #waking = false;
  #listening = false;

  constructor(world: LineWorld, table: StateTable, server: LineServer) {
    this.#world = world;
    this.#table = table;
    this.#server = server;
  }

  get length(): number {
    return this.#tickets.length;
  }

  /** Takes a ticket unless `limit` requests wait at its slot already, in all workers together. */
  join(ticket: Ticket, limit: number): boolean {
    const { facts } = this.#world;
    facts.add(ticket.slot, FACT_WAITING, 1);
    if (this.#table.sumFacts(ticket.slot, FACT_WAITING) > limit) {
      facts.add(ticket.slot, FACT_WAITING, -1);
      return false;
    }
    facts.count(ticket.slot, FACT_QUEUED, 1);
    this.#tickets.push(ticket);
    this.#watch(ticket);
    return true;
  }

  /** Puts a ticket back whose turn came to nothing: it stays the first. */
  rejoin(ticket: Ticket): void {
    this.#world.facts.add(ticket.slot, FACT_WAITING, 1);
    this.#tickets.unshift(ticket);
    this.#watch(ticket);
  }

  /** The request does not wait any more. */
  leave(ticket: Ticket): void {
    const at = this.#tickets.indexOf(ticket);
    if (at < 0) return;
    this.#tickets.splice(at, 1);
    this.#world.facts.add(ticket.slot, FACT_WAITING, -1);
  }

  /** A place came free. The line moves when the code that left it is done. */
  wake(): void {
    if (this.#waking || this.#tickets.length === 0) return;
    this.#waking = true;
    this.#world.clock.afterPoll(() => {
      this.#waking = false;
      this.#move();
    });
  }

  onDeadline(): void {
    const now = this.#world.clock.now();
    // All wait equally long, so those whose time is over stand in front.
    for (let first = this.#tickets[0]; first !== undefined && first.expiresAt <= now; first = this.#tickets[0]) {
      this.leave(first);
      this.#world.facts.count(first.slot, FACT_QUEUE_TIMEOUTS, 1);
      first.waiter.onQueueTimeout();
    }
    this.#move();
  }

  #move(): void {
    for (let first = this.#tickets[0]; first !== undefined; first = this.#tickets[0]) {
      const isOpen = this.#server.isOpen();
      if (isOpen && !this.#server.hasPlace()) break;
      this.leave(first);
      if (isOpen) first.waiter.onTurn();
      else first.waiter.onServerGone();
      // Its turn came to nothing: it stands in front again, with another ticket.
      if (this.#tickets[0]?.waiter === first.waiter) break;
    }
    const [first] = this.#tickets;
    if (first !== undefined) this.#watch(first);
  }

  #watch(first: Ticket): void {
    if (this.#deadline.at === Infinity) this.#world.wheel.arm(this.#deadline, LOOK_MS);
    this.#listen(first.slot);
  }

  /** Other workers tell by a word of this lane that they left it a place. */
  #listen(slot: number): void {
    if (this.#listening) return;
    const { facts } = this.#world;
    const told = facts.changed(slot, FACT_WAKES, facts.load(slot, FACT_WAKES), LISTEN_MS);
    if (told === null) return;
    this.#listening = true;
    void told.then(() => {
      this.#listening = false;
      this.#move();
    });
  }
}
