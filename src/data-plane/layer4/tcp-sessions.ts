/** The TCP connections of a worker's layer-4 servers. */
import type { Socket } from 'node:net';
import { resetSocket } from '../../shared/net/reset.ts';
import type { SectionHash, SlotIndex } from '../../shared/plan/types.ts';
import { SERVER_CONNECTIONS_ACCEPTED } from '../../shared/state-table/layout.ts';
import type { Place } from '../admission.ts';
import { inBatches } from '../in-batches.ts';
import type { Generation } from '../server.ts';
import type { Layer4Server } from './server.ts';
import { TcpSession, type SessionOwner } from './tcp-session.ts';
import type { Layer4World } from './world.ts';

export class TcpSessions implements SessionOwner {
  readonly #world: Layer4World;
  readonly #open = new Set<TcpSession>();
  /** Runs whenever the last one has ended. */
  readonly #onEmpty: () => void;

  constructor(world: Layer4World, onEmpty: () => void) {
    this.#world = world;
    this.#onEmpty = onEmpty;
  }

  get size(): number {
    return this.#open.size;
  }

  /** A limit that is reached resets the connection: at this layer there are no words to refuse it with. */
  accept(server: Layer4Server, generation: Generation, socket: Socket): void {
    const { admission, newRate, servers } = this.#world;
    const { limits, newPerSecond } = server.options;
    let place: Place | null = null;
    if (!newRate.admit(server.row, newPerSecond)) return refuse(socket);
    if (limits !== null) {
      place = admission.take(server.row, limits, socket.remoteAddress ?? '');
      if (place === null) return refuse(socket);
    }
    servers.count(server.row, SERVER_CONNECTIONS_ACCEPTED, 1);
    this.#world.countConnections(1);
    const session = new TcpSession(this, this.#world, server, generation, socket, place);
    this.#open.add(session);
    session.start();
  }

  sessionClosed(session: TcpSession): void {
    if (!this.#open.delete(session)) return;
    if (session.place !== null) this.#world.admission.leave(session.place);
    this.#world.countConnections(-1);
    if (this.#open.size === 0) this.#onEmpty();
  }

  /**
   * Those on these slots leave their servers, see `TcpSession.leave`. `pool`: only connections whose server was picked
   * from it. Returns how many there were.
   */
  cut(slots: readonly SlotIndex[], how: 'finish' | 'reset', pool: SectionHash | null = null): number {
    const left = new Set(slots);
    const mustLeave = (session: TcpSession): boolean =>
      left.has(session.slot) && (pool === null || session.pool === pool);
    const cut = [...this.#open].filter(mustLeave);
    inBatches(this.#world.clock, cut, (session) => {
      // While others were cut it may have ended, or gone elsewhere.
      if (this.#open.has(session) && mustLeave(session)) session.leave(how);
    });
    return cut.length;
  }

  /** All sides of all connections see a reset. */
  abortAll(): void {
    for (const session of [...this.#open]) session.abort();
  }
}

function refuse(socket: Socket): void {
  socket.on('error', () => {});
  resetSocket(socket);
}
