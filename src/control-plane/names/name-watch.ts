import type { Clock } from '../../shared/clock.ts';
import { mergeAddresses, type FamilyAddresses } from './addresses.ts';
import { AskingLoop, RETRY_MS } from './asking-loop.ts';
import type { LookupAnswer } from './lookup.ts';

const MIN_TTL_MS = 5000;
const MAX_TTL_MS = 300_000;
const DEFAULT_REFRESH_MS = 30_000;

export interface NameWatchDeps {
  readonly clock: Clock;
  /** Longest time between two questions, milliseconds; null: 30 s, or by the TTL where the source tells one. */
  refreshMs(): number | null;
  ask(): Promise<LookupAnswer>;
  /** Addresses are other ones than before. `recovered`: the question before this one failed. */
  onChange(before: readonly string[], after: readonly string[], recovered: boolean): void;
  /** The first failure in a row. */
  onFailure(error: string): void;
}

/** Keeps the addresses of one name fresh while it runs. The last good answer is kept whatever happens. */
export class NameWatch {
  readonly #deps: NameWatchDeps;
  readonly #loop: AskingLoop;
  #known: FamilyAddresses = { ipv4: [], ipv6: [] };
  #addresses: readonly string[] = [];
  #error = '';
  #ttlMs: number | null = null;

  constructor(deps: NameWatchDeps) {
    this.#deps = deps;
    this.#loop = new AskingLoop({
      clock: deps.clock,
      ask: async () => this.#take(await deps.ask()),
      delayMs: () => this.#delayMs(),
    });
  }

  /** Sorted, without duplicates; empty while the name never resolved. */
  get addresses(): readonly string[] {
    return this.#addresses;
  }

  /** Why the last lookup failed, '' when it did not. */
  get error(): string {
    return this.#error;
  }

  /** Asks now, or waits for the question that is under way. */
  refresh(): Promise<void> {
    return this.#loop.refresh();
  }

  /** Asks as soon as the rate limit allows: somebody could not connect to what we know. */
  hurry(): void {
    this.#loop.hurry();
  }

  start(): void {
    this.#loop.start();
  }

  /** The refresh interval is another one. */
  reschedule(): void {
    this.#loop.reschedule();
  }

  stop(): void {
    this.#loop.stop();
  }

  #take(answer: LookupAnswer): void {
    const { known, addresses } = mergeAddresses(this.#known, answer);
    const empty = addresses.length === 0;
    const failed = empty || (answer.ipv4 === null && answer.ipv6 === null);
    this.#ttlMs = answer.ttlMs;
    const failedBefore = this.#error !== '';
    this.#error = failed ? answer.error || 'no address in the answer' : '';
    if (failed) {
      if (!failedBefore) this.#deps.onFailure(this.#error);
      return;
    }
    const before = this.#addresses;
    this.#known = known;
    this.#addresses = addresses;
    if (before.join() !== addresses.join()) this.#deps.onChange(before, addresses, failedBefore);
  }

  #delayMs(): number {
    const refreshMs = this.#deps.refreshMs();
    if (this.#error !== '') return Math.min(RETRY_MS, refreshMs ?? DEFAULT_REFRESH_MS);
    if (this.#ttlMs === null) return refreshMs ?? DEFAULT_REFRESH_MS;
    // A TTL decides within bounds: 0 must not become a flood of questions, nor a week of stale addresses.
    return Math.min(Math.max(this.#ttlMs, MIN_TTL_MS), refreshMs ?? MAX_TTL_MS);
  }
}
