/**
 * What a data-plane thread does around its runtime: answers the control plane, keeps the listening
 * servers it was handed, shows that its event loop turns, and dies in a way clients can tell from
 * the end of a response.
 */
import type { Socket as UdpSocket } from 'node:dgram';
import type { Server, Socket } from 'node:net';
import { parentPort, receiveMessageOnPort, workerData, type MessagePort, type Transferable } from 'node:worker_threads';
import { systemClock, type Clock } from '../shared/clock.ts';
import type {
  AcceptedMessage,
  BindTarget,
  ControlMessage,
  DerivedAnswer,
  WorkerInit,
  WorkerMessage,
} from '../shared/messages.ts';
import { transferable } from '../shared/net/transfer.ts';
import type { CertificatePlan } from '../shared/plan/tls.ts';
import type { MemberPlan, MemberRows, PlanManifest, PoolRows, Section, SectionHash } from '../shared/plan/types.ts';
import { systemRandom, type Random } from '../shared/random.ts';
import { LANE_CLOSED, LANE_HANDED, LANE_HEARTBEAT, LANE_TAKEN } from '../shared/state-table/layout.ts';
import { StateTable } from '../shared/state-table/table.ts';
import { AcceptErrors } from './accept-errors.ts';
import { codeOf } from './layer4/udp/sockets.ts';
import { OwnedSockets } from './owned-sockets.ts';

/** How often the heartbeat word is bumped. The control plane waits many of these before it acts. */
const HEARTBEAT_MS = 200;
/** A socket the acceptor has announced arrives within this time, or the acceptor is gone. */
const MAX_ARRIVAL_MS = 50;
/** Exit code of a thread that threw (EX_SOFTWARE of sysexits.h). */
const CRASH_EXIT_CODE = 70;

export interface RuntimeDeps {
  readonly lane: number;
  readonly name: string;
  readonly table: StateTable;
  readonly clock: Clock;
  readonly random: Random;
  post(message: WorkerMessage, transfer?: readonly Transferable[]): void;
}

/** The part of a worker that serves connections. `runtime.ts` implements it. */
export interface WorkerRuntime {
  /** The next members of a pool whose section comes after them. */
  stageMembers(pool: SectionHash, members: readonly MemberPlan[], rows: readonly MemberRows[]): void;
  /** Throws when the section cannot be compiled. */
  stageSection(section: Section, rows: PoolRows | null): void;
  /** Throws when the manifest cannot be compiled or names a section that was not staged. */
  stage(manifest: PlanManifest): void;
  commit(generation: number): void;
  rollback(generation: number): void;
  updateEndpoints(pool: SectionHash, member: number, rows: MemberRows): void;
  /** A pool found in DNS has other members or addresses. */
  recastPool(pool: SectionHash, rows: PoolRows): void;
  accept(listenerKey: string, socket: Socket): void;
  /** Begins to serve the clients of a bound UDP socket, which is its own from here on. */
  listenUdp(key: string, socket: UdpSocket): void;
  /** Ends their sessions and closes the socket. */
  unlistenUdp(key: string): void;
  forgetSlots(slots: readonly number[]): void;
  cutSlots(slots: readonly number[]): void;
  cutPool(pool: SectionHash, slots: readonly number[], how: 'finish' | 'reset'): void;
  /** What `derive` asked for. */
  derived(answer: DerivedAnswer): void;
  forgetDerived(pools: readonly SectionHash[]): void;
  /** What `challenge-wanted` asked for; null = nobody knows the token. */
  challengeAnswered(id: number, text: string | null): void;
  /** What `certificate-wanted` asked for: the certificate of a challenge, else null. */
  certificateAnswered(id: number, certificate: CertificatePlan | null): void;
  /** What `metrics-wanted` asked for; null = there are none. */
  metricsAnswered(id: number, text: string | null): void;
  updateCertificates(add: readonly CertificatePlan[], drop: readonly string[]): void;
  setTicketKeys(keys: Uint8Array): void;
  /** For the placeholders that tell of it. */
  shuttingDown(atMs: number): void;
  /** Resolves with the number of connections that had to be reset. */
  drain(graceMs: number): Promise<number>;
  /** Resets every socket, synchronously and whatever state they are in: the last act of a thread that threw, too. */
  resetAll(): void;
}

/** Runs this thread as a worker until the control plane ends it or something throws. */
export function runWorker(create: (deps: RuntimeDeps) => WorkerRuntime): void {
  if (parentPort === null) throw new Error('a data-plane worker runs in a worker thread only');
  new WorkerThread(parentPort, workerData as WorkerInit, create).start();
}

class WorkerThread {
  readonly #parent: MessagePort;
  readonly #init: WorkerInit;
  readonly #table: StateTable = new StateTable();
  readonly #servers = new Map<string, Server>();
  readonly #acceptors = new Set<MessagePort>();
  readonly #acceptErrors = new AcceptErrors(systemClock);
  readonly #runtime: WorkerRuntime;
  readonly #owned: OwnedSockets;

  constructor(parent: MessagePort, init: WorkerInit, create: (deps: RuntimeDeps) => WorkerRuntime) {
    this.#parent = parent;
    this.#init = init;
    for (const chunk of init.chunks) this.#table.attach(chunk);
    this.#runtime = create({
      lane: init.lane,
      name: init.name,
      table: this.#table,
      clock: systemClock,
      random: systemRandom,
      post: (message, transfer) => this.#post(message, transfer),
    });
    this.#owned = new OwnedSockets(this.#runtime, (key, error) => this.#warn(this.#acceptErrors.note(key, error)));
  }

  start(): void {
    process.on('uncaughtException', (error) => this.#crash(error));
    process.on('unhandledRejection', (reason) => this.#crash(reason));
    this.#parent.on('message', (message: ControlMessage) => this.#handle(message));
    setInterval(() => this.#beat(), HEARTBEAT_MS);
    this.#beat();
    this.#post({ type: 'ready' });
  }

  #beat(): void {
    this.#table.lanes.add(this.#init.lane, LANE_HEARTBEAT, 1);
  }

  /** One case a message, flat on purpose: the switch is the protocol. */
  #handle(message: ControlMessage): void {
    switch (message.type) {
      case 'table':
        return this.#table.attach(message.chunk);
      case 'members':
        this.#runtime.stageMembers(message.pool, message.members, message.rows);
        return this.#post({ type: 'section-staged', hash: message.pool });
      case 'section':
        return this.#stageSection(message.section, message.rows);
      case 'stage':
        return this.#stage(message.manifest);
      case 'commit':
        this.#runtime.commit(message.generation);
        return this.#post({ type: 'committed', generation: message.generation });
      case 'rollback':
        return this.#runtime.rollback(message.generation);
      case 'endpoints':
        return this.#runtime.updateEndpoints(message.pool, message.member, message.rows);
      case 'pool':
        return this.#runtime.recastPool(message.pool, message.rows);
      case 'listen':
        return this.#listen(message.key, message.server);
      case 'accepted':
        return this.#runtime.accept(message.key, message.socket);
      case 'acceptor':
        return this.#joinAcceptor(message.port);
      case 'give-back':
        return this.#giveBack(message.key);
      case 'bind':
        return void this.#bind(message.id, message.key, message.target);
      case 'open-socket':
        return this.#owned.open(message.id);
      case 'close-socket':
        this.#owned.close(message.id);
        return this.#post({ type: 'socket-closed', id: message.id });
      case 'forget-slots':
        return this.#runtime.forgetSlots(message.slots);
      case 'cut-slots':
        return this.#runtime.cutSlots(message.slots);
      case 'cut-pool':
        return this.#runtime.cutPool(message.pool, message.slots, message.how);
      case 'derived':
        return this.#runtime.derived(message);
      case 'forget-derived':
        return this.#runtime.forgetDerived(message.pools);
      case 'metrics':
        return this.#runtime.metricsAnswered(message.id, message.text);
      case 'challenge':
        return this.#runtime.challengeAnswered(message.id, message.text);
      case 'certificate-answer':
        return this.#runtime.certificateAnswered(message.id, message.certificate);
      case 'certificates':
        return this.#runtime.updateCertificates(message.add, message.drop);
      case 'ticket-keys':
        return this.#runtime.setTicketKeys(message.keys);
      case 'shutting-down':
        return this.#runtime.shuttingDown(message.atMs);
      case 'drain':
        return this.#drain(message.graceMs);
      case 'die':
        return this.#end(0);
    }
  }

  #stageSection(section: Section, rows: PoolRows | null): void {
    try {
      this.#runtime.stageSection(section, rows);
      this.#post({ type: 'section-staged', hash: section.hash });
    } catch (error) {
      this.#post({ type: 'stage-failed', message: describe(error) });
    }
  }

  #stage(manifest: PlanManifest): void {
    try {
      this.#runtime.stage(manifest);
      this.#post({ type: 'staged', generation: manifest.generation });
    } catch (error) {
      this.#post({ type: 'stage-failed', message: describe(error) });
    }
  }

  #listen(key: string, server: Server): void {
    this.#servers.set(key, server);
    server.on('connection', (socket: Socket) => this.#runtime.accept(key, socket));
    server.on('error', (error) => this.#warn(this.#acceptErrors.note(key, error)));
  }

  /** Posts the server in the very callback that asks for it, so that no turn of the loop goes without an acceptor. */
  #giveBack(key: string): void {
    const server = this.#servers.get(key);
    if (server === undefined) return this.#post({ type: 'server', key, server: null });
    this.#servers.delete(key);
    server.removeAllListeners('connection');
    this.#post({ type: 'server', key, server }, [transferable(server)]);
  }

  async #bind(id: string, key: string, target: BindTarget): Promise<void> {
    try {
      const { host, port } = await this.#owned.bind(id, key, target);
      this.#post({ type: 'socket-bound', id, host, port });
    } catch (error) {
      this.#post({ type: 'bind-failed', id, code: codeOf(error), message: describe(error) });
    }
  }

  #joinAcceptor(port: MessagePort): void {
    this.#acceptors.add(port);
    port.on('message', ({ key, socket }: AcceptedMessage) => {
      this.#table.lanes.add(this.#init.lane, LANE_TAKEN, 1);
      this.#runtime.accept(key, socket);
    });
    port.on('messageerror', () => this.#table.lanes.add(this.#init.lane, LANE_TAKEN, 1));
    port.on('close', () => this.#acceptors.delete(port));
  }

  #drain(graceMs: number): void {
    void this.#runtime.drain(graceMs).then((reset) => this.#post({ type: 'drained', reset }));
  }

  #crash(reason: unknown): void {
    const stack = reason instanceof Error ? (reason.stack ?? '') : '';
    try {
      this.#post({ type: 'crashed', message: describe(reason), stack });
    } finally {
      this.#end(CRASH_EXIT_CODE);
    }
  }

  /**
   * The last act. Listening servers and sockets not looked at yet go back, so that nobody who waits
   * in a backlog notices; everything else is reset, because a thread that just ends closes with FIN,
   * which makes a cut response look whole.
   */
  #end(exitCode: number): void {
    try {
      this.#table.lanes.store(this.#init.lane, LANE_CLOSED, 1);
      for (const key of [...this.#servers.keys()]) this.#giveBack(key);
      this.#returnHanded();
      this.#returnPosted();
    } finally {
      try {
        this.#runtime.resetAll();
      } finally {
        process.exit(exitCode);
      }
    }
  }

  /**
   * Sends back what the acceptor handed over. It adds to LANE_HANDED first and looks at LANE_CLOSED
   * then, this thread the other way round: so every socket is either kept there or waited for here.
   */
  #returnHanded(): void {
    const { lane } = this.#init;
    const until = systemClock.now() + MAX_ARRIVAL_MS;
    const sleeper = new Int32Array(new SharedArrayBuffer(4));
    while (this.#table.lanes.load(lane, LANE_TAKEN) < this.#table.lanes.load(lane, LANE_HANDED)) {
      for (const port of this.#acceptors) this.#returnWaiting(port);
      if (systemClock.now() > until) return;
      Atomics.wait(sleeper, 0, 0, 1);
    }
  }

  #returnWaiting(port: MessagePort): void {
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
      const { key, socket } = next.message as AcceptedMessage;
      this.#table.lanes.add(this.#init.lane, LANE_TAKEN, 1);
      this.#post({ type: 'orphan', key, socket }, [transferable(socket)]);
    }
  }

  /** Sends back servers and sockets that the control plane posted and this thread has not seen yet. */
  #returnPosted(): void {
    for (let next = receiveMessageOnPort(this.#parent); next !== undefined; next = receiveMessageOnPort(this.#parent)) {
      const message = next.message as ControlMessage;
      if (message.type === 'listen') {
        this.#servers.set(message.key, message.server);
        this.#giveBack(message.key);
      } else if (message.type === 'accepted') {
        const { key, socket } = message;
        this.#post({ type: 'orphan', key, socket }, [transferable(socket)]);
      }
    }
  }

  #warn(message: string): void {
    if (message !== '') this.#post({ type: 'log', level: 'warn', message, fields: { worker: this.#init.name } });
  }

  #post(message: WorkerMessage, transfer: readonly Transferable[] = []): void {
    this.#parent.postMessage(message, transfer);
  }
}

function describe(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
