/**
 * Which server gave out which QUIC connection id. A server names its id in the handshake, in plain bytes, and the client
 * calls it by that from then on, from whatever address. Ids that a server gives out later are encrypted: a client
 * that changes to one of those and its address at the same time is not recognised.
 */
import type { PoolView } from '../../select/policy.ts';
import { hasLongHeader, readLongHeader } from '../quic-packet.ts';

/** A shorter id would be found by chance in datagrams of others. */
const MIN_ID_BYTES = 4;
/** Longest id of QUIC version 1 and 2 (RFC 9000 section 17.2). */
const MAX_ID_BYTES = 20;

/** A server, as both its address and its configured text say. */
export interface ConnectionHome {
  readonly slot: number;
  readonly identity: string;
}

/** Members whose endpoints are known by slot: what a pool is here. */
interface Members extends Pick<PoolView, 'size' | 'identity'> {
  endpointsOf(position: number): readonly { readonly slot: number }[];
}

export class QuicConnections {
  /** Ids that may be known at the same time; the one that was used longest ago makes room. */
  capacity: number;
  /** By id, one character a byte, in the order of use. */
  readonly #homes = new Map<string, ConnectionHome>();
  /** Known ids of each length: a short header does not tell how long its id is. */
  readonly #lengths = new Uint32Array(MAX_ID_BYTES + 1);

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get size(): number {
    return this.#homes.size;
  }

  /** HOT: a datagram of a server. After the handshake it costs a look at one byte. */
  learn(datagram: Buffer, home: ConnectionHome): void {
    if (!hasLongHeader(datagram)) return;
    const header = readLongHeader(datagram);
    if (header === null || header.version === 0) return;
    const { source } = header;
    if (source.length < MIN_ID_BYTES || source.length > MAX_ID_BYTES) return;
    const { slot, identity } = home;
    this.#keep(source.toString('latin1'), { slot, identity });
  }

  /** Where the connection of a client's datagram is; null = unknown. */
  find(datagram: Buffer): ConnectionHome | null {
    if (hasLongHeader(datagram)) {
      const header = readLongHeader(datagram);
      return header === null ? null : this.#use(header.destination.toString('latin1'));
    }
    for (let length = MAX_ID_BYTES; length >= MIN_ID_BYTES; length -= 1) {
      if (this.#lengths[length] === 0 || datagram.length <= length) continue;
      const home = this.#use(datagram.toString('latin1', 1, 1 + length));
      if (home !== null) return home;
    }
    return null;
  }

  /** The same as a position of the pool; −1 = unknown, or the pool has no such server. */
  positionOf(datagram: Buffer, pool: Members): number {
    const home = this.find(datagram);
    if (home === null) return -1;
    for (let position = 0; position < pool.size; position += 1) {
      if (pool.identity(position) !== home.identity) continue;
      if (pool.endpointsOf(position).some(({ slot }) => slot === home.slot)) return position;
    }
    return -1;
  }

  #use(id: string): ConnectionHome | null {
    const home = this.#homes.get(id);
    if (home === undefined) return null;
    this.#homes.delete(id);
    this.#homes.set(id, home);
    return home;
  }

  #keep(id: string, home: ConnectionHome): void {
    if (this.#homes.delete(id)) {
      this.#homes.set(id, home);
      return;
    }
    this.#homes.set(id, home);
    this.#lengths[id.length]! += 1;
    for (const oldest of this.#homes.keys()) {
      if (this.#homes.size <= this.capacity) return;
      this.#homes.delete(oldest);
      this.#lengths[oldest.length]! -= 1;
    }
  }
}
