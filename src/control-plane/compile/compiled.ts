/**
 * What compiling a finished config yields: sections for the workers (pure content, no table rows) and
 * what the control plane itself has to do. Frozen; one value a load.
 */
import type { IssuancePlan, ManagedSpec } from './managed-specs.ts';
import type { Layer4ServerPlan } from '../../shared/plan/layer4.ts';
import type { LogLevel } from '../../shared/log.ts';
import type { AccessSink, PoolSection, Section, SectionHash, ServerPlan } from '../../shared/plan/types.ts';
import type { ProbeSpec } from '../health/probe-spec.ts';
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
  /** Global `shutdown_delay`, default 0. */
  readonly shutdownDelayMs: number;
  /** Global `name_refresh`: longest time between two questions for an upstream name. null = not written. */
  readonly nameRefreshMs: number | null;
  /** Global `worker_hang_timeout`; null = what the process was started with. */
  readonly workerHangTimeoutMs: number | null;
  /** Files that access lines are written to. */
  readonly logFiles: readonly LogFileSpec[];
  /** Receivers that access lines are sent to. */
  readonly logNets: readonly LogNetSpec[];
  /** Of the balancer's own log: `level` of the default log, or global `debug`. */
  readonly logLevel: LogLevel;
  /** Files that are part of it: when one changes the config is loaded again. Absent = none. */
  readonly watchedFiles?: readonly string[];
  /** Where that log goes: the default log of the config. */
  readonly ownLog: OwnLogSpec;
  readonly tls: CompiledTls;
}

export interface OwnLogSpec {
  /** null = nowhere. */
  readonly sink: AccessSink | null;
  /** null = not written. */
  readonly format: 'json' | 'console' | null;
}

/** Where certificates come from. */
export interface CompiledTls {
  readonly certificates: readonly CertificateSpec[];
  readonly authorities: readonly AuthoritySpec[];
  readonly issuance: IssuancePlan;
}

/** `place`: where it was written, for messages. */
export type CertificateSpec =
  | {
      readonly source: 'files';
      readonly certificate: string;
      /** '' = it is in the first file, which is PKCS#12. */
      readonly key: string;
      /** Of a PKCS#12 file; '' = the empty password. Absent = PEM. */
      readonly passwordFile?: string;
      readonly tags: readonly string[];
      readonly place: string;
    }
  /** The texts themselves. */
  | {
      readonly source: 'pem';
      readonly certificate: string;
      readonly key: string;
      readonly tags: readonly string[];
      readonly place: string;
    }
  /** Every `.pem` file in it holds a certificate and its key. */
  | { readonly source: 'folder'; readonly folder: string; readonly tags: readonly string[]; readonly place: string }
  | {
      readonly source: 'internal';
      /** Lower case. */
      readonly name: string;
      /** An `AuthoritySpec.id`. */
      readonly authority: string;
      readonly lifetimeMs: number;
      readonly signWithRoot: boolean;
      readonly place: string;
    }
  | ManagedSpec;

/** An authority of our own. */
export interface AuthoritySpec {
  readonly id: string;
  readonly name: string;
  readonly rootCommonName: string;
  readonly intermediateCommonName: string;
  readonly intermediateLifetimeMs: number;
  /** Files of a root made elsewhere; null = it makes its own. */
  readonly root: { readonly certificate: string; readonly key: string } | null;
}

/** One address to listen on. */
export interface ListenerSpec {
  /** `tcp/<host>:<port>`, `udp/<host>:<port>`, `unix/<path>` or `fd/<number>` as configured; the identity of a listener over reloads. */
  readonly key: string;
  /** absent = TCP. */
  readonly network?: 'udp' | 'unix';
  /** With `unix`: the socket. Host and port are '' and 0 then. */
  readonly unix?: UnixSocketSpec;
  /** With `udp`: one worker owns the socket (default), or every worker has one of its own. */
  readonly owners?: 'one' | 'all';
  /** With `udp`: SO_RCVBUF asked for, in bytes. */
  readonly receiveBufferBytes?: number;
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
  /** What its handlers balance; absent = HTTP requests. */
  readonly layer?: 'tcp' | 'udp';
  readonly members: readonly MemberSpec[];
  /** Active check of every member, null = none. */
  readonly check: CheckSpec | null;
  /** All members down: try them all (`lb_best_effort`; HTTP default off). */
  readonly bestEffort: boolean;
  /** How long work goes on at a member that gets no new one; 0 = it ends at once, absent = it runs to its own end. */
  readonly drainMs?: number;
  /** DNS servers (`ip` or `ip:port`) asked instead of the system resolver; empty = system. */
  readonly resolvers: readonly string[];
  /**
   * Where members are found in DNS instead of in the config; absent = nowhere. `section.members` is empty
   * then, and `members` serve while no source has anything to say.
   */
  readonly sources?: readonly DynamicSourceSpec[];
  /** Upstreams that requests name; `members` is empty then, and pools are derived from this one. Absent = none. */
  readonly pattern?: readonly MemberPattern[];
  /** The pattern whose pool this is. */
  readonly derivedFrom?: SectionHash;
}

/** An upstream whose address has placeholders, or stands beside one that has. */
export interface MemberPattern {
  readonly template: string;
  /** Absent = 80. */
  readonly defaultPort?: number;
  readonly options: Pick<MemberSpec, 'weight' | 'backup' | 'slowStartMs' | 'maxRequests'>;
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
  /** absent = TCP. */
  readonly network?: 'udp';
  /** Relative to the others; 0 = no new clients. absent = 1. `PATCH /upstreams` has the last word. */
  readonly weight?: number;
  /** Used only while no other member may be picked. */
  readonly backup?: boolean;
  /** How long a recovered member's weight takes to grow to its own; absent = no time. */
  readonly slowStartMs?: number;
  /** Exchanges and tunnels at the same time; absent = any number. */
  readonly maxRequests?: number;
  /** Of a derived pool: the text with placeholders that its address came from. */
  readonly template?: string;
}

/** One active-health definition: common fields, and what its probe asks. */
export interface CheckSpec {
  /** Hash of the whole definition: with the slot, the key of a verdict. */
  readonly hash: string;
  readonly probe: ProbeSpec;
  /** Checked instead of the upstream's own address, null = the upstream's; its port too unless that is null. */
  readonly address: { readonly host: string; readonly port: number | null } | null;
  /** Checked port, null = the upstream's. */
  readonly port: number | null;
  /** Start to start. Default 30 000 (`health_uri`) or 5000 (`health <probe>`). */
  readonly intervalMs: number;
  /** Whole probe. Default 5000. */
  readonly timeoutMs: number;
  /** Consecutive passes that bring a server back. Default 1 or 2. */
  readonly rise: number;
  /** Consecutive failures that take a server down. Default 1 or 2. */
  readonly fall: number;
  /** `up` (default at process start) or `down`; null = up at process start, unproven until the first pass when added later. */
  readonly initial: 'up' | 'down' | null;
  /** The probe begins with a PROXY header that names no client; absent = none. */
  readonly proxyProtocol?: 'v1' | 'v2';
  /** IP address the probe is made from; absent = any. */
  readonly localAddress?: string;
  /** Share of the interval by which it is stretched or shrunk at most; absent = 0.05. */
  readonly jitter?: number;
  /** A pass that took longer is a failure; absent = no limit. */
  readonly maxRttMs?: number;
  /** Several probes a check; absent = one. */
  readonly burst?: BurstSpec;
}

export interface BurstSpec {
  readonly count: number;
  /** Share of probes that may go unanswered; null = all but one. */
  readonly maxLoss: number | null;
  /** Mean difference of neighbouring round trips; null = any. */
  readonly maxJitterMs: number | null;
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

export interface LogNetSpec {
  readonly sink: AccessSink;
  /** As configured. */
  readonly address: string;
  readonly network: 'tcp' | 'udp' | 'unix';
  readonly host: string;
  readonly port: number;
  /** Of a Unix socket, else ''. */
  readonly path: string;
  readonly dialTimeoutMs: number;
  /** A receiver that cannot be reached refuses no config. */
  readonly softStart: boolean;
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
  /** Minutes from midnight, sorted: also at these times of each day. Absent = none. */
  readonly atMinutes?: readonly number[];
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
