import type { Server } from 'node:net';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/log.ts';
import type { ListenerSpec } from '../compile/compiled.ts';
import { bindAll, bindHosts, explain, type ListenAddress } from './bind.ts';
import { listenOn, type BoundSocket } from './bound-socket.ts';
import type { Listener, Seat, ServerTaker } from './listener.ts';
import type { Lobby } from './lobby.ts';

export interface ListenersDeps {
  /** Worker positions: servers of a `kernel` listener. */
  readonly positions: number;
  readonly reusePort: boolean;
  readonly lobby: Lobby;
  readonly clock: Clock;
  readonly log: Logger;
  /** Who accepts at a position now; null while nobody serves there. */
  holderOf(spec: ListenerSpec, position: number): ServerTaker | null;
}

/** A listener that is bound and not in force. */
interface StagedListener {
  readonly spec: ListenerSpec;
  readonly address: ListenAddress;
  readonly bound: readonly BoundSocket[];
}

/** What `stage` prepared; ends with `commit` or `rollback`. */
export interface ListenerChange {
  readonly added: readonly StagedListener[];
  readonly removed: readonly Listener[];
  /** Filled by `open`. */
  readonly opened: Listener[];
}

/** Identity of a listener over reloads. Another accept mode is another listener on the same address. */
function identity(spec: ListenerSpec): string {
  return `${spec.key} ${spec.accept}`;
}

/** All listening addresses of the process: staged, put in force, moved between threads, closed. */
export class Listeners {
  readonly #deps: ListenersDeps;
  #listeners: ReadonlyMap<string, Listener> = new Map();

  constructor(deps: ListenersDeps) {
    this.#deps = deps;
  }

  addresses(): ReadonlyMap<string, ListenAddress> {
    return new Map([...this.#listeners.values()].map(({ spec, address }) => [spec.key, address]));
  }

  get hasShared(): boolean {
    return [...this.#listeners.values()].some(({ spec }) => spec.accept === 'shared');
  }

  /** Binds what is new. Throws `ListenError` and leaves nothing bound when one address fails. */
  async stage(specs: readonly ListenerSpec[]): Promise<ListenerChange> {
    const wanted = new Set(specs.map(identity));
    const fresh = specs.filter((spec) => !this.#listeners.has(identity(spec)));
    const hosts = await Promise.all(fresh.map(({ host }) => bindHosts(host)));
    const added: StagedListener[] = [];
    try {
      fresh.forEach((spec, index) => added.push(this.#bind(spec, hosts[index] ?? [])));
    } catch (error) {
      closeBound(added);
      throw error;
    }
    const removed = [...this.#listeners.values()].filter(({ spec }) => !wanted.has(identity(spec)));
    return { added, removed, opened: [] };
  }

  /** Takes the servers of removed listeners back to the main thread, where they go on accepting, and empties their backlogs. */
  async recall({ removed }: ListenerChange): Promise<void> {
    if (removed.length > 0) await this.#recallAll(removed);
  }

  /**
   * Makes the staged sockets listen. Throws `ListenError` when one fails; `rollback` is due then.
   * No turn of the event loop passes in here, so nothing is accepted before `commit`.
   */
  async open(change: ListenerChange): Promise<void> {
    for (const { spec, address, bound } of change.added) {
      const seats: Seat[] = [];
      change.opened.push({ spec, address, seats });
      for (const socket of bound) seats.push({ server: await this.#listen(socket, spec), holder: null });
    }
  }

  /** The plan is on its way to the workers: the new servers follow it, the removed ones close. */
  commit(change: ListenerChange): void {
    const next = new Map(this.#listeners);
    for (const listener of change.removed) {
      next.delete(identity(listener.spec));
      closeSeats(listener, this.#deps.lobby);
    }
    for (const listener of change.opened) {
      next.set(identity(listener.spec), listener);
      listener.seats.forEach((seat, position) => this.#place(listener, seat, position));
    }
    this.#listeners = next;
  }

  /** Back to what was: staged sockets are closed, recalled servers return to their threads. */
  rollback(change: ListenerChange): void {
    closeBound(change.added);
    for (const listener of change.opened) closeSeats(listener, this.#deps.lobby);
    for (const listener of change.removed) this.#placeParked(listener);
  }

  /** A server came back from a thread (asked for, or with its last act): the main thread accepts on it from here on. */
  returned(holder: ServerTaker, key: string, server: Server): void {
    const seat = this.#seatsOf(holder, key)[0];
    if (seat === undefined) {
      server.close();
      return;
    }
    seat.holder = null;
    seat.server = server;
    this.#deps.lobby.park(key, server);
  }

  /** Somebody serves at a position again: gives it every server parked there. */
  settle(): void {
    for (const listener of this.#listeners.values()) this.#placeParked(listener);
  }

  /** Moves the servers of one thread to whoever serves at its position now. Connections made meanwhile are passed on. */
  async handOver(holder: ServerTaker): Promise<void> {
    const held = [...this.#listeners.values()].filter(({ seats }) => seats.some((seat) => seat.holder === holder));
    // A thread that ends meanwhile gave its servers back with its last act, or `restore` binds them anew.
    await Promise.allSettled(held.map((listener) => this.#moveSeats(listener, holder)));
  }

  /**
   * A thread is gone. What it did not give back, and what could not be bound the last time, is bound
   * anew; rejects with `ListenError` when that fails.
   */
  async restore(holder: ServerTaker): Promise<void> {
    for (const listener of this.#listeners.values()) {
      for (const seat of listener.seats) {
        if (seat.holder === holder) seat.holder = null;
        if (seat.holder === null && seat.server === null) await this.#rebind(listener, seat);
      }
    }
  }

  /** Takes everything back and closes it. What was accepted until then has gone to a worker. */
  async close(): Promise<void> {
    const listeners = [...this.#listeners.values()];
    await this.#recallAll(listeners);
    for (const listener of listeners) closeSeats(listener, this.#deps.lobby);
    this.#listeners = new Map();
  }

  #bind(spec: ListenerSpec, hosts: readonly string[]): StagedListener {
    const bound = bindAll({
      configured: spec,
      hosts,
      count: spec.accept === 'shared' ? 1 : this.#deps.positions,
      held: this.#holdsPort(spec.port),
      reusePort: this.#deps.reusePort,
    });
    const { address, port } = bound[0]!.address();
    return { spec, address: { host: address, port }, bound };
  }

  /** Also true for another host on the port: `:80` and `127.0.0.1:80` are in each other's way without SO_REUSEPORT. */
  #holdsPort(port: number): boolean {
    return port !== 0 && [...this.#listeners.values()].some(({ address }) => address.port === port);
  }

  async #listen(bound: BoundSocket, spec: ListenerSpec): Promise<Server> {
    try {
      return await listenOn(bound);
    } catch (error) {
      throw explain(error, spec);
    }
  }

  #place(listener: Listener, seat: Seat, position: number): void {
    const { server } = seat;
    if (server === null) return;
    const holder = this.#deps.holderOf(listener.spec, position);
    this.#deps.lobby.unpark(server);
    if (holder === null) return this.#deps.lobby.park(listener.spec.key, server);
    holder.takeServer(listener.spec.key, server);
    seat.server = null;
    seat.holder = holder;
  }

  #placeParked(listener: Listener): void {
    listener.seats.forEach((seat, position) => this.#place(listener, seat, position));
  }

  async #moveSeats(listener: Listener, holder: ServerTaker): Promise<void> {
    await holder.giveBack(listener.spec.key);
    this.#placeParked(listener);
  }

  async #recallAll(listeners: readonly Listener[]): Promise<void> {
    await Promise.all(listeners.map((listener) => this.#recallListener(listener)));
    await this.#deps.lobby.settle(this.#deps.clock);
  }

  async #recallListener({ spec, seats }: Listener): Promise<void> {
    const asked = seats.map(({ holder }) => holder?.giveBack(spec.key));
    // A thread that ends meanwhile gave its servers back with its last act, or they are gone: both are fine here.
    await Promise.allSettled(asked);
  }

  #seatsOf(holder: ServerTaker, key: string): readonly Seat[] {
    const listeners = [...this.#listeners.values()].filter(({ spec }) => spec.key === key);
    return listeners.flatMap(({ seats }) => seats.filter((seat) => seat.holder === holder));
  }

  async #rebind({ spec, address }: Listener, seat: Seat): Promise<void> {
    const request = {
      configured: address,
      hosts: [address.host],
      count: 1,
      held: true,
      reusePort: this.#deps.reusePort,
    };
    const [bound] = bindAll(request);
    seat.server = await this.#listen(bound!, spec);
    this.#deps.lobby.park(spec.key, seat.server);
    this.#deps.log.warn('a listening socket died with its worker and was opened anew', { listener: spec.key });
  }
}

function closeBound(staged: readonly StagedListener[]): void {
  for (const { bound } of staged) for (const socket of bound) closeQuietly(socket);
}

/** A socket that a server has adopted cannot be closed by its old name; the server closes it. */
function closeQuietly(socket: BoundSocket): void {
  try {
    socket.close();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SOCKET_HANDLE_ADOPTED')) throw error;
  }
}

function closeSeats({ seats }: Listener, lobby: Lobby): void {
  for (const seat of seats) {
    if (seat.server !== null) lobby.unpark(seat.server).close();
    seat.server = null;
    seat.holder = null;
  }
}
