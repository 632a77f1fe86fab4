/** `shutdown_delay`: the time between "no new clients, please" and the end of listening. */
import type { Clock, Timer } from '../shared/clock.ts';
import type { ControlMessage } from '../shared/messages.ts';

export class ShutdownDelay {
  readonly #clock: Clock;
  #timer: Timer | null = null;
  #end: (() => void) | null = null;
  /** Somebody is in a hurry. */
  #skipped = false;
  #told: readonly ControlMessage[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What a worker that starts meanwhile has to know. */
  greeting(): readonly ControlMessage[] {
    return this.#told;
  }

  /** `tell` is what workers hear. Resolves with true when it was cut short, or skipped before it began. */
  async wait(delayMs: number, tell: (message: ControlMessage) => void): Promise<boolean> {
    if (delayMs === 0 || this.#skipped) return this.#skipped;
    const message: ControlMessage = { type: 'shutting-down', atMs: this.#clock.wall() + delayMs };
    this.#told = [message];
    tell(message);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#end = resolve;
    this.#timer = this.#clock.after(delayMs, resolve);
    await promise;
    this.#end = null;
    return this.#skipped;
  }

  /** Ends it, or keeps it from beginning. Returns whether it was running. */
  skip(): boolean {
    this.#skipped = true;
    const isRunning = this.#end !== null;
    this.#timer?.cancel();
    this.#end?.();
    return isRunning;
  }
}
