/** The tries of one TCP connection: only dials fail, so nothing is ever sent twice. */
import type { EndpointPlan } from '../../shared/plan/types.ts';
import type { Pool } from '../pool/pool.ts';
import { PoolTries, type Dial, type TriedRequest, type TryUser, type TryWorld } from '../proxy/pool-tries.ts';

export interface TcpDialler extends TryUser {
  dial(endpoint: EndpointPlan, timeoutMs: number): Dial;
}

export class TcpTries extends PoolTries {
  readonly #dialler: TcpDialler;

  constructor(world: TryWorld, pool: Pool, request: TriedRequest, dialler: TcpDialler) {
    super(world, pool, request, dialler, world.clock.now());
    this.#dialler = dialler;
  }

  protected override dial(endpoint: EndpointPlan, timeoutMs: number): Dial {
    return this.#dialler.dial(endpoint, timeoutMs);
  }
}
