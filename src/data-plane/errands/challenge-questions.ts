/** What is to be answered to an HTTP-01 challenge: the control plane knows, or another node that shares its storage. */
import type { Clock, Timer } from '../../shared/clock.ts';
import { NO, UNAVAILABLE, type ErrandResult } from '../route/wait.ts';
import type { Done } from './password-checks.ts';

/** A request waits at most this long. */
const MAX_WAIT_MS = 5000;
/** Authorities look from a few places at once; everybody else guesses. */
const MAX_WAITING = 100;

interface Waiting {
  readonly done: Done;
  readonly timer: Timer;
}

export class ChallengeQuestions {
  readonly #clock: Clock;
  readonly #ask: (id: number, token: string) => void;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 0;

  constructor(clock: Clock, ask: (id: number, token: string) => void) {
    this.#clock = clock;
    this.#ask = ask;
  }

  ask(token: string, done: Done): void {
    if (this.#waiting.size >= MAX_WAITING) {
      done(UNAVAILABLE);
      return;
    }
    const id = (this.#nextId += 1);
    const timer = this.#clock.after(MAX_WAIT_MS, () => this.#settle(id, UNAVAILABLE));
    this.#waiting.set(id, { done, timer });
    this.#ask(id, token);
  }

  /** null = nobody asked for this token. */
  answered(id: number, text: string | null): void {
    this.#settle(id, text === null ? NO : { outcome: 'yes', text });
  }

  #settle(id: number, result: ErrandResult): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    waiting.timer.cancel();
    waiting.done(result);
  }
}
