/**
 * The upstream connections of one worker: idle ones by slot, newest first, and all open ones for
 * drains and crashes. Two connections are interchangeable when they go to the same slot
 * and come from the same `local_address`: the transport is plain TCP and a slot is an address.
 */
import type { EndpointPlan } from '../../shared/plan/types.ts';
import { FACT_CONNECTIONS, FACT_DIALS, FACT_REUSES } from '../../shared/state-table/layout.ts';
import type { Rows } from '../../shared/state-table/table.ts';
import type { Head } from '../http1/head.ts';
import type { HeadLimits } from '../http1/limits.ts';
import { UpstreamConnection } from '../http1/upstream-connection.ts';
import type { UpstreamUser } from '../proxy/sides.ts';
import { idleKey, type SocketPlan } from './socket-plan.ts';
import type { TimerWheel } from '../wheel.ts';

/** What every upstream connection of a worker shares. */
export interface UpstreamContext {
  readonly wheel: TimerWheel;
  /** Facts rows of the worker's own lane. */
  readonly facts: Rows;
  /** All upstream sockets of a worker read into this one buffer: reads are synchronous and never nest. */
  readonly readBuffer: Buffer;
  /** Response heads are parsed into this one, for the time of a callback. */
  readonly head: Head;
}

export class Endpoints {
  readonly #context: UpstreamContext;
  /** Idle connections by `idleKey`, the most recently used last. */
  readonly #idle = new Map<number | string, UpstreamConnection[]>();
  readonly #open = new Set<UpstreamConnection>();

  constructor(context: UpstreamContext) {
    this.#context = context;
  }

  get open(): ReadonlySet<UpstreamConnection> {
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
    const idle = fresh ? undefined : this.#takeIdle(endpoint, options.localAddress);
    if (idle !== undefined) {
      this.#context.facts.count(endpoint.slot, FACT_REUSES, 1);
      idle.adopt(user, limits, options);
      return null;
    }
    this.#context.facts.count(endpoint.slot, FACT_DIALS, 1);
    this.#context.facts.add(endpoint.slot, FACT_CONNECTIONS, 1);
    const connection = new UpstreamConnection(this, this.#context, endpoint, user, limits, options);
    this.#open.add(connection);
    connection.dial(dialTimeoutMs);
    return connection;
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
  }

  /** Called by a connection that ended, once. */
  closed(connection: UpstreamConnection): void {
    this.#open.delete(connection);
    this.#context.facts.add(connection.slot, FACT_CONNECTIONS, -1);
    const idle = this.#idle.get(connection.idleKey);
    if (idle === undefined) return;
    const at = idle.lastIndexOf(connection);
    if (at >= 0) idle.splice(at, 1);
    if (idle.length === 0) this.#idle.delete(connection.idleKey);
  }

  /** Nobody names these slots any more: idle connections close now, busy ones after their exchange. */
  forget(slots: readonly number[]): void {
    for (const connection of [...this.#open]) if (slots.includes(connection.slot)) connection.retire();
  }

  /** The address is compared too: a slot number may have been given to another address meanwhile. */
  #takeIdle(endpoint: EndpointPlan, localAddress: string | undefined): UpstreamConnection | undefined {
    const idle = this.#idle.get(idleKey(endpoint.slot, localAddress));
    if (idle === undefined) return undefined;
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      if (connection.usable && connection.goesTo(endpoint)) return connection;
      connection.close();
    }
    return undefined;
  }
}
