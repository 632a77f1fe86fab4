import type { AddressInfo, Server } from 'node:net';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/log.ts';
import type { ListenerSpec } from '../compile/compiled.ts';
import { bindAll, bindHosts, explain, type ListenAddress, type ListenTarget } from './bind.ts';
import { listenOn, type BoundSocket } from './bound-socket.ts';
import { closedError, inheritedPort, listenOnInherited, ownSocketError, type InheritedSocket } from './inherited.ts';
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
  /** Bound sockets, or the inherited one, which is only looked at before `open`. */
  readonly source: BoundSource | InheritedSocket;
}

interface BoundSource {
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
  /** Descriptors of inherited sockets that were adopted and are closed. */
  readonly #closed = new Set<number>();

  constructor(deps: ListenersDeps) {
    this.#deps = deps;
  }

  addresses(): ReadonlyMap<string, ListenAddress> {
    return new Map([...this.#listeners.values()].map(({ spec, address }) => [spec.key, address]));
  }

  /** Inherited sockets in force that ended with the thread that had them: sentences. */
  lost(): readonly string[] {
    const specs = [...this.#listeners.values()].map(({ spec }) => spec);
    return specs.flatMap(({ key, fd }) => (fd !== null && this.#closed.has(fd) ? [lostText(key)] : []));
  }

  /** Binds what is new. Throws `ListenError` and leaves nothing bound when one address fails. */
  async stage(specs: readonly ListenerSpec[]): Promise<ListenerChange> {
    const wanted = new Set(specs.map(identity));
    const fresh = specs.filter((spec) => !this.#listeners.has(identity(spec)));
    const inherited = await this.#inspect(fresh);
    const here = fresh.filter(({ fd }) => fd === null);
    const hosts = await Promise.all(here.map((spec) => bindHosts(spec)));
    const added: StagedListener[] = [];
    try {
      here.forEach((spec, index) => added.push({ spec, source: this.#bind(spec, hosts[index] ?? []) }));
    } catch (error) {
      closeBound(added);
      throw error;
    }
    const removed = [...this.#listeners.values()].filter(({ spec }) => !wanted.has(identity(spec)));
    // Inherited sockets come last: one that was opened and is rolled back is gone for good.
    return { added: [...added, ...inherited], removed, opened: [] };
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
    for (const { spec, source } of change.added) {
      if ('fd' in source) change.opened.push(await adopt(spec, source));
      else await this.#openBound(change, spec, source);
    }
  }

  /** The plan is on its way to the workers: the new servers follow it, the removed ones close. */
  commit(change: ListenerChange): void {
    const next = new Map(this.#listeners);
    for (const listener of change.removed) {
      next.delete(identity(listener.spec));
      this.#closeSeats(listener);
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
    for (const listener of change.opened) this.#closeSeats(listener);
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
        if (seat.holder !== null || seat.server !== null) continue;
        if (listener.spec.fd === null) await this.#rebind(listener, seat);
        else this.#giveUp(listener.spec.key, listener.spec.fd);
      }
    }
  }

  /** Takes everything back and closes it. What was accepted until then has gone to a worker. */
  async close(): Promise<void> {
    const listeners = [...this.#listeners.values()];
    await this.#recallAll(listeners);
    for (const listener of listeners) this.#closeSeats(listener);
    this.#listeners = new Map();
  }

  /** Throws `ListenError` for a descriptor that cannot be listened on. */
  async #inspect(specs: readonly ListenerSpec[]): Promise<StagedListener[]> {
    const staged: StagedListener[] = [];
    for (const spec of specs) {
      if (spec.fd === null) continue;
      const source = { fd: spec.fd, place: spec.place };
      if (this.#closed.has(spec.fd)) throw closedError(source);
      const port = await inheritedPort(source);
      if (port !== null && this.#holdsPort(port)) throw ownSocketError(source, port);
      staged.push({ spec, source });
    }
    return staged;
  }

  #bind(spec: ListenerSpec, hosts: readonly string[]): BoundSource {
    const bound = bindAll({
      configured: spec,
      hosts,
      count: spec.accept === 'shared' ? 1 : this.#deps.positions,
      held: this.#holdsPort(spec.port),
      reusePort: this.#deps.reusePort,
    });
    const { address, port } = bound[0]!.address();
    return { address: { host: address, port }, bound };
  }

  async #openBound(change: ListenerChange, spec: ListenerSpec, { address, bound }: BoundSource): Promise<void> {
    const seats: Seat[] = [];
    change.opened.push({ spec, address, seats });
    for (const socket of bound) seats.push({ server: await this.#listen(socket, spec), holder: null });
  }

  /** Also true for another host on the port: `:80` and `127.0.0.1:80` are in each other's way without SO_REUSEPORT. */
  #holdsPort(port: number): boolean {
    return port !== 0 && [...this.#listeners.values()].some(({ address }) => address.port === port);
  }

  async #listen(bound: BoundSocket, target: ListenTarget): Promise<Server> {
    try {
      return await listenOn(bound);
    } catch (error) {
      throw explain(error, target);
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
    const asked = seats.flatMap(({ holder }) => (holder === null ? [] : [holder.giveBack(spec.key)]));
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
    seat.server = await this.#listen(bound!, address);
    this.#deps.lobby.park(spec.key, seat.server);
    this.#deps.log.warn('a listening socket died with its worker and was opened anew', { listener: spec.key });
  }

  #giveUp(key: string, fd: number): void {
    if (this.#closed.has(fd)) return;
    this.#closed.add(fd);
    this.#deps.log.error(lostText(key));
  }

  #closeSeats({ spec, seats }: Listener): void {
    if (spec.fd !== null) this.#closed.add(spec.fd);
    for (const seat of seats) {
      if (seat.server !== null) this.#deps.lobby.unpark(seat.server).close();
      seat.server = null;
      seat.holder = null;
    }
  }
}

/** Its address is the one it was bound to before it was passed on. */
async function adopt(spec: ListenerSpec, socket: InheritedSocket): Promise<Listener> {
  const server = await listenOnInherited(socket);
  const { address: host, port } = server.address() as AddressInfo;
  return { spec, address: { host, port }, seats: [{ server, holder: null }] };
}

function lostText(key: string): string {
  return `the inherited socket ${key} ended with the thread that accepted on it (start the process anew to listen on it again)`;
}

function closeBound(staged: readonly StagedListener[]): void {
  for (const { source } of staged) {
    if ('bound' in source) for (const socket of source.bound) closeQuietly(socket);
  }
}

/** A socket that a server has adopted cannot be closed by its old name; the server closes it. */
function closeQuietly(socket: BoundSocket): void {
  try {
    socket.close();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SOCKET_HANDLE_ADOPTED')) throw error;
  }
}
