/** Who is leaving, and what is told and done about it: `leaving.ts` over all pools, `drains.ts` for each. */
import type { Clock, Timer } from '../../shared/clock.ts';
import type { SectionHash } from '../../shared/plan/types.ts';
import { FACT_IN_FLIGHT, MEMBER_ELIGIBLE, MEMBER_STATE } from '../../shared/state-table/layout.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import type { EffectiveAdmin } from './admin-states.ts';
import { Drains, type Drain } from './drains.ts';
import { drainFinished, drainPassed, type Happening } from './events.ts';
import { leavingOf, leavingOfOld, type Leaving } from './leaving.ts';
import type { Endpoint, Member, Pool } from './pool.ts';
import type { Pools } from './pools.ts';
import { Slice } from './slice.ts';
import type { Slot } from './slots.ts';

/** Workers are about to commit when a generation becomes the active one; sessions that move with it have moved by then. */
const COMMIT_MS = 500;

export interface DrainWatchDeps {
  readonly table: StateTable;
  readonly clock: Clock;
  /** Asked for after the constructor has returned. */
  readonly pools: () => Pools;
  /** The generation in force, null = none. */
  readonly active: () => number | null;
  adminOf(slot: Slot): EffectiveAdmin;
  cut(pool: SectionHash, slots: readonly number[], how: 'finish' | 'reset'): void;
  onEvent(happening: Happening): void;
}

export class DrainWatch {
  readonly #deps: DrainWatchDeps;
  readonly #drains: Drains;
  #timer: Timer | null = null;

  constructor(deps: DrainWatchDeps) {
    this.#deps = deps;
    this.#drains = new Drains({
      clock: deps.clock,
      running: (slot) => deps.table.sumFacts(slot.row, FACT_IN_FLIGHT),
      membersAt: (slot) => deps.pools().membersAt(slot),
      cut: (pool, slots, how) => deps.cut(pool, slots, how),
      onCut: (drain) => this.#onCut(drain),
      onFinished: (drain) => deps.onEvent(drainFinished(drain)),
    });
  }

  of(member: Member, slot: Slot): Drain | undefined {
    return this.#drains.of(member, slot);
  }

  /** The operator's drain of the member, without a deadline of his own, has reached that of its pool. */
  isOver(member: Member, slot: Slot): boolean {
    const drain = this.#drains.of(member, slot);
    return drain !== undefined && drain.cause === 'operator' && drain.isOver;
  }

  /** Members that the config in force does not name and that still run something. */
  removed(): ReadonlySet<Member> {
    return new Set([...this.#drains.removed()].map(({ member }) => member));
  }

  /** Whether these members get new work may have changed. */
  review(members: Iterable<Member>): void {
    for (const member of members) {
      if (!this.#wasInForce(member.pool)) continue;
      for (const endpoint of member.endpoints) this.#reviewAt(member, endpoint);
    }
  }

  /** The member no longer has the slot. Of a pool that no generation names nothing runs any more. */
  dropped(member: Member, slot: Slot): void {
    this.#drains.drop(member, slot, member.pool.generations.size === 0);
  }

  /** Another generation is in force. `fresh`: its pools that were not in force before. */
  reloaded(fresh: ReadonlySet<Pool>): void {
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.after(COMMIT_MS, () => void this.#reviewAll(fresh));
  }

  stop(): void {
    this.#timer?.cancel();
    this.#drains.stop();
  }

  async #reviewAll(fresh: ReadonlySet<Pool>): Promise<void> {
    const slice = new Slice(this.#deps.clock);
    const generation = this.#deps.active();
    for (const pool of [...this.#deps.pools().all()]) {
      const isOld = !this.#isActive(pool);
      if (!isOld && !fresh.has(pool)) continue;
      for (const member of pool.present()) {
        this.review([member]);
        if (!isOld) this.#drains.cameIntoForce(member);
        if (slice.used) await slice.next();
        if (this.#deps.active() !== generation) return;
      }
    }
  }

  #reviewAt(member: Member, { slot, check }: Endpoint): void {
    if (!this.#isActive(member.pool)) {
      this.#drains.review(member, slot, this.#leavingOfOld(member, slot));
      return;
    }
    if (!this.#drains.review(member, slot, this.#leavingOf(member, { slot, check }))) return;
    for (const other of this.#deps.pools().membersAt(slot)) {
      if (this.#isActive(other.pool) || !this.#wasInForce(other.pool)) continue;
      this.#drains.review(other, slot, this.#leavingOfOld(other, slot));
    }
  }

  #leavingOf(member: Member, { slot, check }: Endpoint): Leaving | null {
    const { table } = this.#deps;
    return leavingOf({
      admin: this.#deps.adminOf(slot),
      weight: member.weight,
      verdict: check?.record.verdict ?? 'up',
      tried: member.standing === 'down' && table.members.load(member.row, MEMBER_STATE) === MEMBER_ELIGIBLE,
    });
  }

  #leavingOfOld(member: Member, slot: Slot): Leaving | null {
    return leavingOfOld(this.#deps.adminOf(slot), this.#successors(member, slot));
  }

  *#successors(member: Member, slot: Slot): IterableIterator<Leaving | null> {
    for (const other of this.#deps.pools().membersAt(slot)) {
      if (!this.#isActive(other.pool) || other.pool.spec.layer !== member.pool.spec.layer) continue;
      const endpoint = other.endpoints.find((one) => one.slot === slot);
      if (endpoint !== undefined) yield this.#leavingOf(other, endpoint);
    }
  }

  #onCut(drain: Drain): void {
    if (this.#deps.table.sumFacts(drain.slot.row, FACT_IN_FLIGHT) > 0) this.#deps.onEvent(drainPassed(drain));
    // A cookie that names the server is no way in any more.
    if (drain.cause === 'operator') this.#deps.pools().refresh(drain.member.pool, [drain.member]);
  }

  #isActive(pool: Pool): boolean {
    const active = this.#deps.active();
    return active !== null && pool.generations.has(active);
  }

  /** Not of a generation that is only being prepared: nothing of it runs. */
  #wasInForce(pool: Pool): boolean {
    const active = this.#deps.active();
    if (active === null) return false;
    for (const generation of pool.generations) if (generation <= active) return true;
    return false;
  }
}
