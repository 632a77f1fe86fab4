import type { Clock, Timer } from '../../shared/clock.ts';
import type { Random } from '../../shared/random.ts';
import type { ProbeResult } from './probe.ts';

/** First probes all begin within this time, so that a fresh start knows its servers soon. */
const FIRST_ROUND_MS = 1000;
/** Each interval is stretched or shrunk by at most this share, so that probes do not fall into step. */
const DEFAULT_JITTER = 0.05;
const DEFAULT_CONCURRENCY = 64;

export interface ProbeJob {
  /** Start to start, milliseconds. A probe that takes longer delays the next one instead of overlapping it. */
  readonly intervalMs: number;
  /** Share of the interval. Default 0.05. */
  readonly jitter?: number;
  /**
   * It mostly waits: a probe that passes by silence lasts its whole timeout and costs nothing meanwhile, so
   * it takes none of the places. Default false.
   */
  readonly idle?: boolean;
  run(signal: AbortSignal): Promise<ProbeResult>;
  /** Not called for a probe that was cancelled: that is no result. */
  onResult(result: ProbeResult): void;
  /** Called when the job is removed: what is kept between probes is let go. */
  close?(): void;
}

export interface SchedulerDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Probes running at the same time. Default 64. */
  readonly concurrency?: number;
}

/** One job's place in time. Exactly one of these holds: a timer runs, it is queued, it is probing. */
interface Entry {
  readonly job: ProbeJob;
  timer: Timer | null;
  /** Of the probe that runs now. */
  abort: AbortController | null;
  removed: boolean;
  /** The first round is over: from now on the probe keeps a place of its own in the interval. */
  settled: boolean;
}

/** Decides when probes run. Jobs are identified by their object. */
export class ProbeScheduler {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #concurrency: number;
  readonly #entries: Map<ProbeJob, Entry> = new Map();
  /** Due, waiting for one of the places to be free; first come, first served. */
  readonly #due: Set<Entry> = new Set();
  #running = 0;

  constructor(deps: SchedulerDeps) {
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#concurrency = deps.concurrency ?? DEFAULT_CONCURRENCY;
  }

  /** Does nothing when the job runs already. */
  add(job: ProbeJob): void {
    if (this.#entries.has(job)) return;
    const entry: Entry = { job, timer: null, abort: null, removed: false, settled: false };
    this.#entries.set(job, entry);
    this.#schedule(entry, this.#random.next() * Math.min(FIRST_ROUND_MS, job.intervalMs));
  }

  /** Stops a job; a probe of it that runs now is cancelled. */
  remove(job: ProbeJob): void {
    const entry = this.#entries.get(job);
    if (entry === undefined) return;
    this.#entries.delete(job);
    this.#due.delete(entry);
    entry.removed = true;
    entry.timer?.cancel();
    entry.abort?.abort();
    job.close?.();
  }

  stop(): void {
    for (const job of [...this.#entries.keys()]) this.remove(job);
  }

  #schedule(entry: Entry, delayMs: number): void {
    entry.timer = this.#clock.after(delayMs, () => {
      entry.timer = null;
      if (entry.job.idle === true) return void this.#probe(entry);
      this.#due.add(entry);
      this.#startDue();
    });
  }

  #startDue(): void {
    for (const entry of this.#due) {
      if (this.#running >= this.#concurrency) return;
      this.#due.delete(entry);
      void this.#probe(entry);
    }
  }

  async #probe(entry: Entry): Promise<void> {
    const { job } = entry;
    const places = job.idle === true ? 0 : 1;
    this.#running += places;
    const startedAt = this.#clock.now();
    entry.abort = new AbortController();
    const result = await job.run(entry.abort.signal).catch(failedProbe);
    entry.abort = null;
    this.#running -= places;
    if (!entry.removed) {
      const nextAt = startedAt + this.#intervalOf(entry);
      this.#schedule(entry, Math.max(0, nextAt - this.#clock.now()));
    }
    this.#startDue();
    // Last, so that a listener's fault cannot hold up the other probes.
    if (!entry.removed) job.onResult(result);
  }

  /**
   * The second probe falls at a random place of the interval, which takes the crowd of the first
   * second apart; from then on each keeps its place, give or take the jitter.
   */
  #intervalOf(entry: Entry): number {
    const { intervalMs, jitter = DEFAULT_JITTER } = entry.job;
    if (entry.settled) return intervalMs * (1 + jitter * (2 * this.#random.next() - 1));
    entry.settled = true;
    return intervalMs * this.#random.next();
  }
}

/** A probe that throws is a fault of ours, and no reason to take a server down. */
function failedProbe(error: unknown): ProbeResult {
  const detail = `the probe itself failed: ${error instanceof Error ? error.message : String(error)}`;
  return { outcome: 'neutral', reason: 'LOCAL_TROUBLE', detail, roundTripMs: 0, localAddress: '', status: 0, body: '' };
}
