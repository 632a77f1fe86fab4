import type { Clock } from '../shared/clock.ts';

/** EMFILE can fail thousands of accepts a second; one line a second tells as much. */
const QUIET_MS = 1000;

/** Words for accept(2) errors of a listening server, at most one message a second. */
export class AcceptErrors {
  readonly #clock: Clock;
  #quietUntil = 0;
  #suppressed = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The message to log for this error; '' while it is too early for another one. */
  note(key: string, error: Error): string {
    const now = this.#clock.now();
    if (now < this.#quietUntil) {
      this.#suppressed += 1;
      return '';
    }
    const more = this.#suppressed === 0 ? '' : ` (and ${this.#suppressed} more)`;
    this.#quietUntil = now + QUIET_MS;
    this.#suppressed = 0;
    return `listener ${key} could not accept a connection: ${error.message}${more}`;
  }
}
