/** Metrics for `metrics` handlers: only the control plane has them. Requests that ask meanwhile share one question. */
import type { Clock, Timer } from '../../shared/clock.ts';
import { UNAVAILABLE } from '../route/wait.ts';
import type { Done } from './password-checks.ts';

/** A request waits at most this long. */
const MAX_WAIT_MS = 5000;

export class MetricsQuestions {
  readonly #clock: Clock;
  readonly #ask: (id: number) => void;
  #id = 0;
  #waiting: Done[] = [];
  #timer: Timer | null = null;

  constructor(clock: Clock, ask: (id: number) => void) {
    this.#clock = clock;
    this.#ask = ask;
  }

  ask(done: Done): void {
    this.#waiting.push(done);
    if (this.#timer !== null) return;
    this.#id += 1;
    this.#timer = this.#clock.after(MAX_WAIT_MS, () => this.#settle(null));
    this.#ask(this.#id);
  }

  /** null = there are none. An answer that comes too late is dropped. */
  answered(id: number, text: string | null): void {
    if (id === this.#id) this.#settle(text);
  }

  #settle(text: string | null): void {
    const waiting = this.#waiting;
    this.#timer?.cancel();
    this.#timer = null;
    this.#waiting = [];
    for (const done of waiting) done(text === null ? UNAVAILABLE : { outcome: 'yes', text });
  }
}
