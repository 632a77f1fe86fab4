/** A pool as a worker runs it: the section's content bound to its rows in the state table. */
import type { EndpointPlan, MemberRows, PoolRows, PoolSection } from '../../shared/plan/types.ts';
import {
  ADMIN_DRAIN,
  ADMIN_READY,
  CHECK_VERDICT,
  FACT_IN_FLIGHT,
  MEMBER_DOWN,
  MEMBER_ELIGIBLE,
  MEMBER_HALF_OPEN,
  MEMBER_STATE,
  MEMBER_WEIGHT,
  POOL_BEST_EFFORT,
  POOL_CURSOR,
  POOL_EPOCH,
  SLOT_ADMIN,
  VERDICT_DOWN,
} from '../../shared/state-table/layout.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import { PassiveWatch } from './passive.ts';
import { DEFAULT_HEAD_LIMITS, type HeadLimits } from '../http1/limits.ts';
import { buildPolicy } from '../select/index.ts';
import { NOBODY } from '../select/nobody.ts';
import type { Policy, PoolView, WeightTable } from '../select/policy.ts';
import { Legs } from './leg.ts';
import { Places } from './places.ts';

/** Rows of one member, shared by all forms of a pool that have it. */
interface Seat extends MemberRows {
  member: number;
  endpoints: readonly EndpointPlan[];
}

/** A member that DNS does not name any more. */
const GONE: MemberRows = Object.freeze({ member: -1, endpoints: [] });

export class Pool implements PoolView {
  readonly section: PoolSection;
  readonly policy: Policy;
  readonly size: number;
  readonly responseLimits: HeadLimits;
  /** null = upstreams are spoken to in plain HTTP/1.1. */
  readonly legs: Legs | null;
  /** null = no passive checks. */
  readonly passive: PassiveWatch | null;
  /** null = no member has `max_requests`. */
  readonly places: Places | null;
  readonly #table: StateTable;
  readonly #rows: PoolRows;
  readonly #members: Seat[];
  /** What new requests use: this, or of a pool found in DNS the newest form. */
  current: Pool = this;
  #weights: WeightTable | null = null;
  /** Epoch of the pool's words that `#weights` was read in. */
  #weightsEpoch = 0;

  constructor(configured: PoolSection, rows: PoolRows, table: StateTable) {
    const section = rows.found === undefined ? configured : { ...configured, members: rows.found };
    this.section = section;
    this.size = section.members.length;
    this.#table = table;
    this.#rows = rows;
    this.passive = section.passive === null ? null : new PassiveWatch(section.passive, table.members);
    this.#members = rows.members.map((member) => ({ ...member }));
    const identities = section.members.map((member) => member.identity);
    this.policy = this.size === 0 ? NOBODY : buildPolicy(section.policy, { identities });
    this.responseLimits = { ...DEFAULT_HEAD_LIMITS, maxBytes: section.transport.maxResponseHeaderBytes };
    this.legs = Legs.of(section.transport, (position) => this.upstream(position));
    const limited = section.members.some(({ maxRequests }) => maxRequests !== undefined);
    this.places = limited ? new Places(this, section.members, section.queue, table) : null;
  }

  /** A name of this member resolved to other addresses. */
  setMember(position: number, rows: MemberRows): void {
    Object.assign(this.#members[position]!, rows);
  }

  /**
   * The members are other ones now. Requests that run go on with the form they began with, so that a position
   * means one member for all their tries; in it, those that are gone count as down.
   */
  recast(rows: PoolRows): void {
    const next = new Pool(this.section, rows, this.#table);
    next.#takeSeats(this.current.#members);
    this.current = next;
  }

  /** No member is there any more. */
  retire(): void {
    for (const seat of this.#members) Object.assign(seat, GONE);
  }

  /** A member that stays keeps its seat, so that every form hears of its changes. */
  #takeSeats(before: readonly Seat[]): void {
    const left = new Map(before.map((seat) => [seat.member, seat]));
    for (const [position, seat] of this.#members.entries()) {
      const known = left.get(seat.member);
      if (known === undefined) continue;
      left.delete(seat.member);
      this.#members[position] = Object.assign(known, seat);
    }
    for (const gone of left.values()) Object.assign(gone, GONE);
  }

  state(position: number): number {
    const word = this.word(position);
    return this.places === null ? word : this.places.stateOf(position, word);
  }

  /** The member's state as the control plane derived it, full or not. */
  word(position: number): number {
    const { member } = this.#members[position]!;
    const state = member < 0 ? MEMBER_DOWN : this.#table.members.load(member, MEMBER_STATE);
    // Whoever is picked for it tests it: `PassiveWatch.take` lets one through.
    return state === MEMBER_HALF_OPEN ? MEMBER_ELIGIBLE : state;
  }

  /** Another number as soon as a word of the pool has changed. */
  get epoch(): number {
    return this.#table.pools.load(this.#rows.pool, POOL_EPOCH);
  }

  /** The member's row in the state table, −1 when it is gone. */
  row(position: number): number {
    return this.#members[position]!.member;
  }

  weight(position: number): number {
    const { member } = this.#members[position]!;
    return member < 0 ? 0 : this.#table.members.load(member, MEMBER_WEIGHT);
  }

  /** Read anew only when a word of the pool has changed, and the same object as long as no weight has. */
  weightTable(): WeightTable {
    // The epoch first: it is bumped behind the words, so what is read here can only be newer.
    const epoch = this.#table.pools.load(this.#rows.pool, POOL_EPOCH);
    if (this.#weights !== null && epoch === this.#weightsEpoch) return this.#weights;
    const values = this.#members.map((_, position) => this.weight(position));
    const before = this.#weights?.values;
    this.#weightsEpoch = epoch;
    if (this.#weights !== null && values.every((weight, position) => weight === before?.[position]))
      return this.#weights;
    this.#weights = { values, max: values.reduce((most, weight) => Math.max(most, weight), 0) };
    return this.#weights;
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

  /** What a server behind TLS gets as Host: its own name, which is also what it proved to have. '' = what the client sent. */
  hostSent(position: number): string {
    if (this.section.transport.tls === undefined) return '';
    const identity = this.identity(position);
    return identity.startsWith(':') ? `localhost${identity}` : identity;
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

  endpointsOf(position: number): readonly EndpointPlan[] {
    return this.#members[position]!.endpoints;
  }

  endpoint(position: number, index: number): EndpointPlan {
    return this.#members[position]!.endpoints[index]!;
  }

  #isDown(endpoint: EndpointPlan): boolean {
    return endpoint.check >= 0 && this.#table.checks.load(endpoint.check, CHECK_VERDICT) === VERDICT_DOWN;
  }
}
