import type { Clock } from '../../shared/clock.ts';

/** Ends within this window count. */
const WINDOW_MS = 60_000;
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 30_000;
/** More ends than this in one window: the budget is spent and the state is reported as degraded. */
const BUDGET = 5;

/**
 * How long to wait before a worker is replaced. The first end in a minute costs nothing (a single
 * crash should hurt nobody), each further one doubles the wait: a worker that throws at once must not
 * burn the processor in a loop. It is never given up: 30 s is the longest wait.
 */
export class RestartBudget {
  readonly #clock: Clock;
  #ends: number[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes an end; returns the milliseconds to wait before the replacement starts. */
  noteEnd(): number {
    const recent = this.#recent();
    this.#ends = [...recent, this.#clock.now()];
    return recent.length === 0 ? 0 : Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (recent.length - 1));
  }

  get spent(): boolean {
    return this.#recent().length > BUDGET;
  }

  #recent(): number[] {
    const since = this.#clock.now() - WINDOW_MS;
    return this.#ends.filter((at) => at > since);
  }
}
