/**
 * Pools whose upstreams a request named: the control plane makes them, a worker keeps them under what it asked for.
 * Requests that ask for the same one meanwhile share the question.
 */
import type { Clock, Timer } from '../../shared/clock.ts';
import type { DerivedAnswer, WorkerMessage } from '../../shared/messages.ts';
import type { PoolRows, PoolSection, SectionHash } from '../../shared/plan/types.ts';
import type { Pool } from '../pool/pool.ts';
import { NO, UNAVAILABLE, YES, type DeriveErrand, type ErrandResult } from '../route/wait.ts';
import type { Done } from './password-checks.ts';

/** A request waits at most this long. */
export const MAX_WAIT_MS = 2000;
/** Questions that wait for their answer; one more request is answered with 503. */
export const MAX_QUESTIONS = 64;
/** The control plane is told that a pool is used at most this often. */
const TOUCH_MS = 1000;
/** … and the log that there was none. */
const REPORT_MS = 1000;

/** Where pools live. */
export interface DerivedStore {
  derived(hash: SectionHash): Pool | undefined;
  addDerived(section: PoolSection, rows: PoolRows): void;
}

export interface DerivationsDeps {
  readonly clock: Clock;
  readonly store: DerivedStore;
  post(message: WorkerMessage): void;
}

interface Question {
  readonly key: string;
  readonly timer: Timer;
  readonly waiting: Done[];
}

interface Known {
  readonly hash: SectionHash;
  touchAt: number;
}

export class Derivations {
  readonly #deps: DerivationsDeps;
  readonly #known = new Map<string, Known>();
  readonly #questions = new Map<number, Question>();
  readonly #byKey = new Map<string, Question>();
  #lastId = 0;
  #reportAt = -Infinity;

  constructor(deps: DerivationsDeps) {
    this.#deps = deps;
  }

  find(pattern: SectionHash, addresses: readonly string[]): Pool | null {
    const key = keyOf(pattern, addresses);
    const known = this.#known.get(key);
    const pool = known === undefined ? undefined : this.#deps.store.derived(known.hash);
    if (known === undefined || pool === undefined) return null;
    const now = this.#deps.clock.now();
    if (now >= known.touchAt) {
      known.touchAt = now + TOUCH_MS;
      this.#deps.post({ type: 'derive', id: 0, pattern, addresses });
    }
    return pool;
  }

  /** Calls `done` once. no: these are no addresses. */
  ask({ pattern, addresses }: DeriveErrand, done: Done): void {
    const key = keyOf(pattern, addresses);
    const asked = this.#byKey.get(key);
    if (asked !== undefined) {
      asked.waiting.push(done);
      return;
    }
    if (this.#questions.size >= MAX_QUESTIONS) return done(UNAVAILABLE);
    this.#lastId += 1;
    const id = this.#lastId;
    const timer = this.#deps.clock.after(MAX_WAIT_MS, () => this.#settle(id, UNAVAILABLE));
    const question: Question = { key, timer, waiting: [done] };
    this.#questions.set(id, question);
    this.#byKey.set(key, question);
    this.#deps.post({ type: 'derive', id, pattern, addresses });
  }

  /** A pool that comes too late is kept for the next request. */
  answered({ id, pattern, addresses, result }: DerivedAnswer): void {
    if (result.outcome === 'pool') {
      const { section, rows } = result;
      this.#deps.store.addDerived(section, rows);
      const touchAt = this.#deps.clock.now() + TOUCH_MS;
      this.#known.set(keyOf(pattern, addresses), { hash: section.hash, touchAt });
    } else this.#report(result.outcome, addresses);
    this.#settle(id, result.outcome === 'pool' ? YES : result.outcome === 'none' ? NO : UNAVAILABLE);
  }

  /** The control plane let go of these. */
  forget(hashes: readonly SectionHash[]): void {
    for (const [key, { hash }] of this.#known) if (hashes.includes(hash)) this.#known.delete(key);
  }

  #report(outcome: 'none' | 'busy', addresses: readonly string[]): void {
    const now = this.#deps.clock.now();
    if (now < this.#reportAt) return;
    this.#reportAt = now + REPORT_MS;
    const message =
      outcome === 'none'
        ? 'a request names an upstream that is no host:port: it gets a 502'
        : 'requests name more new upstreams than are taken up: they get a 503';
    this.#deps.post({ type: 'log', level: 'warn', message, fields: { addresses } });
  }

  #settle(id: number, result: ErrandResult): void {
    const question = this.#questions.get(id);
    if (question === undefined) return;
    question.timer.cancel();
    this.#questions.delete(id);
    this.#byKey.delete(question.key);
    for (const done of question.waiting) done(result);
  }
}

function keyOf(pattern: SectionHash, addresses: readonly string[]): string {
  return [pattern, ...addresses].join(' ');
}
