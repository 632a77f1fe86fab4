/**
 * How many client connections a server takes. Of a server without such limits nothing is counted, so a
 * limit that a reload brings counts the connections accepted from then on.
 */
import type { Socket } from 'node:net';
import type { Clock } from '../shared/clock.ts';
import { parseIp } from '../shared/net/ip.ts';
import { resetSocket } from '../shared/net/reset.ts';
import type { ConnectionLimits } from '../shared/plan/types.ts';
import {
  LIMIT_CONNECTIONS,
  LIMIT_CONNECTIONS_PER_SOURCE,
  SERVER_CONNECTIONS,
  SERVER_LIMITS,
} from '../shared/state-table/layout.ts';
import type { StateTable } from '../shared/state-table/table.ts';
import { errorText } from './proxy/error-response.ts';

/** Refused connections that are told why at the same time; any more are reset. */
const MAX_FAREWELLS = 64;
/** A client that does not close after the answer is reset. */
const FAREWELL_MS = 1000;
/** Bytes of an IPv6 address that name its source: one customer has a /64 at least (RFC 6177). */
const IPV6_SOURCE_BYTES = 8;

/** A place taken; give it back when the connection ends. */
export interface Place {
  readonly row: number;
  /** '' when its source is not counted. */
  readonly source: string;
}

export interface AdmissionDeps {
  readonly clock: Clock;
  readonly table: StateTable;
  readonly lane: number;
}

export class Admission {
  readonly #deps: AdmissionDeps;
  /** Open connections by server row and source, of this worker. */
  readonly #bySource = new Map<string, number>();
  readonly #farewells = new Set<Socket>();

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
  }

  /** Takes a place for an HTTP connection, or sees it off and returns null. A client that wants TLS cannot be told why. */
  admit(row: number, limits: ConnectionLimits, socket: Socket, isTls: boolean = false): Place | null {
    const place = this.take(row, limits, socket.remoteAddress ?? '');
    if (place === null && isTls) cut(socket);
    else if (place === null) this.#refuse(socket);
    return place;
  }

  /** Takes a place for somebody from this address; null = a limit is reached, and counted. */
  take(row: number, limits: ConnectionLimits, address: string): Place | null {
    const source = limits.perSource > 0 ? sourceOf(row, address) : '';
    const refusedBy = this.#take(row, limits, source);
    if (refusedBy < 0) return { row, source };
    this.#deps.table.servers(this.#deps.lane).count(row, SERVER_LIMITS + refusedBy, 1);
    return null;
  }

  leave({ row, source }: Place): void {
    this.#deps.table.servers(this.#deps.lane).add(row, SERVER_CONNECTIONS, -1);
    if (source === '') return;
    const left = this.#bySource.get(source)! - 1;
    if (left > 0) this.#bySource.set(source, left);
    else this.#bySource.delete(source);
  }

  /** The thread ends. */
  resetAll(): void {
    for (const socket of [...this.#farewells]) resetSocket(socket);
  }

  /** Returns the limit that is reached, −1 = none and the place is taken. */
  #take(row: number, limits: ConnectionLimits, source: string): number {
    const { table, lane } = this.#deps;
    const fromSource = source === '' ? 0 : (this.#bySource.get(source) ?? 0);
    if (source !== '' && fromSource >= limits.perSource) return LIMIT_CONNECTIONS_PER_SOURCE;
    // Counted in first and summed then: workers that race see each other, so the limit is never exceeded.
    table.servers(lane).add(row, SERVER_CONNECTIONS, 1);
    if (limits.total > 0 && connectionsOf(table, row) > limits.total) {
      table.servers(lane).add(row, SERVER_CONNECTIONS, -1);
      return LIMIT_CONNECTIONS;
    }
    if (source !== '') this.#bySource.set(source, fromSource + 1);
    return -1;
  }

  /** 503 and the end, without reading what the client sends; a flood is only reset. */
  #refuse(socket: Socket): void {
    socket.on('error', () => {});
    if (this.#farewells.size >= MAX_FAREWELLS) {
      resetSocket(socket);
      return;
    }
    this.#farewells.add(socket);
    const timer = this.#deps.clock.after(FAREWELL_MS, () => resetSocket(socket));
    socket.on('close', () => {
      timer.cancel();
      this.#farewells.delete(socket);
    });
    const { lines, body } = errorText(503, this.#deps.clock.wall());
    // Read and dropped: unread bytes would turn the close into a reset that eats the answer.
    socket.resume();
    socket.end(`HTTP/1.1 503 Service Unavailable\r\n${lines}Connection: close\r\n\r\n${body}`, 'latin1');
  }
}

function cut(socket: Socket): void {
  socket.on('error', () => {});
  resetSocket(socket);
}

function connectionsOf(table: StateTable, row: number): number {
  let sum = 0;
  for (let lane = 0; lane < table.laneCount; lane += 1) {
    const rows = table.servers(lane);
    if (rows.capacity > row) sum += rows.load(row, SERVER_CONNECTIONS);
  }
  return sum;
}

/** '' for a peer without an IP address. */
function sourceOf(row: number, address: string): string {
  const ip = parseIp(address);
  if (ip === null) return '';
  return `${row} ${ip.family === 4 ? ip.text : ip.bytes.subarray(0, IPV6_SOURCE_BYTES).join('.')}`;
}
