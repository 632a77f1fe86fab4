import {
  MEMBER_ELIGIBLE,
  MEMBER_STATE,
  MEMBER_WEIGHT,
  POOL_BEST_EFFORT,
  POOL_EPOCH,
} from '../../shared/state-table/layout.ts';
import type { MemberPlan, MemberRows, PoolRows } from '../../shared/plan/types.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import type { MemberSpec, PoolSpec } from '../compile/compiled.ts';
import type { RunningCheck } from '../health/checks.ts';
import type { WatchedName } from '../names/resolver.ts';
import { memberPlan } from '../compile/members.ts';
import { countStandings, type PoolMode, type Standing } from './member-state.ts';
import { weightUnit } from './slow-start.ts';
import type { Slot } from './slots.ts';
import { NO_TIERS, sameTiers, servingMode, stateInTier, tiersOf, type Tiers } from './tiers.ts';

export interface Endpoint {
  readonly slot: Slot;
  /** null = the pool has no active check. */
  readonly check: RunningCheck | null;
}

export interface Member {
  readonly pool: Pool;
  /** Changes when a pool found in DNS does. */
  position: number;
  readonly row: number;
  readonly spec: MemberSpec;
  readonly name: WatchedName;
  /** In dialling order. */
  endpoints: readonly Endpoint[];
  standing: Standing;
  weight: number;
  /** The weight as its word says it: in units of the pool, and less while it starts slowly. */
  weightWord: number;
}

export interface MemberChange {
  readonly member: Member;
  readonly standing: Standing;
  readonly weight: number;
  readonly weightWord: number;
}

/** A pool and its words in the table. */
export class Pool {
  readonly spec: PoolSpec;
  readonly row: number;
  /** Generations that name it. */
  readonly generations: Set<number> = new Set();
  /** What weight 1 is in the table. */
  readonly weightUnit: number;
  readonly #table: StateTable;
  #members: Member[] = [];
  /** Of the members that are no backups, and of the backups. */
  readonly #counts: Record<Standing, number> = countStandings([]);
  readonly #backupCounts: Record<Standing, number> = countStandings([]);
  #tiers: Tiers = NO_TIERS;

  constructor(table: StateTable, spec: PoolSpec, row: number) {
    this.#table = table;
    this.spec = spec;
    this.row = row;
    this.weightUnit = weightUnit(spec);
  }

  /** In configured order; all of them once the pool was prepared. */
  get members(): readonly Member[] {
    return this.#members;
  }

  /** As `members`, one after the other, for loops with pauses: a member that left meanwhile does not come. */
  *present(): IterableIterator<Member> {
    for (let at = 0; at < this.#members.length; at += 1) yield this.#members[at]!;
  }

  /** Adds the next member of the spec, without endpoints. */
  join(row: number, name: WatchedName): Member {
    const position = this.#members.length;
    const member = this.make(row, this.spec.members[position]!, name);
    member.position = position;
    this.#members.push(member);
    return member;
  }

  /** A member without endpoints that has no place in the pool yet. */
  make(row: number, spec: MemberSpec, name: WatchedName): Member {
    const weight = spec.weight ?? 1;
    const weightWord = weight * this.weightUnit;
    const member: Member = {
      ...{ pool: this, position: -1, row, spec, name, endpoints: [] },
      ...{ standing: 'out', weight, weightWord },
    };
    this.#countsOf(member).out += 1;
    this.#write(member);
    return member;
  }

  /** These are the members now, in this order: those it had, those it made, and no others. */
  recast(members: readonly Member[]): void {
    this.#members = [...members];
    for (const [position, member] of members.entries()) member.position = position;
    for (const backup of [false, true]) {
      const tier = members.filter(({ spec }) => (spec.backup ?? false) === backup);
      Object.assign(backup ? this.#backupCounts : this.#counts, countStandings(tier.map(({ standing }) => standing)));
    }
    this.#settle([]);
  }

  get mode(): PoolMode {
    return servingMode(this.#tiers);
  }

  /** Its backups get no new clients, because others may have them. */
  get standBy(): boolean {
    return this.#tiers.standBy;
  }

  /** Of the members `from` to before `to`; of a pool found in DNS, all. */
  rows(from: number, to: number): PoolRows {
    if (this.spec.sources !== undefined) {
      return { pool: this.row, members: this.#members.map(memberRows), found: this.#plans() };
    }
    return { pool: this.row, members: this.#members.slice(from, to).map(memberRows) };
  }

  /** Takes what is new about members and writes the words that change. Returns true when one did. */
  update(changes: readonly MemberChange[]): boolean {
    const touched = changes.filter((change) => this.#take(change));
    return this.#settle(touched.map((change) => change.member));
  }

  #settle(touched: readonly Member[]): boolean {
    const tiers = tiersOf(this.#counts, this.#backupCounts, this.spec.bestEffort);
    const same = sameTiers(tiers, this.#tiers);
    if (touched.length === 0 && same) return false;
    const affected = same ? touched : [...touched, ...this.#members];
    this.#tiers = tiers;
    this.#table.pools.store(this.row, POOL_BEST_EFFORT, this.mode === 'best-effort' ? 1 : 0);
    // First whom work may go to, then whom not: no pick in between finds an empty pool.
    for (const member of affected) if (this.#stateOf(member) === MEMBER_ELIGIBLE) this.#write(member);
    for (const member of affected) if (this.#stateOf(member) !== MEMBER_ELIGIBLE) this.#write(member);
    this.#table.pools.add(this.row, POOL_EPOCH, 1);
    return true;
  }

  #plans(): MemberPlan[] {
    return this.#members.map(({ spec }) => memberPlan(spec));
  }

  #take({ member, standing, weight, weightWord }: MemberChange): boolean {
    if (member.standing === standing && member.weight === weight && member.weightWord === weightWord) return false;
    const counts = this.#countsOf(member);
    counts[member.standing] -= 1;
    counts[standing] += 1;
    Object.assign(member, { standing, weight, weightWord });
    return true;
  }

  #countsOf({ spec }: Member): Record<Standing, number> {
    return spec.backup === true ? this.#backupCounts : this.#counts;
  }

  #stateOf(member: Member): number {
    return stateInTier(member.standing, member.spec.backup === true, this.#tiers);
  }

  #write(member: Member): void {
    const { members } = this.#table;
    const state = this.#stateOf(member);
    const { row, weightWord } = member;
    if (members.load(row, MEMBER_WEIGHT) !== weightWord) members.store(row, MEMBER_WEIGHT, weightWord);
    if (members.load(row, MEMBER_STATE) !== state) members.store(row, MEMBER_STATE, state);
  }
}

/** What workers know of a member. */
export function memberRows(member: Member): MemberRows {
  return {
    member: member.row,
    endpoints: member.endpoints.map(({ slot, check }) => ({
      slot: slot.row,
      check: check === null ? -1 : check.record.row,
      host: slot.host,
      port: slot.port,
    })),
  };
}
