/** What the control plane shows to the admin API, the CLI and the library. */
import type { StateTable } from '../shared/state-table/table.ts';
import type { PoolRows, SectionHash } from '../shared/plan/types.ts';
import type { CompiledConfig, ConfigWarning } from './compile/compiled.ts';
import type { ReasonWord } from './health/reasons.ts';
import type { ConfigChange } from './reload/changes.ts';

export type AdminState = 'ready' | 'drain' | 'maint';

/** A config that was read, adapted and validated, ready to be loaded. */
export interface LoadRequest {
  /** Caddyfile text or JSON text. */
  readonly text: string;
  readonly adapter: 'caddyfile' | 'json';
  /** Name shown in errors; imports are relative to its folder. */
  readonly filename: string;
  /** Load even when the config is byte-identical to the one in force. */
  readonly force?: boolean;
  /** It comes from the file of the command line, or the program that embeds this: it may name programs to run. */
  readonly mayRunPrograms?: boolean;
}

export interface LoadResult {
  readonly generation: number;
  /** The config was identical and nothing was done. */
  readonly unchanged: boolean;
  readonly warnings: readonly ConfigWarning[];
  /** What is different from the config before; empty for the first one. */
  readonly changes: readonly ConfigChange[];
}

/** One finished probe. */
export interface CheckResult {
  /** Wall-clock milliseconds at the end of the probe. */
  readonly at: number;
  readonly outcome: 'pass' | 'fail' | 'neutral';
  /** A reason word of `health/reasons.ts`, '' for a pass. */
  readonly reason: ReasonWord | '';
  /** One sentence: what was seen. */
  readonly detail: string;
  readonly roundTripMs: number;
  readonly localAddress: string;
  /** HTTP status, 0 when none came. */
  readonly status: number;
  /** First 256 bytes of a failing body, ''. */
  readonly body: string;
  /** Of a check made of several probes (`burst`); absent = of one. */
  readonly burst?: { readonly sent: number; readonly lost: number; readonly jitterMs: number };
}

export interface CheckStatus {
  /** Human name of the check: `http GET /healthz every 10s`. */
  readonly name: string;
  readonly verdict: 'up' | 'down' | 'initial';
  /** Reason of the last failure, cause and remedy in words. */
  readonly reason: string;
  readonly cause: string;
  readonly remedy: string;
  readonly consecutivePasses: number;
  readonly consecutiveFails: number;
  /** Moving average of passes, milliseconds; null = none was seen yet. */
  readonly roundTripMs: number | null;
  /** Smoothed difference between neighbouring round trips, milliseconds. */
  readonly jitterMs: number | null;
  /** Share of the probes behind `results` that went unanswered. */
  readonly loss: number;
  readonly results: readonly CheckResult[];
}

export interface EndpointStatus {
  /** `ip:port`, `udp/ip:port` or `unix/<path>`. */
  readonly address: string;
  readonly adminState: AdminState;
  /** Wall-clock milliseconds, 0 = none. */
  readonly drainDeadline: number;
  readonly inFlight: number;
  readonly requestsTotal: number;
  readonly failuresTotal: number;
  readonly checks: readonly CheckStatus[];
}

/** One upstream in one pool. */
export interface UpstreamStatus {
  /** What its pool balances: HTTP requests, TCP connections or UDP sessions. */
  readonly layer: 'http' | 'tcp' | 'udp';
  /** Configured text. */
  readonly upstream: string;
  /** Short hash of the pool and its policy. */
  readonly pool: string;
  readonly policy: string;
  readonly position: number;
  readonly poolSize: number;
  readonly weight: number;
  readonly state: 'up' | 'down' | 'initial' | 'drain' | 'maint' | 'struck';
  /** Why it is not up: one sentence; ''. */
  readonly why: string;
  readonly bestEffort: boolean;
  /** Passive failures remembered now; absent = the pool has no passive checks. */
  readonly passiveFails?: number;
  /** Requests it takes at the same time; absent = any number. */
  readonly maxRequests?: number;
  /** Requests that wait for a place on it now; absent = it has no limit. */
  readonly waiting?: number;
  /** It gets new clients only while no other upstream may have them; absent = it is no backup. */
  readonly backup?: true;
  /** A request named it: the text with placeholders that its address came from. */
  readonly template?: string;
  readonly inFlight: number;
  readonly endpoints: readonly EndpointStatus[];
}

export interface UpstreamPatch {
  readonly adminState?: AdminState;
  readonly weight?: number;
  /** With `drain`: milliseconds until running work is cut; absent = it runs to its own end. */
  readonly drainMs?: number;
}

/** Things that happened, for logs, the library and (later) `GET /events`. */
export interface ControlEvent {
  readonly at: number;
  readonly type:
    | 'reload'
    | 'reload-failed'
    | 'server-up'
    | 'server-down'
    | 'upstream-struck'
    | 'upstream-recovered'
    | 'best-effort-entered'
    | 'best-effort-left'
    | 'admin-state'
    | 'drain-passed'
    | 'drain-finished'
    | 'name-changed'
    | 'name-failed'
    | 'certificate-issued'
    | 'certificate-renewed'
    | 'certificate-failed'
    | 'certificate-expiring'
    | 'worker-started'
    | 'worker-crashed'
    | 'worker-hung'
    | 'worker-stopped';
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

/** One source of certificates. */
export interface CertificateStatus {
  readonly source: 'files' | 'pem' | 'folder' | 'internal' | 'acme';
  /** A client asked for it: its name is not in the config. */
  readonly onDemand: boolean;
  /** The file, the folder, or the name it is for. */
  readonly label: string;
  readonly names: readonly string[];
  /** Wall-clock milliseconds of the first end of life. */
  readonly expiresAt: number;
  /** New certificates that came into force, and attempts that failed. */
  readonly renewals: number;
  readonly failures: number;
}

export interface WorkerStatus {
  readonly name: string;
  readonly lane: number;
  readonly state: 'starting' | 'serving' | 'retiring' | 'restarting';
  readonly connections: number;
  readonly exchanges: number;
  readonly tunnels: number;
  readonly generation: number;
}

export interface ReloadStatus {
  readonly generation: number;
  readonly lastSuccessful: boolean;
  /** Wall-clock seconds of the last success. */
  readonly lastSuccessSeconds: number;
  readonly total: number;
  readonly failures: number;
}

/** The control plane as its callers know it. `control-plane.ts` implements it. */
export interface ControlPlane {
  /** Compiles, stages, binds, commits. Rejects with a `ConfigError` (or bind error) and leaves the old plan serving. */
  load(request: LoadRequest): Promise<LoadResult>;
  /** The adapted JSON config in force, secrets as configured; null before the first load. */
  config(): unknown;
  /** What that config compiled to; null before the first load. */
  compiled(): CompiledConfig | null;
  /** Read by metrics; only this control plane writes it. */
  readonly table: StateTable;
  /** Server name → its row in the table, for the generation in force. */
  serverRows(): ReadonlyMap<string, number>;
  /** The same for the servers of layer 4. */
  layer4Rows(): ReadonlyMap<string, number>;
  /** `ip:port` → its slot, for every endpoint of the generation in force. */
  slotRows(): ReadonlyMap<string, number>;
  /** The slot of one `ip:port`; undefined when no generation names it. */
  slotRow(address: string): number | undefined;
  /** Rows of a pool of the generation in force, as workers have them. Throws when there is no such pool. */
  poolRows(pool: SectionHash): PoolRows;
  /** Rows of a pool whose upstreams requests named; null = there is none such now. */
  derivedRows(pool: SectionHash): PoolRows | null;
  /** All at once: with tens of thousands of upstreams that takes a while. */
  upstreams(): readonly UpstreamStatus[];
  /** The same one after the other, with pauses for other work. A reload meanwhile cuts the list short. */
  eachUpstream(): AsyncIterable<UpstreamStatus>;
  /** `address` is an `ip:port` of an endpoint or a configured upstream text; false when unknown. */
  patchUpstream(address: string, patch: UpstreamPatch): boolean;
  certificates(): readonly CertificateStatus[];
  workers(): readonly WorkerStatus[];
  workerRestarts(): { readonly crashes: number; readonly hangs: number };
  reloads(): ReloadStatus;
  /** Listen addresses in force, port 0 resolved: key → `{host, port}`. */
  addresses(): ReadonlyMap<string, { readonly host: string; readonly port: number }>;
  /** Not ready: why. Empty = ready. */
  degraded(): readonly string[];
  onEvent(listener: (event: ControlEvent) => void): () => void;
  /** Records an exception nobody caught: logged, counted, and `degraded()` says so. Serving goes on. */
  noteFault(error: unknown): void;
  /** Replaces one worker without losing a connection. */
  retireWorker(lane: number): Promise<void>;
  /**
   * Drains and stops everything; whatever still runs after `graceMs` (default: the config's) is reset.
   * Called again with 0 it resets at once.
   */
  stop(graceMs?: number): Promise<void>;
}
