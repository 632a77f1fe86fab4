/**
 * Passwords of `basic_auth`, checked in a thread beside the worker, which is opened for the first one. Requests that
 * ask the same share one check, and what was found out is remembered under a keyed hash: no password is kept, and looking
 * one up tells nothing about it by its time.
 */
import { createHmac } from 'node:crypto';
import type { Clock } from '../../shared/clock.ts';
import { NO, UNAVAILABLE, YES, type ErrandResult, type PasswordErrand } from '../route/wait.ts';
import type { HashAnswer } from './hash-thread.ts';
import type { HashThread, HashThreadUser } from './open-hash-thread.ts';
import { RecentKeys } from './recent-keys.ts';

/** Checks that run or wait at the same time; one more request is answered with 503. */
export const MAX_CHECKS = 64;
/** A request waits at most this long for its password. */
export const MAX_WAIT_MS = 10_000;
const MAX_REMEMBERED = 1000;

export type Done = (result: ErrandResult) => void;

export interface PasswordChecksDeps {
  readonly clock: Clock;
  /** Random, of this worker alone. */
  readonly secret: Buffer;
  open(user: HashThreadUser): HashThread;
  /** The thread ended by itself. */
  onLost(why: string): void;
}

interface Check {
  readonly key: string;
  readonly remembered: boolean;
  /** Those whose time is over are not among them. */
  readonly waiting: Set<Done>;
}

export class PasswordChecks {
  readonly #deps: PasswordChecksDeps;
  /** Two lists, so that guesses push out no right password. */
  readonly #right = new RecentKeys(MAX_REMEMBERED);
  readonly #wrong = new RecentKeys(MAX_REMEMBERED);
  readonly #byKey = new Map<string, Check>();
  readonly #byId = new Map<number, Check>();
  #thread: HashThread | null = null;
  #lastId = 0;

  constructor(deps: PasswordChecksDeps) {
    this.#deps = deps;
  }

  /** Calls `done` once, at once when the answer is known. */
  check(errand: PasswordErrand, done: Done): void {
    const key = this.#keyOf(errand);
    if (errand.cache && this.#right.has(key)) return done(YES);
    if (errand.cache && this.#wrong.has(key)) return done(NO);
    const running = this.#byKey.get(key);
    if (running !== undefined) return this.#await(running, done);
    const thread = this.#byId.size >= MAX_CHECKS ? null : this.#openThread();
    if (thread === null) return done(UNAVAILABLE);
    this.#await(this.#start(thread, key, errand), done);
  }

  /** null = the machine has none left for us. */
  #openThread(): HashThread | null {
    try {
      this.#thread ??= this.#deps.open({
        onAnswer: (answer) => this.#settle(answer),
        onEnd: (why) => this.#lost(why),
      });
    } catch (error) {
      this.#deps.onLost(error instanceof Error ? error.message : String(error));
    }
    return this.#thread;
  }

  #await(check: Check, done: Done): void {
    let isDone = false;
    const once: Done = (result) => {
      if (isDone) return;
      isDone = true;
      timer.cancel();
      check.waiting.delete(once);
      done(result);
    };
    const timer = this.#deps.clock.after(MAX_WAIT_MS, () => once(UNAVAILABLE));
    check.waiting.add(once);
  }

  #start(thread: HashThread, key: string, { hash, password, cache }: PasswordErrand): Check {
    const check: Check = { key, remembered: cache, waiting: new Set() };
    this.#lastId += 1;
    this.#byKey.set(key, check);
    this.#byId.set(this.#lastId, check);
    thread.ask({ id: this.#lastId, hash, password });
    return check;
  }

  #settle({ id, isRight }: HashAnswer): void {
    const check = this.#byId.get(id);
    if (check === undefined) return;
    this.#byId.delete(id);
    this.#byKey.delete(check.key);
    if (check.remembered) (isRight ? this.#right : this.#wrong).add(check.key);
    for (const done of check.waiting) done(isRight ? YES : NO);
  }

  /** The next check opens another one. */
  #lost(why: string): void {
    const checks = [...this.#byId.values()];
    this.#thread = null;
    this.#byId.clear();
    this.#byKey.clear();
    this.#deps.onLost(why);
    for (const { waiting } of checks) for (const done of waiting) done(UNAVAILABLE);
  }

  /** Lengths go in as well, so that no two questions are written alike. */
  #keyOf({ username, hash, password, cache }: PasswordErrand): string {
    return createHmac('sha256', this.#deps.secret)
      .update(`${username.length} ${hash.length} ${cache} ${username}${hash}`, 'latin1')
      .update(password, 'latin1')
      .digest('base64');
  }
}
