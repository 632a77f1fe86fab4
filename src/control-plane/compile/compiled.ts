/**
 * What compiling a finished config yields: sections for the workers (pure content, no table rows) and
 * what the control plane itself has to do. Frozen; one value a load.
 */
import type { Layer4ServerPlan } from '../../shared/plan/layer4.ts';
import type { AccessSink, PoolSection, Section, SectionHash, ServerPlan } from '../../shared/plan/types.ts';
import type { UnixSocketSpec } from './unix-socket.ts';

export interface CompiledConfig {
  readonly servers: readonly Omit<ServerPlan, 'row'>[];
  readonly layer4: readonly Omit<Layer4ServerPlan, 'row'>[];
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
  /** Files that access lines are written to. */
  readonly logFiles: readonly LogFileSpec[];
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
  /**
   * Where members are found in DNS instead of in the config; absent = nowhere. `section.members` is empty
   * then, and `members` serve while no source has anything to say.
   */
  readonly sources?: readonly DynamicSourceSpec[];
}

/** One question to DNS that yields upstreams (Caddy `dynamic a|srv`). */
export interface DynamicSourceSpec {
  /** a: addresses of `name`, all at `port`. srv: targets and ports of SRV records. */
  readonly kind: 'a' | 'srv';
  /** The whole name, `_service._proto.` included. */
  readonly name: string;
  /** 0 for srv. */
  readonly port: number;
  /** Families asked for. */
  readonly ipv4: boolean;
  readonly ipv6: boolean;
  /** DNS servers asked instead of the system's; empty = system. */
  readonly resolvers: readonly string[];
  /** Default 60 000. */
  readonly refreshMs: number;
  /** How long a source that fails is still believed when there is a fallback list. Default 0. */
  readonly graceMs: number;
}

export interface MemberSpec {
  /** Configured text. */
  readonly upstream: string;
  readonly identity: string;
  /** A name or an IP address. */
  readonly host: string;
  readonly port: number;
  /** Relative to the others; 0 = no new clients. absent = 1. `PATCH /upstreams` has the last word. */
  readonly weight?: number;
  /** Used only while no other member may be picked. */
  readonly backup?: boolean;
  /** How long a recovered member's weight takes to grow to its own; absent = no time. */
  readonly slowStartMs?: number;
  /** Exchanges and tunnels at the same time; absent = any number. */
  readonly maxRequests?: number;
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
  /** The probe's connection begins with a PROXY header that names no client; absent = none. */
  readonly proxyProtocol?: 'v1' | 'v2';
  /** IP address the probe is made from; absent = any. */
  readonly localAddress?: string;
}

export interface AdminSpec {
  readonly enabled: boolean;
  /** A socket of the file system instead of host and port, which are '' and 0 then. */
  readonly unix?: UnixSocketSpec;
  readonly host: string;
  readonly port: number;
  /** Allowed Host/Origin authorities; empty = derived from the listen address. */
  readonly origins: readonly string[];
  readonly enforceOrigin: boolean;
}

export interface LogFileSpec {
  readonly sink: AccessSink;
  /** As configured; relative to the working directory. */
  readonly path: string;
  /** File mode bits of new files, and of folders that are made. */
  readonly mode: number;
  readonly dirMode: number;
  /** null = it only grows. */
  readonly rotation: RotationSpec | null;
}

export interface RotationSpec {
  /** Size that is enough; 0 = any. Default 100 MiB. */
  readonly bytes: number;
  /** `1h`, `7d`: also after this time, at its multiples; '' = never. */
  readonly interval: string;
  /** Rotated files that are kept; 0 = all. Default 10. */
  readonly keep: number;
  /** Days they are kept; 0 = for ever. Default 90. */
  readonly keepDays: number;
  readonly gzip: boolean;
  /** Names carry the local time instead of UTC. */
  readonly localTime: boolean;
}

/** Something the operator should know about a config that is not an error. */
export interface ConfigWarning {
  readonly file: string;
  readonly line: number;
  readonly directive: string;
  readonly message: string;
}
