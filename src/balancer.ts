/** The public face of the library. `embed.ts` implements it. */
import type { ConfigWarning } from './control-plane/compile/compiled.ts';
import type { ControlEvent, LoadResult, UpstreamPatch, UpstreamStatus } from './control-plane/types.ts';
import type { Logger, LogLevel } from './shared/log.ts';
import type { AccessSink } from './shared/plan/types.ts';

/** How a config is given: Caddyfile text, JSON text, or Caddy's JSON as an object. */
export interface ConfigSource {
  /** Default: `caddyfile` for text, `json` for an object. */
  readonly adapter?: 'caddyfile' | 'json';
  /** Named in errors; imports are relative to its folder. Default `Caddyfile`. */
  readonly filename?: string;
}

export interface BalancerOptions extends ConfigSource {
  readonly config: string | object;
  /** Worker threads. Default: one per core. */
  readonly workers?: number;
  /** Default: nothing is logged. */
  readonly log?: Logger;
  /** Told at start and after each reload which level the config wants in the log; whoever gave `log` filters accordingly. */
  readonly onLogLevel?: (level: LogLevel) => void;
  /** Told at the same times where the config wants the log (global `log`); whoever gave `log` writes it there. */
  readonly onLogOutput?: (output: LogOutput) => void;
  /** Told the warnings of the first config; those of later ones are in the result of `reload`. */
  readonly onWarnings?: (warnings: readonly ConfigWarning[]) => void;
  /** Takes batches of access lines and where the config wants them: `stderr`, `stdout` or `file/<path>`. Default: written there. */
  readonly accessLog?: (lines: string, output: AccessSink) => void;
  /** Keeps generated secrets and what operators set. Default: none is kept. */
  readonly dataDir?: string;
  /**
   * Serve the admin API. true: at the config's address or localhost:2019. false: never. Default:
   * only when the config itself has an `admin` section, so that two balancers in a process do not collide.
   */
  readonly admin?: boolean;
  /**
   * A worker whose event loop stands still this long is replaced, milliseconds; at least 500. `worker_hang_timeout`
   * of the config wins. Default 2000.
   */
  readonly hangTimeoutMs?: number;
  /**
   * Wait before a certificate that an authority refused is asked for again, milliseconds. It doubles with every failure,
   * up to 6 hours. Default 60 000.
   */
  readonly certificateRetryMs?: number;
  /** For `{$NAME}` in Caddyfiles. Default `process.env`. */
  readonly env?: NodeJS.ProcessEnv;
}

export interface LogOutput {
  /** null = the config says nothing. */
  readonly format: 'json' | 'console' | null;
  /** Takes whole lines, and never throws; null = the config says nothing, or `accessLog` takes the lines of its outputs. */
  readonly write: ((line: string) => void) | null;
}

export interface ReloadOptions extends ConfigSource {
  /** Load even when the config is byte-identical to the one in force. */
  readonly force?: boolean;
}

export interface BoundAddress {
  readonly host: string;
  readonly port: number;
}

/** A running load balancer. Several may run in one process. */
export interface Balancer {
  /**
   * Where it listens, port 0 resolved: the listener of `key` (`tcp/127.0.0.1:8080`, as configured), or the
   * first one. Throws when there is none.
   */
  address(key?: string): BoundAddress;
  /** All listeners: key → address. */
  addresses(): ReadonlyMap<string, BoundAddress>;
  /** Address of the admin API; null when it is off. A Unix socket has the host `unix//path` and port 0. */
  adminAddress(): BoundAddress | null;
  /** Puts another config in force without losing connections. Rejects, and changes nothing, when it cannot. */
  reload(config: string | object, options?: ReloadOptions): Promise<LoadResult>;
  upstreams(): readonly UpstreamStatus[];
  /** `address`: an `ip:port` or a configured upstream; false when there is none such. */
  patchUpstream(address: string, patch: UpstreamPatch): boolean;
  /** The Prometheus text of `/metrics`. */
  metrics(): Promise<string>;
  /** Calls `listener` for every event of a type (`*` = all); returns what ends that. */
  on(type: ControlEvent['type'] | '*', listener: (event: ControlEvent) => void): () => void;
  /** Takes no new work, lets the running work end for up to `graceMs` (default: `grace_period`), and ends. */
  drain(graceMs?: number): Promise<void>;
  /** As `drain`, with no grace unless it is given. */
  stop(graceMs?: number): Promise<void>;
  /** Resolves when it has ended, for whatever reason: `drain`, `stop`, or `POST /stop`. */
  stopped(): Promise<void>;
  /** Records an exception nobody caught: logged, and `/health/ready` says so. The data plane goes on. */
  noteFault(error: unknown): void;
}
