/**
 * The data plane as the control plane holds it: workers, the acceptor, the listeners between them,
 * and the one plan in force. Knows nothing of configs.
 */
import type { Clock, Timer } from '../../shared/clock.ts';
import type { Logger } from '../../shared/log.ts';
import type { ControlMessage, DerivedResult, WorkerMessage } from '../../shared/messages.ts';
import type { SectionHash } from '../../shared/plan/types.ts';
import type { CertificatePlan } from '../../shared/plan/tls.ts';
import type { StateTable, TableChunk } from '../../shared/state-table/table.ts';
import type { ListenerSpec } from '../compile/compiled.ts';
import type { ListenAddress } from '../listeners/bind.ts';
import type { ServerTaker } from '../listeners/listener.ts';
import { Listeners } from '../listeners/listeners.ts';
import { OwnedListeners } from '../listeners/owned-listeners.ts';
import { Lobby } from '../listeners/lobby.ts';
import { SharedAcceptor } from '../listeners/shared-acceptor.ts';
import { Generations } from '../reload/generation.ts';
import { Mutex } from '../reload/mutex.ts';
import { applyPlan, stageIn, type PreparedPlan } from '../reload/transaction.ts';
import type { ControlEvent, WorkerStatus } from '../types.ts';
import type { DataWorker } from './data-worker.ts';
import { Supervisor } from './supervisor.ts';

/** A listening socket that died with its thread and could not be bound is tried again after this long. */
const REBIND_RETRY_MS = 1000;

export interface FleetDeps {
  readonly workers: number;
  readonly workerEntry: URL;
  readonly acceptorEntry: URL;
  readonly env: Readonly<Record<string, string>>;
  readonly table: StateTable;
  readonly clock: Clock;
  readonly log: Logger;
  readonly hangTimeoutMs: number;
  readonly platform: NodeJS.Platform;
  /** Makes the rows of a lane; returns the chunks that are new. */
  addLane(lane: number): readonly TableChunk[];
  /** What a new worker is told first of all. */
  greeting(): readonly ControlMessage[];
  /** What a worker says that is not about its plan, its servers or its end. */
  onMessage(message: WorkerMessage): void;
  /** The metrics of the process, for workers that are asked for them. */
  metrics(): Promise<string | null>;
  /** A pool of upstreams that a request names. */
  derive(pattern: SectionHash, addresses: readonly string[]): Promise<DerivedResult>;
  /** A worker still uses one. */
  touchDerived(pattern: SectionHash, addresses: readonly string[]): void;
  /** The answer to an HTTP-01 challenge; null = nobody asked for this token. */
  challenge(token: string): Promise<string | null>;
  /** What a client waits for. A certificate of a name is told to all workers; one of a challenge is the result. */
  certificateWanted(name: string, challenge: boolean): Promise<CertificatePlan | null>;
  /** The plan is about to go to the workers: nothing can fail any more. */
  onCommit(generation: number): void;
  /** No exchange of the generation runs any more. */
  onRelease(generation: number): void;
  onEvent(type: ControlEvent['type'], message: string, fields: ControlEvent['fields']): void;
}

/** Starts, reloads, retires and stops the threads of the data plane without losing a connection. */
export class Fleet {
  readonly #deps: FleetDeps;
  readonly #supervisor: Supervisor;
  readonly #lobby: Lobby;
  readonly #listeners: Listeners;
  readonly #owned: OwnedListeners;
  readonly #acceptor: SharedAcceptor;
  readonly #generations: Generations<DataWorker>;
  /** A worker gets its plan either before a change or after it, never in between. */
  readonly #planLock = new Mutex();
  #plan: PreparedPlan | null = null;
  #lostListener = '';
  #lostSocket = '';
  /** Set while a socket that could not be bound is waited for. */
  #retry: Timer | null = null;

  constructor(deps: FleetDeps) {
    this.#deps = deps;
    this.#generations = new Generations(deps.onRelease);
    this.#supervisor = this.#makeSupervisor();
    this.#lobby = new Lobby(() => this.#supervisor.leastLoaded(), deps.log);
    this.#listeners = this.#makeListeners();
    this.#owned = new OwnedListeners({
      positions: deps.workers,
      reusePort: deps.platform === 'linux',
      holderAt: (position) => this.#supervisor.at(position),
    });
    this.#acceptor = this.#makeAcceptor();
  }

  /** Resolves when every worker is ready. Rejects, with all of them ended, when one cannot start. */
  async start(): Promise<void> {
    try {
      await this.#supervisor.start();
    } catch (error) {
      await this.stop(0);
      throw error;
    }
  }

  /** Puts a plan in force everywhere or nowhere. */
  apply(plan: PreparedPlan): Promise<void> {
    const wanted = { ...plan, listeners: plan.listeners.map((spec) => this.#supported(spec)) };
    return this.#planLock.run(() =>
      applyPlan(wanted, {
        listeners: this.#listeners,
        owned: this.#owned,
        workers: () => this.#supervisor.serving(),
        beforeOpen: async ({ listeners }) => {
          if (listeners.some(({ accept }) => accept === 'shared')) await this.#acceptor.ensure();
        },
        onCommit: (committed, workers) => this.#onCommit(committed, workers),
      }),
    );
  }

  broadcast(message: ControlMessage): void {
    this.#supervisor.broadcast(message);
  }

  /** A worker whose heartbeat stands still this long is replaced. */
  setHangTimeout(timeoutMs: number): void {
    this.#supervisor.setHangTimeout(timeoutMs);
  }

  addresses(): ReadonlyMap<string, ListenAddress> {
    return new Map([...this.#listeners.addresses(), ...this.#owned.addresses()]);
  }

  status(): readonly WorkerStatus[] {
    return this.#supervisor.status();
  }

  restarts(): { readonly crashes: number; readonly hangs: number } {
    return this.#supervisor.restarts();
  }

  /** Why it is not whole: sentences, none when it is. */
  degraded(): readonly string[] {
    const reasons: string[] = [];
    if (this.#supervisor.serving().length === 0) reasons.push('no worker serves');
    const { spentPlaces } = this.#supervisor;
    if (spentPlaces > 0) reasons.push(`${spentPlaces} worker(s) end again and again and are restarted with a delay`);
    if (this.#lostListener !== '') reasons.push(this.#lostListener);
    if (this.#lostSocket !== '') reasons.push(this.#lostSocket);
    return [...reasons, ...this.#listeners.lost()];
  }

  /** Replaces one worker; resolves when its successor accepts, while the old one still drains. */
  retire(lane: number, graceMs: number): Promise<void> {
    return this.#supervisor.retire(lane, graceMs);
  }

  /** Whoever is still draining resets its connections and ends now. */
  cut(): void {
    this.#supervisor.cut();
  }

  /** Stops accepting, drains for at most `graceMs`, resets the rest, ends all threads. */
  async stop(graceMs: number): Promise<void> {
    await this.#planLock.run(async () => {
      await this.#listeners.close();
      await this.#owned.close();
    });
    await this.#acceptor.stop();
    this.#lobby.clear();
    await this.#supervisor.stop(graceMs);
  }

  #makeSupervisor(): Supervisor {
    const { workers: count, workerEntry: entry, env, table, clock, log, hangTimeoutMs } = this.#deps;
    return new Supervisor({
      count,
      entry,
      env,
      table,
      clock,
      log,
      hangTimeoutMs,
      addLane: (lane) => this.#deps.addLane(lane),
      greeting: () => this.#deps.greeting(),
      admit: (worker) => this.#admit(worker),
      handOver: (worker) => this.#handOver(worker),
      onMessage: (worker, message) => this.#receive(worker, message),
      onGone: (worker) => this.#onWorkerGone(worker),
      onEvent: (type, message, fields) => this.#deps.onEvent(type, message, fields),
    });
  }

  #makeListeners(): Listeners {
    return new Listeners({
      positions: this.#deps.workers,
      reusePort: this.#deps.platform === 'linux',
      lobby: this.#lobby,
      clock: this.#deps.clock,
      log: this.#deps.log,
      holderOf: ({ accept }, position) => {
        if (accept === 'kernel') return this.#supervisor.at(position);
        return this.#acceptor.ready ? this.#acceptor : null;
      },
    });
  }

  #makeAcceptor(): SharedAcceptor {
    const { acceptorEntry: entry, env, table, clock, log } = this.#deps;
    return new SharedAcceptor({
      entry,
      env,
      table,
      clock,
      log,
      lobby: this.#lobby,
      workers: () => this.#supervisor.serving(),
      onServer: (holder, key, server) => this.#listeners.returned(holder, key, server),
      onGone: (holder) => this.#restoreListeners(holder),
      onReady: () => void this.#planLock.run(async () => this.#listeners.settle()),
    });
  }

  /** Without SO_REUSEPORT there is one listening socket, so one thread accepts. */
  #supported(spec: ListenerSpec): ListenerSpec {
    return this.#deps.platform === 'linux' ? spec : { ...spec, accept: 'shared' };
  }

  #onCommit(plan: PreparedPlan, workers: readonly DataWorker[]): void {
    this.#plan = plan;
    if (workers.length === 0) this.#supervisor.hurry();
    this.#deps.onCommit(plan.manifest.generation);
    this.#generations.commit(plan.manifest.generation, workers);
  }

  #admit(worker: DataWorker): Promise<void> {
    return this.#planLock.run(async () => {
      if (this.#plan !== null) {
        const { manifest } = this.#plan;
        await stageIn(worker, this.#plan);
        await worker.commit(manifest);
        this.#generations.join(worker, manifest.generation);
      }
      this.#supervisor.seat(worker);
      this.#acceptor.join(worker);
      this.#listeners.settle();
      await this.#settleOwned();
      this.#lobby.flush();
    });
  }

  /** Listening servers move first; the acceptor's last sockets have arrived when this resolves. */
  async #handOver(worker: DataWorker): Promise<void> {
    await this.#planLock.run(async () => {
      await this.#listeners.handOver(worker);
      await this.#owned.handOver(worker);
    });
    await this.#acceptor.leave(worker);
  }

  async #onWorkerGone(worker: DataWorker): Promise<void> {
    await this.#acceptor.leave(worker);
    this.#generations.gone(worker);
    this.#owned.gone(worker);
    await this.#restoreListeners(worker);
  }

  /** Binds what the successors of ended workers have to. What is taken meanwhile is tried again. */
  async #settleOwned(): Promise<void> {
    try {
      await this.#owned.settle();
      this.#lostSocket = '';
    } catch (error) {
      this.#lostSocket = error instanceof Error ? error.message : String(error);
      this.#deps.log.error(`a socket could not be opened anew: ${this.#lostSocket}`);
      this.#retry?.cancel();
      this.#retry = this.#deps.clock.after(REBIND_RETRY_MS, () => void this.#planLock.run(() => this.#settleOwned()));
    }
  }

  /** Under the lock: servers recalled by a running change must not go back to a worker meanwhile. */
  #restoreListeners(holder: ServerTaker): Promise<void> {
    return this.#planLock.run(() => this.#restoreLost(holder));
  }

  async #restoreLost(holder: ServerTaker): Promise<void> {
    try {
      await this.#listeners.restore(holder);
      this.#listeners.settle();
      this.#lostListener = '';
    } catch (error) {
      this.#lostListener = error instanceof Error ? error.message : String(error);
      this.#deps.log.error(`a listening socket could not be opened anew: ${this.#lostListener}`);
      this.#deps.clock.after(REBIND_RETRY_MS, () => void this.#restoreListeners(holder));
    }
  }

  async #answerMetrics(worker: DataWorker, id: number): Promise<void> {
    let text: string | null = null;
    try {
      text = await this.#deps.metrics();
    } catch (error) {
      this.#deps.log.error('the metrics could not be made', { error });
    }
    if (worker.thread.alive) worker.thread.post({ type: 'metrics', id, text });
  }

  /** Neither of the two rejects. */
  async #answerChallenge(worker: DataWorker, id: number, token: string): Promise<void> {
    const text = await this.#deps.challenge(token);
    if (worker.thread.alive) worker.thread.post({ type: 'challenge', id, text });
  }

  async #answerCertificate(worker: DataWorker, id: number, name: string, challenge: boolean): Promise<void> {
    const certificate = await this.#deps.certificateWanted(name, challenge);
    if (worker.thread.alive) worker.thread.post({ type: 'certificate-answer', id, certificate });
  }

  async #answerDerive(
    worker: DataWorker,
    { id, pattern, addresses }: Extract<WorkerMessage, { type: 'derive' }>,
  ): Promise<void> {
    let result: DerivedResult = { outcome: 'busy' };
    try {
      result = await this.#deps.derive(pattern, addresses);
    } catch (error) {
      this.#deps.log.error('a pool could not be derived', { error });
    }
    if (worker.thread.alive) worker.thread.post({ type: 'derived', id, pattern, addresses, result });
  }

  #receive(worker: DataWorker, message: WorkerMessage): void {
    switch (message.type) {
      case 'server':
        if (message.server !== null) this.#listeners.returned(worker, message.key, message.server);
        return;
      case 'orphan':
        return this.#lobby.admit(message.key, message.socket);
      case 'metrics-wanted':
        return void this.#answerMetrics(worker, message.id);
      case 'derive':
        if (message.id === 0) return this.#deps.touchDerived(message.pattern, message.addresses);
        return void this.#answerDerive(worker, message);
      case 'challenge-wanted':
        return void this.#answerChallenge(worker, message.id, message.token);
      case 'certificate-wanted':
        return void this.#answerCertificate(worker, message.id, message.name, message.challenge);
      case 'generation-idle':
        return this.#generations.idle(worker, message.generation);
      default:
        return this.#deps.onMessage(message);
    }
  }
}
