/** The control plane: composes configs, upstreams and the fleet of workers behind one interface. */
import { availableParallelism } from 'node:os';
import { systemClock, type Clock } from '../shared/clock.ts';
import type { Logger } from '../shared/log.ts';
import type { WorkerMessage } from '../shared/messages.ts';
import type { AccessSink, PoolRows, Section, SectionHash } from '../shared/plan/types.ts';
import { systemRandom, type Random } from '../shared/random.ts';
import { StateTable } from '../shared/state-table/table.ts';
import { Certificates } from './certificates/certificates.ts';
import type { CompiledConfig } from './compile/compiled.ts';
import { AdminStateFile } from './data-dir/admin-state-file.ts';
import { GeneratedSecrets } from './data-dir/secrets.ts';
import { EventHub } from './event-hub.ts';
import { definedVariables } from './helper/environment.ts';
import { readLargeOrSmall } from './helper/read-config.ts';
import { changesBetween } from './reload/changes.ts';
import { LoadQueue } from './reload/load-queue.ts';
import { WatchedFiles } from './reload/watched-files.ts';
import type { PreparedPlan } from './reload/transaction.ts';
import type {
  CertificateStatus,
  ControlEvent,
  ControlPlane,
  LoadRequest,
  LoadResult,
  ReloadStatus,
  UpstreamPatch,
  UpstreamStatus,
  WorkerStatus,
} from './types.ts';
import { ShutdownDelay } from './shutdown-delay.ts';
import { Upstreams, type PreparedRows } from './upstreams/upstreams.ts';
import { Fleet } from './workers/fleet.ts';
import { entryUrl } from './workers/open-worker.ts';

/** A worker whose heartbeat stands still this long hangs. */
const DEFAULT_HANG_TIMEOUT_MS = 2000;
const DEFAULT_CERTIFICATE_RETRY_MS = 60_000;
/** Before the first load there is no config to say otherwise. */
const DEFAULT_GRACE_MS = 30_000;

export interface ControlPlaneOptions {
  /** Data-plane threads. Default: one per core. */
  readonly workers?: number;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly log: Logger;
  /** Keeps generated secrets and admin states. Default: none is kept. */
  readonly dataDir?: string;
  /** Holds where the config has no `worker_hang_timeout`. Default 2000. */
  readonly hangTimeoutMs?: number;
  /** Wait before a certificate that could not be had is asked for again; it doubles. Default 60 000. */
  readonly certificateRetryMs?: number;
  /** For `{$NAME}` in Caddyfiles and `{env.NAME}` in workers. */
  readonly env: NodeJS.ProcessEnv;
  /** Takes whole access lines. Default: they are dropped. */
  readonly accessSink?: (lines: string, output: AccessSink) => void;
  /** Makes the text that `metrics` handlers answer with. Default: they answer 503. */
  readonly metrics?: () => Promise<string>;
  /** Called with a config that is about to come into force; a rejection refuses it. */
  readonly beforeCommit?: (compiled: CompiledConfig) => Promise<void>;
  /** Entry of the data-plane threads, for tests. */
  readonly workerEntry?: URL;
}

/** Nothing runs before the first `load`. */
export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  return new ComposedControlPlane(options);
}

/** What is in force. */
interface Loaded {
  /** The adapted config as JSON: an equal text is an equal config. */
  readonly text: string;
  readonly compiled: CompiledConfig;
}

class ComposedControlPlane implements ControlPlane {
  readonly table: StateTable = new StateTable();
  readonly #options: ControlPlaneOptions;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #events: EventHub;
  readonly #secrets: GeneratedSecrets;
  readonly #adminStates: AdminStateFile;
  readonly #upstreams: Upstreams;
  readonly #certificates: Certificates;
  readonly #fleet: Fleet;
  readonly #hangTimeoutMs: number;
  readonly #queue = new LoadQueue();
  readonly #shutdownDelay: ShutdownDelay;
  readonly #watched: WatchedFiles;
  /** How the config in force came, while files are part of it. */
  #again: LoadRequest | null = null;
  #loaded: Loaded | null = null;
  /** The config in force as an object, made when somebody asks for it. */
  #json: { readonly of: Loaded; readonly value: unknown } | null = null;
  /** Workers run once the first config compiled. */
  #started = false;
  #generation = 0;
  #reloads: ReloadStatus = { generation: 0, lastSuccessful: false, lastSuccessSeconds: 0, total: 0, failures: 0 };
  #faults = 0;
  #lastFault = '';
  #stopped: Promise<void> | null = null;
  #loading: Promise<unknown> = Promise.resolve();

  constructor(options: ControlPlaneOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#shutdownDelay = new ShutdownDelay(this.#clock);
    this.#log = options.log;
    this.#hangTimeoutMs = options.hangTimeoutMs ?? DEFAULT_HANG_TIMEOUT_MS;
    this.#events = new EventHub(this.#log);
    this.#secrets = new GeneratedSecrets(options.dataDir);
    this.#adminStates = new AdminStateFile(options.dataDir, this.#log);
    this.#upstreams = this.#makeUpstreams();
    this.#upstreams.restoreAdminStates(this.#adminStates.read());
    // Lane 0 holds the totals of workers that ended.
    this.#upstreams.addLane(0);
    this.#certificates = this.#makeCertificates();
    this.#watched = new WatchedFiles(this.#clock, () => this.#loadAgain());
    this.#fleet = this.#makeFleet();
  }

  load(request: LoadRequest): Promise<LoadResult> {
    if (this.#stopped !== null)
      return Promise.reject(new Error('this balancer is stopping: start it anew with the new config'));
    const result = this.#queue.run(() => this.#load(request));
    this.#loading = result.catch(() => undefined);
    return result;
  }

  config(): unknown {
    const loaded = this.#loaded;
    if (loaded === null) return null;
    if (this.#json?.of !== loaded) this.#json = { of: loaded, value: JSON.parse(loaded.text) };
    return this.#json.value;
  }

  compiled(): CompiledConfig | null {
    return this.#loaded?.compiled ?? null;
  }

  serverRows(): ReadonlyMap<string, number> {
    return this.#upstreams.serverRows();
  }

  layer4Rows(): ReadonlyMap<string, number> {
    return this.#upstreams.layer4Rows();
  }

  slotRows(): ReadonlyMap<string, number> {
    return this.#upstreams.slotRows();
  }

  slotRow(address: string): number | undefined {
    return this.#upstreams.slotRow(address);
  }

  poolRows(pool: SectionHash): PoolRows {
    return this.#upstreams.currentRows(pool);
  }

  derivedRows(pool: SectionHash): PoolRows | null {
    return this.#upstreams.derived.rows(pool);
  }

  upstreams(): readonly UpstreamStatus[] {
    return this.#upstreams.status();
  }

  eachUpstream(): AsyncIterable<UpstreamStatus> {
    return this.#upstreams.eachStatus();
  }

  patchUpstream(address: string, patch: UpstreamPatch): boolean {
    const known = this.#upstreams.patch(address, patch);
    if (known) this.#adminStates.write(this.#upstreams.adminStates());
    return known;
  }

  certificates(): readonly CertificateStatus[] {
    return this.#certificates.status();
  }

  workers(): readonly WorkerStatus[] {
    return this.#fleet.status();
  }

  workerRestarts(): { readonly crashes: number; readonly hangs: number } {
    return this.#fleet.restarts();
  }

  reloads(): ReloadStatus {
    return this.#reloads;
  }

  addresses(): ReadonlyMap<string, { readonly host: string; readonly port: number }> {
    return this.#fleet.addresses();
  }

  degraded(): readonly string[] {
    if (this.#stopped !== null) return ['it is stopping'];
    if (this.#loaded === null) return ['no config has been loaded'];
    const faults =
      this.#faults === 0
        ? []
        : [`${this.#faults} unexpected fault(s) in the control plane, the last: ${this.#lastFault}`];
    return [...this.#fleet.degraded(), ...faults];
  }

  onEvent(listener: (event: ControlEvent) => void): () => void {
    return this.#events.on(listener);
  }

  noteFault(error: unknown): void {
    this.#faults += 1;
    this.#lastFault = describe(error);
    const stack = error instanceof Error ? error.stack : '';
    this.#log.error('unexpected fault in the control plane; the data plane serves on (please report it)', {
      error: this.#lastFault,
      stack,
    });
  }

  retireWorker(lane: number): Promise<void> {
    return this.#fleet.retire(lane, this.#graceMs());
  }

  stop(graceMs?: number): Promise<void> {
    if (graceMs === 0 && !this.#shutdownDelay.skip() && this.#stopped !== null) this.#fleet.cut();
    this.#stopped ??= this.#stop(graceMs ?? this.#graceMs());
    return this.#stopped;
  }

  async #stop(graceMs: number): Promise<void> {
    await this.#loading;
    const delayMs = this.#loaded?.compiled.shutdownDelayMs ?? 0;
    const isUrgent = await this.#shutdownDelay.wait(delayMs, (message) => this.#fleet.broadcast(message));
    await this.#fleet.stop(isUrgent ? 0 : graceMs);
    this.#upstreams.stop();
    this.#certificates.stop();
    this.#watched.stop();
  }

  async #load(request: LoadRequest): Promise<LoadResult> {
    try {
      const result = await this.#change(request);
      if (!result.unchanged)
        this.#tell('reload', `generation ${result.generation} is in force`, { generation: result.generation });
      this.#count(true, result.generation);
      return result;
    } catch (error) {
      this.#count(false, this.#reloads.generation);
      const stays = this.#loaded === null ? 'nothing is served' : 'the old config serves on';
      this.#tell('reload-failed', `the config was not loaded, ${stays}: ${describe(error)}`, {
        file: request.filename,
      });
      throw error;
    }
  }

  /** A file that is part of the config in force has changed. False while another load runs, which must not give way. */
  #loadAgain(): boolean {
    const request = this.#again;
    if (request === null || this.#queue.busy || this.#stopped !== null) return false;
    this.#log.info('a certificate of the config has changed: it is loaded again', { file: request.filename });
    // What goes wrong is told as an event, and the old certificates serve on.
    this.load({ ...request, force: true }).catch(() => {});
    return true;
  }

  async #change(request: LoadRequest): Promise<LoadResult> {
    const { text, warnings, compiled } = await readLargeOrSmall({
      request: { text: request.text, adapter: request.adapter, filename: request.filename },
      env: definedVariables(this.#options.env),
      platform: process.platform,
      dataDir: this.#options.dataDir ?? null,
      secretRoot: this.#secrets.memoryRoot(),
      inForce: request.force === true ? null : (this.#loaded?.text ?? null),
      adaptOnly: false,
    });
    if (compiled === null) return { generation: this.#reloads.generation, unchanged: true, warnings, changes: [] };
    const before = this.#loaded?.compiled ?? null;
    const generation = await this.#putInForce({ text, compiled }, request.mayRunPrograms === true);
    this.#again = compiled.watchedFiles === undefined ? null : request;
    this.#watched.watch(compiled.watchedFiles ?? []);
    return { generation, unchanged: false, warnings, changes: await changesBetween(before, compiled) };
  }

  async #putInForce(next: Loaded, mayRunPrograms: boolean): Promise<number> {
    if (!this.#started) {
      await this.#fleet.start();
      this.#started = true;
    }
    this.#generation += 1;
    const generation = this.#generation;
    await this.#options.beforeCommit?.(next.compiled);
    const rows = await this.#upstreams.prepare(generation, next.compiled);
    try {
      await this.#certificates.prepare(next.compiled.tls, mayRunPrograms);
      await this.#fleet.apply(this.#planOf(generation, next.compiled, rows));
    } catch (error) {
      this.#upstreams.discard(generation);
      this.#certificates.discard();
      throw error;
    }
    this.#loaded = next;
    this.#certificates.activate();
    this.#fleet.setHangTimeout(next.compiled.workerHangTimeoutMs ?? this.#hangTimeoutMs);
    return generation;
  }

  #planOf(generation: number, compiled: CompiledConfig, { serverRows, layer4Rows }: PreparedRows): PreparedPlan {
    return {
      manifest: {
        generation,
        servers: compiled.servers.map((server) => ({ ...server, row: rowOf(serverRows, server.name) })),
        layer4: compiled.layer4.map((server) => ({ ...server, row: rowOf(layer4Rows, server.name) })),
        sections: [...compiled.sections.keys()],
      },
      sections: poolsFirst(compiled.sections),
      listeners: compiled.listeners,
      rows: (pool, from, to) => this.#upstreams.currentRows(pool, from, to),
    };
  }

  #count(successful: boolean, generation: number): void {
    const { total, failures, lastSuccessSeconds } = this.#reloads;
    this.#reloads = {
      generation,
      lastSuccessful: successful,
      lastSuccessSeconds: successful ? this.#clock.wall() / 1000 : lastSuccessSeconds,
      total: total + 1,
      failures: failures + (successful ? 0 : 1),
    };
  }

  #graceMs(): number {
    return this.#loaded?.compiled.gracePeriodMs ?? DEFAULT_GRACE_MS;
  }

  #tell(type: ControlEvent['type'], message: string, fields: ControlEvent['fields']): void {
    this.#events.emit({ at: this.#clock.wall(), type, message, fields });
  }

  #makeUpstreams(): Upstreams {
    return new Upstreams({
      table: this.table,
      clock: this.#clock,
      random: this.#options.random ?? systemRandom,
      onChunk: (chunk) => this.#fleet.broadcast({ type: 'table', chunk }),
      onEndpoints: (pool, member, rows) => this.#fleet.broadcast({ type: 'endpoints', pool, member, rows }),
      onMembers: (pool, rows) => this.#fleet.broadcast({ type: 'pool', pool, rows }),
      onForgetDerived: (pools) => this.#fleet.broadcast({ type: 'forget-derived', pools }),
      onForget: (slots) => this.#fleet.broadcast({ type: 'forget-slots', slots }),
      onCut: (slots) => this.#fleet.broadcast({ type: 'cut-slots', slots }),
      onCutPool: (pool, slots, how) => this.#fleet.broadcast({ type: 'cut-pool', pool, slots, how }),
      onEvent: (event) => this.#events.emit(event),
    });
  }

  #makeCertificates(): Certificates {
    return new Certificates({
      clock: this.#clock,
      log: this.#log,
      dataDir: this.#options.dataDir,
      firstRetryMs: this.#options.certificateRetryMs ?? DEFAULT_CERTIFICATE_RETRY_MS,
      broadcast: (message) => this.#fleet.broadcast(message),
      onEvent: (type, message, fields) => this.#tell(type, message, fields),
    });
  }

  #makeFleet(): Fleet {
    const { workers, workerEntry, env } = this.#options;
    return new Fleet({
      workers: workers ?? availableParallelism(),
      workerEntry: workerEntry ?? entryUrl('worker'),
      acceptorEntry: entryUrl('acceptor'),
      env: definedVariables(env),
      table: this.table,
      clock: this.#clock,
      log: this.#log,
      hangTimeoutMs: this.#hangTimeoutMs,
      platform: process.platform,
      addLane: (lane) => this.#upstreams.addLane(lane),
      greeting: () => [...this.#certificates.greeting(), ...this.#shutdownDelay.greeting()],
      onMessage: (message) => this.#receive(message),
      metrics: () => this.#options.metrics?.() ?? Promise.resolve(null),
      derive: (pattern, addresses) => this.#upstreams.derived.derive(pattern, addresses),
      touchDerived: (pattern, addresses) => this.#upstreams.derived.touch(pattern, addresses),
      challenge: (token) => this.#certificates.answerChallenge(token),
      certificateWanted: (name, challenge) => this.#certificates.want(name, challenge),
      onCommit: (generation) => this.#upstreams.activate(generation),
      onRelease: (generation) => this.#upstreams.release(generation),
      onEvent: (type, message, fields) => this.#tell(type, message, fields),
    });
  }

  #receive(message: WorkerMessage): void {
    switch (message.type) {
      case 'dial-failed':
        return this.#upstreams.dialFailed(message.slot);
      case 'refused':
        return this.#upstreams.refused(message.slot);
      case 'passive':
        return this.#upstreams.passive(message.pool, message.row, message.outcome, message.strike);
      case 'log':
        return this.#log[message.level](message.message, message.fields);
      case 'access':
        return this.#options.accessSink?.(message.lines, message.output);
      default:
    }
  }
}

/** A site names its pools, so they are staged before it. */
function poolsFirst(sections: ReadonlyMap<string, Section>): ReadonlyMap<string, Section> {
  const entries = [...sections];
  const isPool = ([, { kind }]: readonly [string, Section]): boolean => kind === 'pool';
  return new Map([...entries.filter(isPool), ...entries.filter((entry) => !isPool(entry))]);
}

function rowOf(rows: ReadonlyMap<string, number>, server: string): number {
  const row = rows.get(server);
  if (row === undefined) throw new Error(`server ${server} has no row in the state table`);
  return row;
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
