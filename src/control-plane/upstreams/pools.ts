import type { SectionHash } from '../../shared/plan/types.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import type { PoolSpec } from '../compile/compiled.ts';
import type { Checks } from '../health/checks.ts';
import type { VerdictState } from '../health/verdict.ts';
import type { Names, WatchedName } from '../names/resolver.ts';
import type { FoundMember } from './dynamic-pools.ts';
import { standingOf, withPassive, type EndpointFacts, type PassiveStanding } from './member-state.ts';
import { Pool, type Endpoint, type Member } from './pool.ts';
import type { Registry } from './registry.ts';
import type { SlowStarts } from './slow-start.ts';
import type { Slot } from './slots.ts';
import type { AdminState } from '../types.ts';

export interface PoolsDeps {
  readonly table: StateTable;
  readonly registry: Registry;
  readonly names: Names;
  readonly checks: Checks;
  /** How a check of the member at this slot begins. */
  begin(slot: Slot, member: Member): VerdictState;
  /** `maint` also after a drain deadline. */
  adminOf(slot: Slot): AdminState;
  weightOf(member: Member): number;
  readonly slowStarts: SlowStarts;
  passiveOf(member: Member): PassiveStanding;
  /** The member is no more. */
  onDrop(member: Member): void;
  /** The pool began or stopped to try members that are down. */
  onBestEffort(pool: Pool): void;
  /** A slot got a user or lost one: its admin words may have to change. */
  onMembership(slot: Slot): void;
  /** A member's endpoints are other ones now. */
  onEndpoints(member: Member): void;
  /** The drain deadline of the pool has passed for the operator's drain of the member there: nobody is let in any more. */
  isDrained(member: Member, slot: Slot): boolean;
  /** Whether members get new work may have changed. */
  onStanding(members: Iterable<Member>): void;
  /** The member no longer has the slot. */
  onLeft(member: Member, slot: Slot): void;
}

/** All pools that some generation names, and who uses which slot. */
export class Pools {
  readonly #deps: PoolsDeps;
  readonly #pools: Map<SectionHash, Pool> = new Map();
  readonly #bySlot: Map<Slot, Set<Member>> = new Map();
  readonly #byName: Map<string, Set<Member>> = new Map();

  constructor(deps: PoolsDeps) {
    this.#deps = deps;
  }

  get(hash: SectionHash): Pool | undefined {
    return this.#pools.get(hash);
  }

  *of(generation: number): IterableIterator<Pool> {
    for (const pool of this.#pools.values()) if (pool.generations.has(generation)) yield pool;
  }

  all(): IterableIterator<Pool> {
    return this.#pools.values();
  }

  membersAt(slot: Slot): ReadonlySet<Member> {
    return this.#bySlot.get(slot) ?? new Set();
  }

  membersNamed(name: WatchedName): ReadonlySet<Member> {
    return this.#byName.get(name.key) ?? new Set();
  }

  /** The pool of the spec, new or known, named by one generation more. `join` the members a new one lacks. */
  hold(spec: PoolSpec, generation: number): Pool {
    const pool = this.#pools.get(spec.hash) ?? this.#create(spec);
    assertSameSpec(pool.spec, spec);
    pool.generations.add(generation);
    return pool;
  }

  /** Adds the next member of the pool's spec, without endpoints yet; false when all are there. */
  join(pool: Pool): boolean {
    const spec = pool.spec.sources === undefined ? pool.spec.members[pool.members.length] : undefined;
    if (spec === undefined) return false;
    const { registry, names } = this.#deps;
    this.#name(pool.join(registry.members.take(), names.hold(spec.host, pool.spec.resolvers)));
    return true;
  }

  /**
   * Gives a pool found in DNS other members. Those that stay keep their rows and endpoints; new ones are placed
   * before anybody is told, and `tell` runs before those that are gone let go of what they hold.
   */
  recast(pool: Pool, wanted: readonly FoundMember[], tell: () => void): void {
    const { registry, names } = this.#deps;
    // By all that was configured: a fallback list may name one address twice, or with options a found one has not.
    const left = Map.groupBy(pool.members, ({ spec }) => JSON.stringify(spec));
    const members = wanted.map(({ spec, resolvers }) => {
      const known = left.get(JSON.stringify(spec))?.shift();
      return known ?? this.#name(pool.make(registry.members.take(), spec, names.hold(spec.host, resolvers)));
    });
    for (const member of members) this.place(member);
    const before = pool.mode;
    pool.recast(members);
    if ((before === 'best-effort') !== (pool.mode === 'best-effort')) this.#deps.onBestEffort(pool);
    tell();
    for (const member of [...left.values()].flat()) this.drop(member);
  }

  /** Takes the generation's name off its pools; returns those nobody names now: `drop` each of their members. */
  release(generation: number): Pool[] {
    const named = [...this.of(generation)];
    for (const pool of named) pool.generations.delete(generation);
    const unnamed = named.filter((pool) => pool.generations.size === 0);
    for (const pool of unnamed) this.#remove(pool);
    return unnamed;
  }

  /** The pool goes although generations name it: `drop` each of its members. */
  abandon(pool: Pool): void {
    pool.generations.clear();
    this.#remove(pool);
  }

  #remove(pool: Pool): void {
    this.#pools.delete(pool.spec.hash);
    this.#deps.registry.pools.give(pool.row);
  }

  /** Lets go of all that a member of a released pool holds. */
  drop(member: Member): void {
    const { registry, names } = this.#deps;
    for (const { slot } of member.endpoints) {
      this.#deps.onLeft(member, slot);
      this.#unlink(slot, member);
    }
    for (const endpoint of member.endpoints) this.#releaseEndpoint(endpoint);
    member.endpoints = [];
    const named = this.#byName.get(member.name.key);
    named?.delete(member);
    if (named?.size === 0) this.#byName.delete(member.name.key);
    names.release(member.name);
    registry.members.give(member.row);
    this.#deps.onDrop(member);
  }

  /**
   * Gives a member the endpoints of its name's addresses. What it has already is kept, what is gone is
   * let go last, so that a slot is not forgotten by workers before they know the new ones.
   */
  place(member: Member): void {
    const { registry, onMembership } = this.#deps;
    const before = member.endpoints;
    const addresses = member.name.addresses();
    if (addresses.join() === before.map(({ slot }) => slot.host).join()) return;
    const { port, network } = member.spec;
    member.endpoints = addresses.map((host) => this.#holdEndpoint(member, registry.slots.hold(host, port, network)));
    for (const { slot } of before) this.#unlink(slot, member);
    for (const { slot } of member.endpoints) this.#link(slot, member);
    for (const { slot } of member.endpoints) onMembership(slot);
    for (const { slot } of before) {
      if (!member.endpoints.some((endpoint) => endpoint.slot === slot)) this.#deps.onLeft(member, slot);
    }
    this.refresh(member.pool, [member]);
    this.#deps.onEndpoints(member);
    for (const endpoint of before) this.#releaseEndpoint(endpoint);
  }

  /** Derives members anew from verdicts, admin states and weights. */
  refresh(pool: Pool, members: Iterable<Member>): void {
    const before = pool.mode;
    const changes = [...members].map((member) => {
      const weight = this.#deps.weightOf(member);
      const facts = member.endpoints.map((endpoint) => this.#factsOf(endpoint, member, weight));
      const standing = withPassive(standingOf(facts, weight), this.#deps.passiveOf(member));
      const { slowStarts } = this.#deps;
      if (standing !== member.standing) slowStarts.moved(member, member.standing, standing);
      return { member, weight, weightWord: slowStarts.weightWord(member, weight), standing };
    });
    pool.update(changes);
    const modeChanged = (before === 'best-effort') !== (pool.mode === 'best-effort');
    if (modeChanged) this.#deps.onBestEffort(pool);
    this.#deps.onStanding(modeChanged ? pool.members : changes.map(({ member }) => member));
  }

  /** As `refresh`, for everybody who has the slot. */
  refreshAt(slot: Slot): void {
    for (const member of this.membersAt(slot)) this.refresh(member.pool, [member]);
  }

  #name(member: Member): Member {
    const named = this.#byName.get(member.name.key) ?? new Set();
    this.#byName.set(member.name.key, named.add(member));
    return member;
  }

  #factsOf({ slot, check }: Endpoint, member: Member, weight: number): EndpointFacts {
    const said = this.#deps.adminOf(slot);
    const closed = (said === 'drain' || weight === 0) && this.#deps.isDrained(member, slot);
    return { verdict: check?.record.verdict ?? 'up', admin: closed ? 'maint' : said };
  }

  #create(spec: PoolSpec): Pool {
    const pool = new Pool(this.#deps.table, spec, this.#deps.registry.pools.take());
    this.#pools.set(spec.hash, pool);
    return pool;
  }

  #holdEndpoint(member: Member, slot: Slot): Endpoint {
    const { spec } = member.pool;
    if (spec.check === null) return { slot, check: null };
    const subject = { slot: slot.row, target: slot, member: member.spec, spec: spec.check };
    return { slot, check: this.#deps.checks.hold(subject, () => this.#deps.begin(slot, member)) };
  }

  #releaseEndpoint({ slot, check }: Endpoint): void {
    if (check !== null) this.#deps.checks.release(check);
    this.#deps.registry.slots.release(slot);
  }

  #link(slot: Slot, member: Member): void {
    this.#bySlot.set(slot, (this.#bySlot.get(slot) ?? new Set()).add(member));
  }

  #unlink(slot: Slot, member: Member): void {
    const members = this.#bySlot.get(slot);
    members?.delete(member);
    if (members?.size === 0) this.#bySlot.delete(slot);
    else this.#deps.onMembership(slot);
  }
}

/** Rows belong to a hash, so all that decides about them must be part of it. */
function assertSameSpec(held: PoolSpec, spec: PoolSpec): void {
  const facets = (pool: PoolSpec): string =>
    JSON.stringify([
      pool.check?.hash ?? null,
      pool.bestEffort,
      pool.drainMs ?? null,
      pool.resolvers,
      pool.sources ?? null,
      pool.layer ?? null,
    ]);
  if (facets(held) === facets(spec)) return;
  throw new Error(`pool ${spec.hash} has two definitions under one hash; this is a fault of Holdfast`);
}
