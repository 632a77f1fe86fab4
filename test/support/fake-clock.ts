/** A clock that stands still until a test moves it. */
import type { Clock, Timer } from '../../src/shared/clock.ts';

interface Waiting {
  readonly at: number;
  readonly order: number;
  readonly task: () => void;
}

const WALL_START = 1_800_000_000_000;

export class FakeClock implements Clock {
  #now = 0;
  #order = 0;
  readonly #waiting: Set<Waiting> = new Set();

  now(): number {
    return this.#now;
  }

  wall(): number {
    return WALL_START + this.#now;
  }

  after(delayMs: number, task: () => void): Timer {
    const waiting: Waiting = { at: this.#now + delayMs, order: (this.#order += 1), task };
    this.#waiting.add(waiting);
    return { cancel: () => void this.#waiting.delete(waiting) };
  }

  afterPoll(task: () => void): void {
    this.after(0, task);
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#waiting.size;
  }

  /** Moves time on, runs what falls due in order, and lets promises settle after each task. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (let next = this.#next(until); next !== null; next = this.#next(until)) {
      this.#waiting.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.task();
      await settle();
    }
    this.#now = until;
  }

  #next(until: number): Waiting | null {
    let first: Waiting | null = null;
    for (const waiting of this.#waiting) {
      if (waiting.at > until) continue;
      if (first === null || waiting.at < first.at || (waiting.at === first.at && waiting.order < first.order))
        first = waiting;
    }
    return first;
  }
}

/** Lets every promise that can settle do so. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
