/** One run of a probe: its deadline, its cancellation, its sockets, and the one way it ends. */
import { splitHostPort } from '../../shared/net/address.ts';
import { heldUp, watchDeadline } from './deadline.ts';
import type { ProbeDeps, ProbeResult, ProbeStep } from './probe.ts';
import type { ReasonWord } from './reasons.ts';

/** Why a probe did not pass. */
export class ProbeFault extends Error {
  readonly reason: ReasonWord;

  constructor(reason: ReasonWord, detail: string) {
    super(detail);
    this.name = 'ProbeFault';
    this.reason = reason;
  }
}

/** What a pass rests on. */
export interface Finding {
  readonly detail: string;
  /** Absent = the time since the probe began. */
  readonly roundTripMs?: number;
  readonly silent?: true;
}

interface Closable {
  destroy(): void;
}

/** Runs `work`; whatever it throws, and whatever ends the attempt meanwhile, becomes a result. Never rejects. */
export async function attempt(
  timeoutMs: number,
  deps: ProbeDeps,
  work: (run: Attempt) => Promise<Finding>,
): Promise<ProbeResult> {
  const run = new Attempt(timeoutMs, deps);
  try {
    const finding = await work(run);
    const { detail, roundTripMs = run.elapsedMs(), silent } = finding;
    return resultOf(run, '', detail, roundTripMs, silent);
  } catch (error) {
    const { reason, message } = error instanceof ProbeFault ? error : faultOfOurs(error);
    return resultOf(run, reason, message, run.elapsedMs());
  } finally {
    run.end();
  }
}

function resultOf(
  run: Attempt,
  reason: ReasonWord | '',
  detail: string,
  roundTripMs: number,
  silent?: true,
): ProbeResult {
  return {
    outcome: reason === '' ? 'pass' : reason === 'LOCAL_TROUBLE' ? 'neutral' : 'fail',
    reason,
    detail,
    roundTripMs,
    localAddress: run.localAddress,
    status: 0,
    body: '',
    ...(silent === undefined ? {} : { silent }),
  };
}

/** A probe that throws is a fault of ours, and no reason to take a server down. */
function faultOfOurs(error: unknown): ProbeFault {
  const message = error instanceof Error ? error.message : String(error);
  return new ProbeFault('LOCAL_TROUBLE', `the probe itself failed: ${message}`);
}

export class Attempt {
  readonly timeoutMs: number;
  /** `ip:port` this side uses; '' = none so far. */
  localAddress = '';
  /** What is to be said when time runs out; the layer that waits sets it. */
  onDeadline: () => ProbeFault;
  /** What an error of the connection means; the layer that waits sets it. */
  onBroken: (error: NodeJS.ErrnoException) => ProbeFault = faultOfOurs;
  readonly #deps: ProbeDeps;
  readonly #startedAt: number;
  readonly #owned: Set<Closable> = new Set();
  readonly #release: () => void;
  #over = false;
  #fault: ProbeFault | null = null;
  #reject: ((fault: ProbeFault) => void) | null = null;

  constructor(timeoutMs: number, deps: ProbeDeps) {
    this.timeoutMs = timeoutMs;
    this.#deps = deps;
    this.#startedAt = deps.clock.now();
    this.onDeadline = () => new ProbeFault('CONNECT_TIMEOUT', `no connection ${this.limit()}`);
    const deadline = watchDeadline(deps.clock, timeoutMs, (lateMs) => this.#expire(lateMs));
    const cancel = (): void => this.fail(new ProbeFault('LOCAL_TROUBLE', 'the check was cancelled'));
    deps.signal.addEventListener('abort', cancel);
    this.#release = () => {
      deadline.cancel();
      deps.signal.removeEventListener('abort', cancel);
    };
    if (deps.signal.aborted) cancel();
  }

  get clock(): ProbeDeps['clock'] {
    return this.#deps.clock;
  }

  elapsedMs(): number {
    return this.#deps.clock.now() - this.#startedAt;
  }

  /** `within 5000 ms` */
  limit(): string {
    return `within ${Math.ceil(this.timeoutMs)} ms`;
  }

  /** ` from 10.0.0.1`: what a filter on the way would have to let through. '' while no address is known. */
  from(): string {
    const { host } = splitHostPort(this.localAddress) ?? { host: '' };
    return host === '' ? '' : ` from ${host}`;
  }

  step(what: ProbeStep['what'], text: string, bytes?: Uint8Array): void {
    if (this.#over) return;
    this.#deps.observe?.({ atMs: this.elapsedMs(), what, text, ...(bytes === undefined ? {} : { bytes }) });
  }

  /** The first fault stands; whoever waits is told, and every later wait fails at once. */
  fail(fault: ProbeFault): void {
    this.#fault ??= fault;
    this.#reject?.(this.#fault);
    this.#reject = null;
  }

  /** One thing is waited for at a time. */
  async wait<T>(begin: (resolve: (value: T) => void) => void): Promise<T> {
    if (this.#fault !== null) throw this.#fault;
    return new Promise<T>((resolve, reject) => {
      this.#reject = reject;
      begin((value) => {
        this.#reject = null;
        resolve(value);
      });
    });
  }

  /** Destroyed when the attempt ends, however it ends. */
  own<T extends Closable>(socket: T): T {
    this.#owned.add(socket);
    return socket;
  }

  /** From now on somebody else sees to its end. */
  disown(socket: Closable): void {
    this.#owned.delete(socket);
  }

  end(): void {
    this.#over = true;
    this.#fault ??= new ProbeFault('LOCAL_TROUBLE', 'the probe is over');
    this.#release();
    for (const socket of this.#owned) socket.destroy();
    this.#owned.clear();
  }

  #expire(lateMs: number): void {
    if (!heldUp(lateMs, this.timeoutMs)) return this.fail(this.onDeadline());
    this.fail(new ProbeFault('LOCAL_TROUBLE', `no verdict: this process was held up for ${Math.round(lateMs)} ms`));
  }
}
