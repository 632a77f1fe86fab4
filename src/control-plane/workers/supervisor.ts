import type { Clock, Timer } from '../../shared/clock.ts';
import type { Logger } from '../../shared/log.ts';
import type { ControlMessage, WorkerInit, WorkerMessage } from '../../shared/messages.ts';
import { LANE_CLOSED, LANE_CONNECTIONS, LANE_EXCHANGES, LANE_TUNNELS } from '../../shared/state-table/layout.ts';
import type { StateTable, TableChunk } from '../../shared/state-table/table.ts';
import type { ControlEvent, WorkerStatus } from '../types.ts';
import { abortScript } from './abort-script.ts';
import { DataWorker } from './data-worker.ts';
import { HangWatch } from './hang-watch.ts';
import { Lanes } from './lanes.ts';
import { openWorker } from './open-worker.ts';
import { RestartBudget } from './restart-budget.ts';
import { Thread } from './thread.ts';

/** From opening the thread to its `ready`. */
const START_TIMEOUT_MS = 30_000;
/** A thread that was told to end gets this long for its last act before it is terminated. */
const LAST_ACT_MS = 1000;
/** A thread that does not end even then (stuck in native code) is given up and left behind. */
const ABANDON_MS = 2000;

export interface SupervisorDeps {
  readonly count: number;
  readonly entry: URL;
  readonly env: Readonly<Record<string, string>>;
  readonly table: StateTable;
  readonly clock: Clock;
  readonly log: Logger;
  /** A heartbeat that stands still this long is a hang, until `setHangTimeout`. */
  readonly hangTimeoutMs: number;
  /** Makes the rows of a lane; returns the chunks that are new. */
  addLane(lane: number): readonly TableChunk[];
  /** What a new worker is told first of all. */
  greeting(): readonly ControlMessage[];
  /** Gives a ready worker the plan in force and calls `seat`. Rejects when it cannot run it. */
  admit(worker: DataWorker): Promise<void>;
  /** Moves what a worker accepts to whoever sits at its position now. */
  handOver(worker: DataWorker): Promise<void>;
  onMessage(worker: DataWorker, message: WorkerMessage): void;
  /** The thread is gone; its lane is folded when this resolves. */
  onGone(worker: DataWorker): Promise<void>;
  onEvent(type: ControlEvent['type'], message: string, fields: ControlEvent['fields']): void;
}

/** One place among the workers. */
interface Place {
  worker: DataWorker | null;
  /** Set while a replacement waits for its time. */
  restart: Timer | null;
  readonly budget: RestartBudget;
}

/** Starts the workers, watches them, replaces those that end, and ends them all. */
export class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #lanes: Lanes;
  readonly #hangs: HangWatch;
  readonly #places: readonly Place[];
  /** Every thread that lives, retiring ones too. */
  readonly #all = new Set<DataWorker>();
  readonly #restarts = { crashes: 0, hangs: 0 };
  #stopping = false;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.#lanes = new Lanes(deps.table);
    this.#hangs = new HangWatch(deps.table.lanes, deps.clock, deps.hangTimeoutMs, (lane) => this.#onHang(lane));
    this.#places = Array.from({ length: deps.count }, () => ({
      worker: null,
      restart: null,
      budget: new RestartBudget(deps.clock),
    }));
  }

  /** Resolves when every worker is ready; rejects when one cannot start. */
  async start(): Promise<void> {
    await Promise.all(this.#places.map((_, position) => this.#launch(position)));
  }

  setHangTimeout(timeoutMs: number): void {
    this.#hangs.setTimeout(timeoutMs);
  }

  /** Workers that may be given work. */
  serving(): readonly DataWorker[] {
    return this.#places.flatMap((_, position) => this.at(position) ?? []);
  }

  /** Who serves at a position; null while nobody does. */
  at(position: number): DataWorker | null {
    const worker = this.#places[position]?.worker ?? null;
    if (worker === null || !worker.serves) return null;
    return this.#deps.table.lanes.load(worker.lane, LANE_CLOSED) === 0 ? worker : null;
  }

  /** The serving worker with the fewest connections. */
  leastLoaded(): DataWorker | null {
    const { lanes } = this.#deps.table;
    const load = ({ lane }: DataWorker): number => lanes.load(lane, LANE_CONNECTIONS);
    return this.serving().reduce<DataWorker | null>(
      (best, worker) => (best && load(best) <= load(worker) ? best : worker),
      null,
    );
  }

  /** Places whose worker ends again and again. */
  get spentPlaces(): number {
    return this.#places.filter(({ worker, budget }) => worker === null && budget.spent).length;
  }

  restarts(): { readonly crashes: number; readonly hangs: number } {
    return { ...this.#restarts };
  }

  status(): readonly WorkerStatus[] {
    const vacant = this.#places.flatMap(({ worker }, position) => (worker === null ? [vacantStatus(position)] : []));
    return [...[...this.#all].map((worker) => this.#statusOf(worker)), ...vacant];
  }

  broadcast(message: ControlMessage): void {
    for (const { thread } of this.#all) thread.post(message);
  }

  /** The worker has its plan: it takes its place, and the one that had it retires. */
  seat(worker: DataWorker): void {
    const place = this.#places[worker.position]!;
    if (place.worker !== null) place.worker.state = 'retiring';
    place.worker = worker;
    worker.state = 'serving';
  }

  /** Starts replacements that wait for their time at once: there is a new plan, perhaps without what ended them. */
  hurry(): void {
    this.#places.forEach(({ restart }, position) => {
      if (restart === null) return;
      restart.cancel();
      this.#restart(position);
    });
  }

  /**
   * Replaces a worker: the successor is started and given the plan, then the listening servers, and
   * the old one drains for at most `graceMs`. Resolves when the successor accepts.
   */
  async retire(lane: number, graceMs: number): Promise<void> {
    const old = this.serving().find((worker) => worker.lane === lane);
    if (old === undefined) throw new Error(`no serving worker has lane ${lane} (lanes are listed with the workers)`);
    await this.#launch(old.position);
    await this.#deps.handOver(old);
    void this.#end(old, graceMs);
  }

  /** Drains every worker for at most `graceMs`, then ends them. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    for (const worker of this.#all) worker.state = 'retiring';
    await Promise.all([...this.#all].map((worker) => this.#end(worker, graceMs)));
    this.#hangs.stop();
  }

  /** Every worker resets its connections and ends. For a second, more impatient stop. */
  cut(): void {
    for (const worker of this.#all) this.#kill(worker);
  }

  async #launch(position: number): Promise<void> {
    const worker = this.#open(position);
    try {
      await worker.thread.answer('start', START_TIMEOUT_MS, ({ type }) => type === 'ready');
      this.#hangs.watch(worker.lane);
      await this.#deps.admit(worker);
    } catch (error) {
      this.#kill(worker);
      throw error;
    }
    if (this.#stopping) return this.#kill(worker);
    this.#deps.onEvent('worker-started', `${worker.name} serves`, { worker: worker.name, lane: worker.lane });
  }

  #open(position: number): DataWorker {
    const { table, entry, env, clock, log } = this.#deps;
    const lane = this.#lanes.take();
    for (const chunk of [...table.grow('lane', 0, lane), ...this.#deps.addLane(lane)])
      this.broadcast({ type: 'table', chunk });
    const init: WorkerInit = { lane, name: `worker-${lane}`, chunks: table.chunks };
    const thread = new Thread<ControlMessage, WorkerMessage>(openWorker(entry, init.name, init, env), {
      name: init.name,
      clock,
      onMessage: (message) => this.#receive(worker, message),
      onError: (error) =>
        log.error(`${init.name} failed`, { worker: init.name, error: error.message, stack: error.stack }),
      onExit: (code) => void this.#onExit(worker, code),
    });
    const worker = new DataWorker(lane, position, thread);
    // Before any broadcast can reach it: those tell what changed since.
    for (const message of this.#deps.greeting()) thread.post(message);
    this.#all.add(worker);
    return worker;
  }

  #receive(worker: DataWorker, message: WorkerMessage): void {
    if (message.type === 'crashed') {
      worker.crash = message.message;
      this.#deps.log.error(`${worker.name} threw: ${message.message}`, { worker: worker.name, stack: message.stack });
      this.#awaitEnd(worker);
    }
    this.#deps.onMessage(worker, message);
  }

  async #onExit(worker: DataWorker, code: number): Promise<void> {
    if (!worker.bury()) return;
    const place = this.#places[worker.position]!;
    const wasSeated = place.worker === worker;
    if (wasSeated) place.worker = null;
    this.#all.delete(worker);
    this.#hangs.forget(worker.lane);
    this.#report(worker, code);
    await this.#deps.onGone(worker);
    this.#lanes.release(worker.lane);
    worker.settleEnd();
    if (wasSeated) this.#scheduleRestart(worker.position);
  }

  /** Counts and tells why a worker ended. */
  #report(worker: DataWorker, code: number): void {
    const fields = { worker: worker.name, lane: worker.lane, code };
    const asked = this.#stopping || worker.state === 'retiring';
    if (worker.hung) {
      this.#restarts.hangs += 1;
    } else if (!asked || worker.crash !== '') {
      this.#restarts.crashes += 1;
      const why = worker.crash === '' ? `it ended with code ${code}` : worker.crash;
      this.#deps.onEvent('worker-crashed', `${worker.name} crashed: ${why}`, fields);
    } else {
      this.#deps.onEvent('worker-stopped', `${worker.name} stopped`, fields);
    }
  }

  #scheduleRestart(position: number): void {
    if (this.#stopping) return;
    const place = this.#places[position]!;
    place.restart = this.#deps.clock.after(place.budget.noteEnd(), () => this.#restart(position));
  }

  #restart(position: number): void {
    this.#places[position]!.restart = null;
    if (this.#stopping) return;
    this.#launch(position).catch((error: Error) => {
      this.#deps.log.error(`a worker could not be replaced: ${error.message}`, { position });
      this.#scheduleRestart(position);
    });
  }

  /** Drain, last act, end. Never rejects: a worker that dies meanwhile has ended too. */
  async #end(worker: DataWorker, graceMs: number): Promise<void> {
    try {
      const reset = await worker.drain(graceMs);
      if (reset > 0)
        this.#deps.log.warn(`${worker.name} reset ${reset} connections that outlived the grace period`, { graceMs });
    } catch (error) {
      this.#deps.log.warn(error instanceof Error ? error.message : String(error));
    }
    this.#kill(worker);
    await worker.ended;
  }

  #kill(worker: DataWorker): void {
    worker.thread.post({ type: 'die' });
    this.#awaitEnd(worker);
  }

  /** Its last act runs; a thread that does not come to its end is ended from outside. */
  #awaitEnd(worker: DataWorker): void {
    const { clock, log } = this.#deps;
    const terminate = clock.after(LAST_ACT_MS, () => worker.thread.terminate());
    const abandon = clock.after(LAST_ACT_MS + ABANDON_MS, () => {
      log.error(`${worker.name} cannot be ended; it is left behind and replaced (restart the process when convenient)`);
      void this.#onExit(worker, -1);
    });
    void worker.thread.exited.then(() => {
      terminate.cancel();
      abandon.cancel();
    });
  }

  #onHang(lane: number): void {
    const worker = [...this.#all].find((candidate) => candidate.lane === lane);
    if (worker === undefined) return;
    worker.hung = true;
    const message = `${worker.name} hangs: its event loop stood still for ${this.#hangs.timeoutMs} ms; it is being replaced`;
    this.#deps.onEvent('worker-hung', message, { worker: worker.name, lane });
    this.#kill(worker);
    const detach = abortScript(worker.thread.threadId);
    void worker.thread.exited.then(detach);
  }

  #statusOf(worker: DataWorker): WorkerStatus {
    const { lanes } = this.#deps.table;
    const broken = worker.hung || worker.crash !== '';
    return {
      name: worker.name,
      lane: worker.lane,
      state: broken ? 'restarting' : worker.state,
      connections: lanes.load(worker.lane, LANE_CONNECTIONS),
      exchanges: lanes.load(worker.lane, LANE_EXCHANGES),
      tunnels: lanes.load(worker.lane, LANE_TUNNELS),
      generation: worker.generation,
    };
  }
}

/** A place between two workers. It has no lane. */
function vacantStatus(position: number): WorkerStatus {
  const name = `position ${position}`;
  return { name, lane: -1, state: 'restarting', connections: 0, exchanges: 0, tunnels: 0, generation: 0 };
}
