/**
 * Deadlines of connections, cheap enough for the hot path: arming is a comparison and a store, no
 * timer, closure or promise a request.
 *
 * Precision: a deadline fires between 0 and two ticks late (a tick is 50 ms), never early. It never
 * decides inside the timer's own callback: one poll phase passes first, and a deadline that was moved
 * meanwhile (bytes were already in the kernel) does not fire. After a stall of the event loop healthy
 * peers therefore keep their connections.
 */
import type { Clock } from '../shared/clock.ts';

const TICK_MS = 50;
const BUCKETS = 512;

export interface Expirable {
  /** The armed deadline passed. It is disarmed before the call. */
  onDeadline(): void;
}

/** A deadline of one owner. In at most one bucket at a time; buckets are doubly linked lists. */
export class Deadline {
  readonly owner: Expirable;
  /** Monotonic milliseconds; Infinity = not armed. */
  at: number = Infinity;
  /** Tick whose bucket holds this entry, −1 = in none. */
  tick: number = -1;
  next: Deadline | null = null;
  previous: Deadline | null = null;

  constructor(owner: Expirable) {
    this.owner = owner;
  }
}

export class TimerWheel {
  readonly #clock: Clock;
  readonly #buckets: (Deadline | null)[] = new Array<Deadline | null>(BUCKETS).fill(null);
  #tick: number;
  /** Monotonic milliseconds of the last tick: coarse time for whoever can live with 50 ms. */
  now: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.now = clock.now();
    this.#tick = Math.floor(this.now / TICK_MS);
    this.#schedule();
  }

  /** Sets the deadline `delayMs` from now, replacing the one before. Moving it later costs no list work. */
  arm(entry: Deadline, delayMs: number): void {
    const at = this.#clock.now() + delayMs;
    entry.at = at;
    const tick = this.#tickOf(at);
    if (entry.tick >= 0) {
      if (entry.tick <= tick) return;
      this.#unlink(entry);
    }
    this.#link(entry, tick);
  }

  /** Forgets the deadline. The entry leaves its bucket when the wheel next passes it. */
  disarm(entry: Deadline): void {
    entry.at = Infinity;
  }

  /** Takes the entry out at once, for an owner that ends. */
  remove(entry: Deadline): void {
    entry.at = Infinity;
    if (entry.tick >= 0) this.#unlink(entry);
  }

  #schedule(): void {
    this.#clock.after(TICK_MS, () => {
      this.#turn();
      this.#schedule();
    });
  }

  #turn(): void {
    this.now = this.#clock.now();
    const target = Math.floor(this.now / TICK_MS);
    const due: Deadline[] = [];
    // After a stall longer than one round of the wheel every bucket is passed once.
    const first = Math.max(this.#tick + 1, target - BUCKETS + 1);
    for (let tick = first; tick <= target; tick += 1) {
      this.#tick = tick;
      this.#pass(tick, due);
    }
    if (due.length > 0) this.#clock.afterPoll(() => this.#fire(due));
  }

  /** Empties one bucket: due entries are collected, the others go to the bucket of their new deadline. */
  #pass(tick: number, due: Deadline[]): void {
    let entry = this.#buckets[tick % BUCKETS]!;
    this.#buckets[tick % BUCKETS] = null;
    while (entry !== null) {
      const next: Deadline | null = entry.next;
      entry.next = null;
      entry.previous = null;
      entry.tick = -1;
      if (entry.at <= this.now) due.push(entry);
      else if (entry.at !== Infinity) this.#link(entry, this.#tickOf(entry.at));
      entry = next!;
    }
  }

  #fire(due: readonly Deadline[]): void {
    for (const entry of due) {
      if (entry.at > this.now) continue;
      this.remove(entry);
      entry.owner.onDeadline();
    }
  }

  #tickOf(at: number): number {
    const tick = Math.ceil(at / TICK_MS);
    return Math.min(Math.max(tick, this.#tick + 1), this.#tick + BUCKETS - 1);
  }

  #link(entry: Deadline, tick: number): void {
    const head = this.#buckets[tick % BUCKETS]!;
    entry.tick = tick;
    entry.next = head;
    entry.previous = null;
    if (head !== null) head.previous = entry;
    this.#buckets[tick % BUCKETS] = entry;
  }

  #unlink(entry: Deadline): void {
    if (entry.previous === null) this.#buckets[entry.tick % BUCKETS] = entry.next;
    else entry.previous.next = entry.next;
    if (entry.next !== null) entry.next.previous = entry.previous;
    entry.next = null;
    entry.previous = null;
    entry.tick = -1;
  }
}
