/** What a probe is: one look at one address. It knows an address and options, never a proxy. */
import type { Clock } from '../../shared/clock.ts';
import type { ReasonWord } from './reasons.ts';
import type { Outcome } from './verdict.ts';

export interface ProbeTarget {
  /** An IP address or a name. */
  readonly host: string;
  readonly port: number;
}

export interface ProbeDeps {
  readonly clock: Clock;
  /** Aborted: the probe lets go of its socket at once and ends neutral; nobody looks at the result. */
  readonly signal: AbortSignal;
}

export interface ProbeResult {
  readonly outcome: Outcome;
  /** '' for a pass. */
  readonly reason: ReasonWord | '';
  /** One sentence: what was seen. */
  readonly detail: string;
  /** From the start of the probe to its verdict, milliseconds. */
  readonly roundTripMs: number;
  /** `ip:port` this side used, '' when no connection came about. */
  readonly localAddress: string;
  /** HTTP status, 0 when none came. */
  readonly status: number;
  /** First 256 bytes of a failing body as text, ''. */
  readonly body: string;
}

/** Every implementation passes the suite in `probe.contract.ts`. */
export interface Probe<Options> {
  /** Never rejects: all that can go wrong is a result. */
  run(target: ProbeTarget, options: Options, deps: ProbeDeps): Promise<ProbeResult>;
}
