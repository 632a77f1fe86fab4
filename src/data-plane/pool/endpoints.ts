/**
 * The upstream connections of one worker: idle ones by slot, newest first, and all open ones for
 * drains and crashes. Two connections are interchangeable when they go to the same slot
 * and come from the same `local_address`, and speak TLS and HTTP/2 alike (`leg-endpoints.ts`).
 */
import type { EndpointPlan, SectionHash } from '../../shared/plan/types.ts';
import { FACT_CONNECTIONS, FACT_DIALS, FACT_REUSES } from '../../shared/state-table/layout.ts';
import type { Rows, StateTable } from '../../shared/state-table/table.ts';
import type { Head } from '../http1/head.ts';
import type { HeadLimits } from '../http1/limits.ts';
import { UpstreamConnection } from '../http1/upstream-connection.ts';
import type { UpstreamUser } from '../proxy/sides.ts';
import { ConnectionGate } from './connection-gate.ts';
import { LegEndpoints } from './leg-endpoints.ts';
import { idleKey, type SocketPlan } from './socket-plan.ts';
import type { TlsMemory } from './tls-memory.ts';
import type { TimerWheel } from '../wheel.ts';

/** What every upstream connection of a worker shares. */
export interface UpstreamContext {
  readonly wheel: TimerWheel;
  /** Facts rows of the worker's own lane. */
  readonly facts: Rows;
  readonly table: StateTable;
  /** All upstream sockets of a worker read into this one buffer: reads are synchronous and never nest. */
  readonly readBuffer: Buffer;
  /** Response heads are parsed into this one, for the time of a callback. */
  readonly head: Head;
  readonly tls: TlsMemory;
  /** A connection over TLS or HTTP/2 did not come about, although the address was reached. */
  readonly legFailed: (slot: number, detail: string) => void;
}

/** What is open to an upstream, whatever is spoken over it. */
export interface OpenConnection {
  readonly slot: number;
  readonly idleKey: number | string;
  /** It will not be used again: ends now, or when what runs on it is over. */
  retire(): void;
  /** The drain deadline of its slot passed. */
  cut(): void;
  /** The `drain` of a pool ends what runs on it for that pool; finish: tunnels say goodbye. */
  cutPool(pool: SectionHash, how: 'finish' | 'reset'): void;
  reset(): void;
}

export class Endpoints {
  readonly #context: UpstreamContext;
  /** Idle connections by `idleKey`, the most recently used last. */
  readonly #idle = new Map<number | string, UpstreamConnection[]>();
  readonly #open = new Set<OpenConnection>();
  /** Those over TLS and HTTP/2. */
  readonly legs: LegEndpoints;
  /** null until a pool limits its connections. */
  #gate: ConnectionGate | null = null;

  constructor(context: UpstreamContext) {
    this.#context = context;
    this.legs = new LegEndpoints(this, context);
  }

  /** Of the pools that limit their connections. */
  get gate(): ConnectionGate {
    this.#gate ??= new ConnectionGate(this, this.#context, this.#context.table);
    return this.#gate;
  }

  get open(): ReadonlySet<OpenConnection> {
    return this.#open;
  }

  /**
   * Hands an open connection to `user` by `onConnected` before it returns null, or returns a dial that ends in
   * `onConnected` or `onDialFailed`. `fresh` forbids an idle one.
   */
  connect(
    endpoint: EndpointPlan,
    limits: HeadLimits,
    dialTimeoutMs: number,
    fresh: boolean,
    user: UpstreamUser,
    options: SocketPlan,
  ): UpstreamConnection | null {
    if (!fresh && this.reuse(endpoint, limits, user, options)) return null;
    this.#context.facts.add(endpoint.slot, FACT_CONNECTIONS, 1);
    return this.dialCounted(endpoint, limits, dialTimeoutMs, user, options);
  }

  /** Hands an idle connection to `user`, if there is one. */
  reuse(endpoint: EndpointPlan, limits: HeadLimits, user: UpstreamUser, options: SocketPlan): boolean {
    const idle = this.takeIdle(endpoint, idleKey(endpoint.slot, options.localAddress));
    if (idle === undefined) return false;
    this.#context.facts.count(endpoint.slot, FACT_REUSES, 1);
    idle.adopt(user, limits, options);
    return true;
  }

  /** Dials; the caller has counted it as a connection. */
  dialCounted(
    endpoint: EndpointPlan,
    limits: HeadLimits,
    timeoutMs: number,
    user: UpstreamUser,
    options: SocketPlan,
  ): UpstreamConnection {
    const key = idleKey(endpoint.slot, options.localAddress);
    const connection = new UpstreamConnection(this, this.#context, endpoint, user, limits, options, key);
    this.#context.facts.count(endpoint.slot, FACT_DIALS, 1);
    this.#open.add(connection);
    connection.dial(timeoutMs);
    return connection;
  }

  /** A dial begins; the caller has counted it as a connection. */
  opening(connection: OpenConnection): void {
    this.#context.facts.count(connection.slot, FACT_DIALS, 1);
    this.#open.add(connection);
  }

  /** A dial came to its end as a connection, which counts as the same one. */
  opened(dial: OpenConnection, connection: OpenConnection): void {
    this.#open.delete(dial);
    this.#open.add(connection);
  }

  /** Keeps a connection for the next exchange; the oldest one makes room. */
  keep(connection: UpstreamConnection, maxIdle: number): void {
    const { idleKey: key } = connection;
    let idle = this.#idle.get(key);
    if (idle === undefined) {
      idle = [];
      this.#idle.set(key, idle);
    }
    idle.push(connection);
    if (idle.length > maxIdle) idle.shift()!.close();
    this.#gate?.freed(connection.slot);
  }

  /** Called by a connection that ended, once. */
  closed(connection: OpenConnection): void {
    if (!this.#open.delete(connection)) return;
    this.#context.facts.add(connection.slot, FACT_CONNECTIONS, -1);
    this.#forgetIdle(connection);
    this.#gate?.freed(connection.slot);
  }

  #forgetIdle(connection: OpenConnection): void {
    const idle = this.#idle.get(connection.idleKey);
    if (idle === undefined) return;
    const at = idle.findLastIndex((kept) => kept === connection);
    if (at >= 0) idle.splice(at, 1);
    if (idle.length === 0) this.#idle.delete(connection.idleKey);
  }

  /** A connection that carries several requests at a time carries one less. */
  freed(slot: number): void {
    this.#gate?.freed(slot);
  }

  /** Ends one idle connection to the slot, the one that was not used for the longest time. False: there is none. */
  closeIdle(slot: number): boolean {
    for (const [oldest] of this.#idle.values()) {
      if (oldest?.slot !== slot) continue;
      oldest.close();
      return true;
    }
    return this.legs.closeIdle(slot);
  }

  /** Nobody names these slots any more: idle connections close now, busy ones after their exchange. */
  forget(slots: readonly number[]): void {
    for (const connection of [...this.#open]) if (slots.includes(connection.slot)) connection.retire();
  }

  /** The address is compared too: a slot number may have been given to another address meanwhile. */
  takeIdle(endpoint: EndpointPlan, key: number | string): UpstreamConnection | undefined {
    const idle = this.#idle.get(key);
    if (idle === undefined) return undefined;
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      if (connection.usable && connection.goesTo(endpoint)) return connection;
      connection.close();
    }
    return undefined;
  }
}
