/** `balance_factor`: nobody's load above a multiple of the mean (PURE). */
import { MEMBER_ELIGIBLE, MEMBER_FULL, MEMBER_WAIT } from '../../shared/state-table/layout.ts';
import { takesOwn } from './eligible.ts';
import type { PickRequest, PoolView, WeightTable } from './policy.ts';

/**
 * A pool in which members that have their share already look full. One object a policy: it is pointed at the
 * pool of each pick by `look`, which reads every load once.
 *
 * The bound is ceil(factor × (running + 1) / members that may be picked), counted with the exchange that is being
 * placed, as "consistent hashing with bounded loads" does it; so somebody always is below it. Picks of
 * the same instant in other workers are not seen.
 */
export class BoundedPool implements PoolView {
  readonly #factor: number;
  #pool: PoolView;
  #bound = Infinity;

  constructor(factor: number, pool: PoolView) {
    this.#factor = factor;
    this.#pool = pool;
  }

  /** Points it at `pool` and works out the bound for an exchange that is to be placed now. */
  look(pool: PoolView, request: PickRequest): this {
    let running = 1;
    let members = 0;
    for (let position = 0; position < pool.size; position += 1) {
      if (!takesOwn(pool, request, position)) continue;
      members += 1;
      running += pool.load(position);
    }
    this.#pool = pool;
    this.#bound = members === 0 ? Infinity : Math.ceil((this.#factor * running) / members);
    return this;
  }

  /** Exchanges a member may have, the one that is being placed included. */
  get bound(): number {
    return this.#bound;
  }

  get size(): number {
    return this.#pool.size;
  }

  state(position: number): number {
    const state = this.#pool.state(position);
    if (state !== MEMBER_ELIGIBLE && state !== MEMBER_WAIT) return state;
    return this.#pool.load(position) + 1 > this.#bound ? MEMBER_FULL : state;
  }

  load(position: number): number {
    return this.#pool.load(position);
  }

  weight(position: number): number {
    return this.#pool.weight(position);
  }

  weightTable(): WeightTable {
    return this.#pool.weightTable();
  }

  nextTicket(): number {
    return this.#pool.nextTicket();
  }

  identity(position: number): string {
    return this.#pool.identity(position);
  }
}
