/** A pool as a worker runs it: the section's content bound to its rows in the state table. */
import type { EndpointPlan, MemberRows, PoolRows, PoolSection } from '../../shared/plan/types.ts';
import {
  ADMIN_DRAIN,
  ADMIN_READY,
  CHECK_VERDICT,
  FACT_IN_FLIGHT,
  MEMBER_STATE,
  MEMBER_WEIGHT,
  POOL_BEST_EFFORT,
  POOL_CURSOR,
  SLOT_ADMIN,
  VERDICT_DOWN,
} from '../../shared/state-table/layout.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import { DEFAULT_HEAD_LIMITS, type HeadLimits } from '../http1/limits.ts';
import { buildPolicy } from '../select/index.ts';
import type { Policy, PoolView } from '../select/policy.ts';

export class Pool implements PoolView {
  readonly section: PoolSection;
  readonly policy: Policy;
  readonly size: number;
  readonly responseLimits: HeadLimits;
  readonly #table: StateTable;
  readonly #rows: PoolRows;
  readonly #members: MemberRows[];

  constructor(section: PoolSection, rows: PoolRows, table: StateTable) {
    this.section = section;
    this.size = section.members.length;
    this.#table = table;
    this.#rows = rows;
    this.#members = [...rows.members];
    this.policy = buildPolicy(section.policy, { identities: section.members.map((member) => member.identity) });
    this.responseLimits = { ...DEFAULT_HEAD_LIMITS, maxBytes: section.transport.maxResponseHeaderBytes };
  }

  /** A name of this member resolved to other addresses. */
  setMember(position: number, rows: MemberRows): void {
    this.#members[position] = rows;
  }

  state(position: number): number {
    return this.#table.members.load(this.#members[position]!.member, MEMBER_STATE);
  }

  weight(position: number): number {
    return this.#table.members.load(this.#members[position]!.member, MEMBER_WEIGHT);
  }

  load(position: number): number {
    let sum = 0;
    for (const endpoint of this.#members[position]!.endpoints)
      sum += this.#table.sumFacts(endpoint.slot, FACT_IN_FLIGHT);
    return sum;
  }

  nextTicket(): number {
    return this.#table.pools.add(this.#rows.pool, POOL_CURSOR, 1) >>> 0;
  }

  identity(position: number): string {
    return this.section.members[position]!.identity;
  }

  upstream(position: number): string {
    return this.section.members[position]!.upstream;
  }

  /**
   * The endpoint of a member to dial: the first at or after `from` that may be dialled, −1 = none left.
   * A draining endpoint is dialled only when the member has no ready one: then it is a cookie's way in.
   */
  nextEndpoint(position: number, from: number): number {
    const endpoints = this.#members[position]!.endpoints;
    const bestEffort = this.#table.pools.load(this.#rows.pool, POOL_BEST_EFFORT) === 1;
    let draining = -1;
    for (let index = from; index < endpoints.length; index += 1) {
      const endpoint = endpoints[index]!;
      if (!bestEffort && this.#isDown(endpoint)) continue;
      const admin = this.#table.slots.load(endpoint.slot, SLOT_ADMIN);
      if (admin === ADMIN_READY) return index;
      if (admin === ADMIN_DRAIN && draining < 0) draining = index;
    }
    return draining;
  }

  endpoint(position: number, index: number): EndpointPlan {
    return this.#members[position]!.endpoints[index]!;
  }

  #isDown(endpoint: EndpointPlan): boolean {
    return endpoint.check >= 0 && this.#table.checks.load(endpoint.check, CHECK_VERDICT) === VERDICT_DOWN;
  }
}
