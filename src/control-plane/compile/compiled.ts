/**
 * What compiling a finished config yields: sections for the workers (pure content, no table rows) and
 * what the control plane itself has to do. Frozen; one value a load.
 */
import type { PoolSection, Section, SectionHash, ServerPlan } from '../../shared/plan/types.ts';

export interface CompiledConfig {
  readonly servers: readonly Omit<ServerPlan, 'row'>[];
  readonly sections: ReadonlyMap<SectionHash, Section>;
  readonly pools: readonly PoolSpec[];
  readonly listeners: readonly ListenerSpec[];
  readonly admin: AdminSpec;
  /** Global `grace_period`, default 30 000 ms. */
  readonly gracePeriodMs: number;
  /** Global `name_refresh`: longest time between two questions for an upstream name. null = not written. */
  readonly nameRefreshMs: number | null;
  /** Global `worker_hang_timeout`; null = what the process was started with. */
  readonly workerHangTimeoutMs: number | null;
  /** Global `debug`. */
  readonly debug: boolean;
}

/** One address to listen on. */
export interface ListenerSpec {
  /** `tcp/<host>:<port>` or `fd/<number>` as configured; the identity of a listener over reloads. */
  readonly key: string;
  /** '' = all addresses. */
  readonly host: string;
  readonly port: number;
  /** kernel: a reusePort socket a worker (default on Linux). shared: one acceptor thread, even spread. */
  readonly accept: 'kernel' | 'shared';
  /** A listening socket the process was started with, by its descriptor; null = one bound here from host and port. */
  readonly fd: number | null;
  /** Where it was written, for messages: `Caddyfile:3`, or the JSON path. */
  readonly place: string;
}

export interface PoolSpec {
  readonly hash: SectionHash;
  readonly section: PoolSection;
  readonly members: readonly MemberSpec[];
  /** Active check of every member, null = none. */
  readonly check: CheckSpec | null;
  /** All members down: try them all (`lb_best_effort`; HTTP default off). */
  readonly bestEffort: boolean;
  /** DNS servers (`ip` or `ip:port`) asked instead of the system resolver; empty = system. */
  readonly resolvers: readonly string[];
}

export interface MemberSpec {
  /** Configured text. */
  readonly upstream: string;
  readonly identity: string;
  /** A name or an IP address. */
  readonly host: string;
  readonly port: number;
}

/** One active-health definition (Caddy `health_checks.active`). */
export interface CheckSpec {
  /** Hash of the whole definition: with the slot, the key of a verdict. */
  readonly hash: string;
  readonly probe: 'http';
  /** Path and query. Default `/`. */
  readonly uri: string;
  readonly method: string;
  readonly body: string;
  /** Alternating name and value. */
  readonly headers: readonly string[];
  /** Checked instead of the upstream's own address (`health_upstream`), null = the upstream's. */
  readonly address: { readonly host: string; readonly port: number } | null;
  /** Checked port (`health_port`), null = the upstream's. */
  readonly port: number | null;
  /** 0 = any 2xx; 1…5 = that class; else that code. */
  readonly expectStatus: number;
  /** RE2 pattern searched in the body, '' = none. */
  readonly expectBody: string;
  /** Bytes of body read, 0 = 1 MiB. */
  readonly maxBytes: number;
  readonly followRedirects: boolean;
  /** Default 30 000. */
  readonly intervalMs: number;
  /** Whole exchange. Default 5000. */
  readonly timeoutMs: number;
  /** Consecutive passes that bring a server back. Default 1. */
  readonly rise: number;
  /** Consecutive failures that take a server down. Default 1. */
  readonly fall: number;
  /** `up` (default at process start) or `down`; null = up at process start, unproven until the first pass when added later. */
  readonly initial: 'up' | 'down' | null;
}

export interface AdminSpec {
  readonly enabled: boolean;
  readonly host: string;
  readonly port: number;
  /** Allowed Host/Origin authorities; empty = derived from the listen address. */
  readonly origins: readonly string[];
  readonly enforceOrigin: boolean;
}

/** Something the operator should know about a config that is not an error. */
export interface ConfigWarning {
  readonly file: string;
  readonly line: number;
  readonly directive: string;
  readonly message: string;
}
