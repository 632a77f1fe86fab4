/**
 * Entry of the acceptor thread (accept mode `shared`): accepts on the listening servers it is handed
 * and gives every socket to the worker with the fewest connections.
 */
import type { Server, Socket } from 'node:net';
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { systemClock } from '../shared/clock.ts';
import type { AcceptorControl, AcceptorInit, AcceptorReply } from '../shared/messages.ts';
import { resetSocket } from '../shared/net/reset.ts';
import { transferable } from '../shared/net/transfer.ts';
import { LANE_CLOSED, LANE_CONNECTIONS, LANE_HANDED, LANE_TAKEN } from '../shared/state-table/layout.ts';
import { StateTable } from '../shared/state-table/table.ts';
import { AcceptErrors } from './accept-errors.ts';

/** Sockets kept while no worker serves; more are reset. */
const MAX_WAITING = 1024;
/**
 * A worker that has this many sockets on their way takes part again only when all have: it may hang,
 * and what is sent to a hung worker is lost with it.
 */
const MAX_ON_THE_WAY = 8;
/** Exit code of a thread that threw (EX_SOFTWARE of sysexits.h). */
const CRASH_EXIT_CODE = 70;

interface Waiting {
  readonly key: string;
  readonly socket: Socket;
}

class Acceptor {
  readonly #parent: MessagePort;
  readonly #table: StateTable = new StateTable();
  readonly #servers = new Map<string, Server>();
  readonly #workers = new Map<number, MessagePort>();
  readonly #acceptErrors = new AcceptErrors(systemClock);
  #waiting: Waiting[] = [];

  constructor(parent: MessagePort, init: AcceptorInit) {
    this.#parent = parent;
    for (const chunk of init.chunks) this.#table.attach(chunk);
  }

  start(): void {
    process.on('uncaughtException', (error) => this.#crash(error));
    process.on('unhandledRejection', (reason) => this.#crash(reason));
    this.#parent.on('message', (message: AcceptorControl) => this.#handle(message));
    this.#reply({ type: 'ready' });
  }

  #handle(message: AcceptorControl): void {
    switch (message.type) {
      case 'listen':
        return this.#listen(message.key, message.server);
      case 'give-back':
        return this.#giveBack(message.key);
      case 'join':
        return this.#join(message.lane, message.port);
      case 'leave':
        return this.#leave(message.lane);
      case 'die':
        return this.#end(0);
    }
  }

  #listen(key: string, server: Server): void {
    this.#servers.set(key, server);
    server.on('connection', (socket: Socket) => this.#dispatch({ key, socket }));
    server.on('error', (error) => {
      const message = this.#acceptErrors.note(key, error);
      if (message !== '') this.#reply({ type: 'warning', message });
    });
  }

  #giveBack(key: string): void {
    const server = this.#servers.get(key) ?? null;
    this.#servers.delete(key);
    server?.removeAllListeners('connection');
    this.#parent.postMessage(
      { type: 'server', key, server } satisfies AcceptorReply,
      server ? [transferable(server)] : [],
    );
  }

  #join(lane: number, port: MessagePort): void {
    this.#workers.set(lane, port);
    port.on('close', () => {
      if (this.#workers.get(lane) === port) this.#workers.delete(lane);
    });
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) this.#dispatch(one);
  }

  #leave(lane: number): void {
    const port = this.#workers.get(lane);
    this.#workers.delete(lane);
    port?.close();
    this.#reply({ type: 'left', lane });
  }

  /** Announces the socket before it looks whether the worker is still open: see `returnHanded` of the worker. */
  #dispatch(accepted: Waiting): void {
    const lane = this.#choose();
    const port = this.#workers.get(lane);
    if (port === undefined) return this.#wait(accepted);
    this.#table.lanes.add(lane, LANE_HANDED, 1);
    if (this.#table.lanes.load(lane, LANE_CLOSED) === 1) {
      this.#table.lanes.add(lane, LANE_HANDED, -1);
      this.#workers.delete(lane);
      return this.#dispatch(accepted);
    }
    try {
      port.postMessage(accepted, [transferable(accepted.socket)]);
    } catch {
      // A socket whose handle has gone in the meantime cannot be transferred; its client has gone too.
      this.#table.lanes.add(lane, LANE_HANDED, -1);
      accepted.socket.destroy();
    }
  }

  /** The lane with the fewest connections, those on the way to it included; −1 when there is none. */
  #choose(): number {
    let best = -1;
    let bestLoad = Infinity;
    for (const lane of this.#workers.keys()) {
      const onTheWay = this.#table.lanes.load(lane, LANE_HANDED) - this.#table.lanes.load(lane, LANE_TAKEN);
      const penalty = onTheWay >= MAX_ON_THE_WAY ? 1e9 : 0;
      const load = this.#table.lanes.load(lane, LANE_CONNECTIONS) + onTheWay + penalty;
      if (load < bestLoad) [best, bestLoad] = [lane, load];
    }
    return best;
  }

  #wait(accepted: Waiting): void {
    accepted.socket.on('error', () => {});
    if (this.#waiting.length >= MAX_WAITING) resetSocket(accepted.socket);
    else this.#waiting.push(accepted);
  }

  #crash(reason: unknown): void {
    const message = reason instanceof Error ? reason.message : String(reason);
    const stack = reason instanceof Error ? (reason.stack ?? '') : '';
    this.#reply({ type: 'crashed', message, stack });
    this.#end(CRASH_EXIT_CODE);
  }

  /** Servers and waiting sockets go back: an acceptor that ends loses nobody. */
  #end(exitCode: number): void {
    try {
      for (const key of [...this.#servers.keys()]) this.#giveBack(key);
      for (const { key, socket } of this.#waiting) {
        this.#parent.postMessage({ type: 'orphan', key, socket } satisfies AcceptorReply, [transferable(socket)]);
      }
    } finally {
      process.exit(exitCode);
    }
  }

  #reply(reply: AcceptorReply): void {
    this.#parent.postMessage(reply);
  }
}

if (parentPort === null) throw new Error('the acceptor runs in a worker thread only');
new Acceptor(parentPort, workerData as AcceptorInit).start();
