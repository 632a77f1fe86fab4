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
  /** Is told of each step, for `holdfast check`; absent = nobody listens. */
  readonly observe?: (step: ProbeStep) => void;
}

/** What every run needs, whatever the probe speaks. */
export interface ProbeOptions {
  /** For the whole probe. */
  readonly timeoutMs: number;
  /** `host:port` of the upstream as configured. */
  readonly authority: string;
  /** IP address it is made from; absent = any. */
  readonly localAddress?: string;
  /** The connection (or datagram) begins with a PROXY header that names no client; absent = none. */
  readonly proxyProtocol?: 'v1' | 'v2';
  /** Start to start, milliseconds: how long what was learned on the way may be believed. */
  readonly intervalMs: number;
  /** Traffic met a refusal of this server within the last interval; absent = not known. */
  readonly refusedByTraffic?: () => boolean;
}

export interface ProbeStep {
  /** Milliseconds since the probe began. */
  readonly atMs: number;
  readonly what: 'sent' | 'received' | 'local';
  /** One clause. */
  readonly text: string;
  /** What went over the wire. */
  readonly bytes?: Uint8Array;
}

export interface ProbeResult {
  readonly outcome: Outcome;
  /** '' for a pass. */
  readonly reason: ReasonWord | '';
  /** One sentence: what was seen. */
  readonly detail: string;
  /** From the start of the probe to its verdict, milliseconds; where silence passes, of the echo. */
  readonly roundTripMs: number;
  /** `ip:port` this side used, '' when it had none. */
  readonly localAddress: string;
  /** HTTP status, 0 when none came. */
  readonly status: number;
  /** First 256 bytes of a failing body as text, ''. */
  readonly body: string;
  /** It passed although nothing came back: there is no round trip. */
  readonly silent?: true;
  /** Of a check made of several probes (`burst`). */
  readonly burst?: BurstResult;
}

interface BurstResult {
  readonly sent: number;
  readonly lost: number;
  /** Mean difference between the round trips of neighbours, milliseconds. */
  readonly jitterMs: number;
}

/** Every implementation passes the suite of its transport, `tcp-probe.contract.ts` or `udp-probe.contract.ts`. */
export interface Probe<Options = ProbeOptions> {
  /** Never rejects: all that can go wrong is a result. */
  run(target: ProbeTarget, options: Options, deps: ProbeDeps): Promise<ProbeResult>;
  /** Present where something is kept between the probes of one server (a socket); absent = all share this one. */
  forServer?(): ServerProbe;
}

export interface ServerProbe extends Probe {
  /** Lets go of what is kept. */
  close(): void;
}
