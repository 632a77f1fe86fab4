import type { Server, Socket } from 'node:net';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/log.ts';
import { resetSocket } from '../../shared/net/reset.ts';

/** Sockets kept while no worker serves; more are reset. */
const MAX_WAITING = 1024;
/** A backlog that clients fill as fast as it is emptied is given up after this long. */
const MAX_SETTLE_MS = 100;
/** One poll may have begun before the server came; the second one is whole. */
const QUIET_POLLS = 2;

/** Who can take an accepted socket. */
export interface SocketTaker {
  takeSocket(key: string, socket: Socket): void;
}

interface Waiting {
  readonly key: string;
  readonly socket: Socket;
}

/**
 * Where listening servers and accepted sockets stay in the main thread while no worker has them:
 * between two workers, and while a listener closes. What a parked server accepts goes to a worker.
 */
export class Lobby {
  readonly #choose: () => SocketTaker | null;
  readonly #log: Logger;
  #waiting: Waiting[] = [];
  #admitted = 0;

  /** `choose` names the worker for the next socket, null when none serves. */
  constructor(choose: () => SocketTaker | null, log: Logger) {
    this.#choose = choose;
    this.#log = log;
  }

  /** Takes care of a server until `unpark`. */
  park(key: string, server: Server): void {
    setPauseOnConnect(server, true);
    server.on('connection', (socket: Socket) => this.admit(key, socket));
    server.on('error', (error) => this.#log.warn(`could not accept a connection: ${error.message}`, { listener: key }));
  }

  /** The server is about to be transferred, or closed. */
  unpark(server: Server): Server {
    server.removeAllListeners('connection');
    server.removeAllListeners('error');
    setPauseOnConnect(server, false);
    return server;
  }

  /** Passes an accepted socket on, or keeps it until `flush`. */
  admit(key: string, socket: Socket): void {
    this.#admitted += 1;
    const taker = this.#choose();
    if (taker !== null) return forward(taker, key, socket);
    socket.on('error', () => {});
    if (this.#waiting.length >= MAX_WAITING) resetSocket(socket);
    else this.#waiting.push({ key, socket });
  }

  /** Resolves when the backlogs of parked servers are empty: Node accepts one connection a poll. */
  async settle(clock: Clock): Promise<void> {
    const until = clock.now() + MAX_SETTLE_MS;
    let quiet = 0;
    while (quiet < QUIET_POLLS && clock.now() < until) {
      const before = this.#admitted;
      await new Promise<void>((resolve) => clock.afterPoll(resolve));
      quiet = this.#admitted === before ? quiet + 1 : 0;
    }
  }

  /** A worker serves again. */
  flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { key, socket } of waiting) this.admit(key, socket);
  }

  /** Nobody will come: resets what waits. */
  clear(): void {
    for (const { socket } of this.#waiting) resetSocket(socket);
    this.#waiting = [];
  }
}

function forward(taker: SocketTaker, key: string, socket: Socket): void {
  try {
    taker.takeSocket(key, socket);
  } catch {
    // The handle has gone in the meantime, and the client with it: nothing is left to pass on.
    socket.destroy();
  }
}

/** `pauseOnConnect` can be set at creation only by the declarations; Node reads it at every accept. */
function setPauseOnConnect(server: Server, pauseOnConnect: boolean): void {
  Object.assign(server, { pauseOnConnect });
}
