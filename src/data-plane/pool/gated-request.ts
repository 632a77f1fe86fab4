/** What the gate of a limited address needs to know of a request that wants a connection. */
import type { EndpointPlan } from '../../shared/plan/types.ts';
import type { HeadLimits } from '../http1/limits.ts';
import type { Dial } from '../proxy/pool-tries.ts';
import type { UpstreamUser } from '../proxy/sides.ts';
import type { Endpoints } from './endpoints.ts';
import type { SocketPlan } from './socket-plan.ts';

export interface GatedRequest {
  readonly slot: number;
  /** Longest wait for a connection; the dial itself may take as long again. */
  readonly timeoutMs: number;
  /** Open connections to the slot, all workers together. */
  readonly maxConnections: number;
  readonly user: UpstreamUser;
  /** On what this worker has open, or is opening: null = connected already; undefined = there is nothing of use. */
  share(): Dial | null | undefined;
  /** Makes a connection, which was counted before. */
  dial(): Dial | null;
}

/** One that goes over HTTP/1.1 in the clear. */
export class PlainRequest implements GatedRequest {
  readonly timeoutMs: number;
  readonly maxConnections: number;
  readonly user: UpstreamUser;
  readonly #endpoints: Endpoints;
  readonly #endpoint: EndpointPlan;
  readonly #limits: HeadLimits;
  readonly #fresh: boolean;
  readonly #options: SocketPlan;

  /** `fresh` forbids an idle connection. */
  constructor(
    endpoints: Endpoints,
    endpoint: EndpointPlan,
    limits: HeadLimits,
    timeoutMs: number,
    fresh: boolean,
    user: UpstreamUser,
    options: SocketPlan,
    maxConnections: number,
  ) {
    this.#endpoints = endpoints;
    this.#endpoint = endpoint;
    this.#limits = limits;
    this.timeoutMs = timeoutMs;
    this.#fresh = fresh;
    this.user = user;
    this.#options = options;
    this.maxConnections = maxConnections;
  }

  get slot(): number {
    return this.#endpoint.slot;
  }

  share(): null | undefined {
    const isShared = !this.#fresh && this.#endpoints.reuse(this.#endpoint, this.#limits, this.user, this.#options);
    return isShared ? null : undefined;
  }

  dial(): Dial {
    return this.#endpoints.dialCounted(this.#endpoint, this.#limits, this.timeoutMs, this.user, this.#options);
  }
}
