import type { Clock } from '../../shared/clock.ts';

/** Long work of this thread gives way after this long, so that probes and timers keep their times. */
const SLICE_MS = 10;

/** Cuts a loop into slices: `if (slice.used) await slice.next()` after each step. Short loops run through. */
export class Slice {
  readonly #clock: Clock;
  #startedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.now();
  }

  get used(): boolean {
    return this.#clock.now() - this.#startedAt >= SLICE_MS;
  }

  async next(): Promise<void> {
    await new Promise<void>((resolve) => this.#clock.afterPoll(resolve));
    this.#startedAt = this.#clock.now();
  }
}
