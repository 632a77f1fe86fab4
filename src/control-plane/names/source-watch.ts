import type { Clock } from '../../shared/clock.ts';
import { AskingLoop, RETRY_MS } from './asking-loop.ts';

export interface SourceAnswer {
  /** `host:port` texts, sorted; null = the question failed. An empty answer counts as failed. */
  readonly upstreams: readonly string[] | null;
  readonly error: string;
}

export interface SourceWatchDeps {
  readonly clock: Clock;
  readonly refreshMs: number;
  /** A source that failed for longer has nothing to say. 0 = from the first failure on. */
  readonly graceMs: number;
  ask(): Promise<SourceAnswer>;
  /** After each answer that changes what the source says, and when a failing source begins to have nothing to say. */
  onChange(): void;
  /** The first failure in a row. */
  onFailure(error: string): void;
}

/** Keeps the upstreams of one source fresh while it runs. The last good answer is kept whatever happens. */
export class SourceWatch {
  readonly #deps: SourceWatchDeps;
  readonly #loop: AskingLoop;
  #upstreams: readonly string[] = [];
  #error = '';
  #failingSince = Infinity;
  #lapsed = true;

  constructor(deps: SourceWatchDeps) {
    this.#deps = deps;
    this.#loop = new AskingLoop({
      clock: deps.clock,
      ask: async () => this.#take(await deps.ask()),
      delayMs: () => this.#delayMs(),
    });
  }

  /** The last good answer; empty while there was none. */
  get upstreams(): readonly string[] {
    return this.#upstreams;
  }

  /** Never answered, or failing for longer than the grace period: a fallback list may take over. */
  get lapsed(): boolean {
    return this.#lapsed;
  }

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

  stop(): void {
    this.#loop.stop();
  }

  #take({ upstreams, error }: SourceAnswer): void {
    if (upstreams === null || upstreams.length === 0) {
      this.#fail(error === '' ? 'no record in the answer' : error);
      return;
    }
    const changed = this.#lapsed || upstreams.join() !== this.#upstreams.join();
    this.#upstreams = upstreams;
    this.#error = '';
    this.#failingSince = Infinity;
    this.#lapsed = false;
    if (changed) this.#deps.onChange();
  }

  #fail(error: string): void {
    const now = this.#deps.clock.now();
    const first = this.#error === '';
    this.#error = error;
    this.#failingSince = Math.min(this.#failingSince, now);
    const lapses = !this.#lapsed && now - this.#failingSince >= this.#deps.graceMs;
    if (first) this.#deps.onFailure(error);
    if (!lapses) return;
    this.#lapsed = true;
    this.#deps.onChange();
  }

  #delayMs(): number {
    return this.#error === '' ? this.#deps.refreshMs : Math.min(RETRY_MS, this.#deps.refreshMs);
  }
}
