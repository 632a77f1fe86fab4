import type { Clock, Timer } from '../../shared/clock.ts';

/** After a failure a question is asked again this soon, or after its refresh interval if that is shorter. */
export const RETRY_MS = 5000;
/** Dial failures ask at most this often. */
const HURRY_MS = 1000;

export interface AskingLoopDeps {
  readonly clock: Clock;
  /** Asks once and takes the answer. Never rejects. */
  ask(): Promise<void>;
  /** Time from one question to the next, milliseconds, as things stand now. */
  delayMs(): number;
}

/** Asks again and again while it runs, one question at a time. */
export class AskingLoop {
  readonly #deps: AskingLoopDeps;
  #running = false;
  #timer: Timer | null = null;
  #asking: Promise<void> | null = null;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: AskingLoopDeps) {
    this.#deps = deps;
  }

  /** Asks now, or waits for the question that is under way. */
  refresh(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
      if (this.#running) this.#schedule(this.#deps.delayMs());
    });
    return this.#asking;
  }

  /** Asks as soon as the rate limit allows: somebody could not connect to what we know. */
  hurry(): void {
    this.#scheduleAfterLast(HURRY_MS);
  }

  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.reschedule();
  }

  /** The delay is another one: the next question comes when it would have come under this one. */
  reschedule(): void {
    this.#scheduleAfterLast(this.#deps.delayMs());
  }

  stop(): void {
    this.#running = false;
    this.#timer?.cancel();
    this.#timer = null;
  }

  #scheduleAfterLast(delayMs: number): void {
    if (!this.#running || this.#asking !== null) return;
    this.#schedule(Math.max(0, this.#askedAt + delayMs - this.#deps.clock.now()));
  }

  #schedule(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.after(delayMs, () => void this.refresh());
  }

  #ask(): Promise<void> {
    this.#askedAt = this.#deps.clock.now();
    return this.#deps.ask();
  }
}
