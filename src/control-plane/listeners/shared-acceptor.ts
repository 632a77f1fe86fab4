import type { Server } from 'node:net';
import { MessageChannel } from 'node:worker_threads';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/log.ts';
import type { AcceptorControl, AcceptorInit, AcceptorReply } from '../../shared/messages.ts';
import { transferable } from '../../shared/net/transfer.ts';
import { LANE_HANDED, LANE_TAKEN } from '../../shared/state-table/layout.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import type { DataWorker } from '../workers/data-worker.ts';
import { openWorker } from '../workers/open-worker.ts';
import { RestartBudget } from '../workers/restart-budget.ts';
import { Thread } from '../workers/thread.ts';
import type { ServerTaker } from './listener.ts';
import type { Lobby } from './lobby.ts';

const ANSWER_TIMEOUT_MS = 5000;
/** Sockets on their way to a worker arrive within this time, unless it hangs. */
const ARRIVAL_MS = 1000;
const ARRIVAL_POLL_MS = 5;

export interface SharedAcceptorDeps {
  readonly entry: URL;
  readonly env: Readonly<Record<string, string>>;
  readonly table: StateTable;
  readonly clock: Clock;
  readonly log: Logger;
  readonly lobby: Lobby;
  /** Workers that serve now: a new acceptor thread joins them all. */
  workers(): readonly DataWorker[];
  onServer(holder: ServerTaker, key: string, server: Server): void;
  /** The thread is gone; servers it did not give back have to be bound anew. */
  onGone(holder: ServerTaker): Promise<void>;
  /** The thread accepts (again). */
  onReady(): void;
}

/** The acceptor thread of accept mode `shared`, as the control plane speaks to it. Opened at first need. */
export class SharedAcceptor implements ServerTaker {
  readonly #deps: SharedAcceptorDeps;
  readonly #budget: RestartBudget;
  #thread: Thread<AcceptorControl, AcceptorReply> | null = null;
  #ready = false;
  #stopped = false;

  constructor(deps: SharedAcceptorDeps) {
    this.#deps = deps;
    this.#budget = new RestartBudget(deps.clock);
  }

  get ready(): boolean {
    return this.#ready;
  }

  /** Opens the thread if there is none. */
  async ensure(): Promise<void> {
    if (this.#thread !== null || this.#stopped) return;
    const thread = this.#open();
    this.#thread = thread;
    await thread.answer('start', ANSWER_TIMEOUT_MS, ({ type }) => type === 'ready');
    this.#ready = true;
    for (const worker of this.#deps.workers()) this.join(worker);
    this.#deps.onReady();
  }

  join(worker: DataWorker): void {
    if (!this.#ready) return;
    const { port1, port2 } = new MessageChannel();
    this.#thread?.post({ type: 'join', lane: worker.lane, port: port1 }, [port1]);
    worker.takePort(port2);
  }

  /** Resolves when nothing more is sent to the worker and what was sent has arrived (or it is dead). */
  async leave(worker: DataWorker): Promise<void> {
    const thread = this.#thread;
    if (thread === null || !this.#ready) return;
    const left = thread.answer(
      'leave',
      ANSWER_TIMEOUT_MS,
      (reply) => reply.type === 'left' && reply.lane === worker.lane,
    );
    thread.post({ type: 'leave', lane: worker.lane });
    await left.catch((error: Error) => this.#deps.log.warn(error.message));
    await this.#arrived(worker);
  }

  takeServer(key: string, server: Server): void {
    this.#thread?.post({ type: 'listen', key, server }, [transferable(server)]);
  }

  async giveBack(key: string): Promise<void> {
    const answered = this.#thread?.answer('give-back', ANSWER_TIMEOUT_MS, (reply) => {
      return reply.type === 'server' && reply.key === key;
    });
    this.#thread?.post({ type: 'give-back', key });
    await answered;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#thread?.post({ type: 'die' });
    await this.#thread?.exited;
  }

  async #arrived({ lane, thread }: DataWorker): Promise<void> {
    const { lanes } = this.#deps.table;
    const until = this.#deps.clock.now() + ARRIVAL_MS;
    while (thread.alive && lanes.load(lane, LANE_TAKEN) < lanes.load(lane, LANE_HANDED)) {
      if (this.#deps.clock.now() > until) return;
      await new Promise<void>((resolve) => this.#deps.clock.after(ARRIVAL_POLL_MS, resolve));
    }
  }

  #open(): Thread<AcceptorControl, AcceptorReply> {
    const { table, entry, env, clock, log } = this.#deps;
    const init: AcceptorInit = { name: 'acceptor', chunks: table.chunks.filter(({ kind }) => kind === 'lane') };
    return new Thread(openWorker(entry, init.name, init, env), {
      name: init.name,
      clock,
      onMessage: (reply: AcceptorReply) => this.#receive(reply),
      onError: (error) => log.error('the acceptor thread failed', { error: error.message }),
      onExit: () => void this.#gone(),
    });
  }

  #receive(reply: AcceptorReply): void {
    const { log, lobby } = this.#deps;
    switch (reply.type) {
      case 'server':
        if (reply.server !== null) this.#deps.onServer(this, reply.key, reply.server);
        return;
      case 'orphan':
        return lobby.admit(reply.key, reply.socket);
      case 'warning':
        return log.warn(reply.message);
      case 'crashed':
        return log.error(`the acceptor thread threw: ${reply.message}`, { stack: reply.stack });
      case 'ready':
      case 'left':
    }
  }

  /** Its servers are in the main thread by now, which passes sockets on until the next thread is ready. */
  async #gone(): Promise<void> {
    this.#thread = null;
    this.#ready = false;
    if (this.#stopped) return;
    await this.#deps.onGone(this);
    this.#deps.clock.after(this.#budget.noteEnd(), () => {
      this.ensure().catch((error: Error) =>
        this.#deps.log.error('the acceptor thread did not start', { error: error.message }),
      );
    });
  }
}
