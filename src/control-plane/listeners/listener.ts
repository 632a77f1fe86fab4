import type { Server } from 'node:net';
import type { ListenerSpec } from '../compile/compiled.ts';
import type { ListenAddress } from './bind.ts';

/** A thread that accepts: a worker, or the acceptor. */
export interface ServerTaker {
  takeServer(key: string, server: Server): void;
  /** The server comes back as a message; rejects when the thread ends first. */
  giveBack(key: string): Promise<void>;
}

/** One listening server of a listener: in the main thread, with a thread, or lost with it. */
export interface Seat {
  /** Set while it is in the main thread. */
  server: Server | null;
  /** Set while a thread has it. */
  holder: ServerTaker | null;
}

/** One address in force. `kernel` has a seat for every worker position, `shared` one for the acceptor. */
export interface Listener {
  readonly spec: ListenerSpec;
  /** Port 0 resolved; the IP address for the empty host. */
  readonly address: ListenAddress;
  readonly seats: readonly Seat[];
}
