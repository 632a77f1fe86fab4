import {
  MEMBER_ELIGIBLE,
  MEMBER_STATE,
  MEMBER_WEIGHT,
  POOL_BEST_EFFORT,
  POOL_EPOCH,
} from '../../shared/state-table/layout.ts';
import type { MemberRows, PoolRows } from '../../shared/plan/types.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import type { MemberSpec, PoolSpec } from '../compile/compiled.ts';
import type { RunningCheck } from '../health/checks.ts';
import type { WatchedName } from '../names/resolver.ts';
import { countStandings, memberState, poolMode, type PoolMode, type Standing } from './member-state.ts';
import type { Slot } from './slots.ts';

export interface Endpoint {
  readonly slot: Slot;
  /** null = the pool has no active check. */
  readonly check: RunningCheck | null;
}

export interface Member {
  readonly pool: Pool;
  readonly position: number;
  readonly row: number;
  readonly spec: MemberSpec;
  readonly name: WatchedName;
  /** In dialling order. */
  endpoints: readonly Endpoint[];
  standing: Standing;
  weight: number;
}

/** A pool and its words in the table. */
export class Pool {
  readonly spec: PoolSpec;
  readonly row: number;
  /** Generations that name it. */
  readonly generations: Set<number> = new Set();
  readonly #table: StateTable;
  readonly #members: Member[] = [];
  readonly #counts: Record<Standing, number> = countStandings([]);
  #mode: PoolMode = 'normal';

  constructor(table: StateTable, spec: PoolSpec, row: number) {
    this.#table = table;
    this.spec = spec;
    this.row = row;
  }

  /** In configured order; all of them once the pool was prepared. */
  get members(): readonly Member[] {
    return this.#members;
  }

  /** Adds the next member of the spec, without endpoints. */
  join(row: number, name: WatchedName): Member {
    const position = this.#members.length;
    const member: Member = {
      pool: this,
      position,
      row,
      spec: this.spec.members[position]!,
      name,
      endpoints: [],
      standing: 'out',
      weight: 1,
    };
    this.#members.push(member);
    this.#counts.out += 1;
    this.#write(member);
    return member;
  }

  get mode(): PoolMode {
    return this.#mode;
  }

  /** Of the members `from` to before `to`. */
  rows(from: number, to: number): PoolRows {
    return { pool: this.row, members: this.#members.slice(from, to).map(memberRows) };
  }

  /** Takes what is new about members and writes the words that change. Returns true when one did. */
  update(changes: readonly { member: Member; standing: Standing; weight: number }[]): boolean {
    const touched = changes.filter((change) => this.#take(change.member, change.standing, change.weight));
    const mode = poolMode(this.#counts, this.spec.bestEffort);
    if (touched.length === 0 && mode === this.#mode) return false;
    const affected = mode === this.#mode ? touched.map((change) => change.member) : this.#members;
    this.#mode = mode;
    this.#table.pools.store(this.row, POOL_BEST_EFFORT, mode === 'best-effort' ? 1 : 0);
    // First whom work may go to, then whom not: no pick in between finds an empty pool.
    for (const member of affected) if (this.#stateOf(member) === MEMBER_ELIGIBLE) this.#write(member);
    for (const member of affected) if (this.#stateOf(member) !== MEMBER_ELIGIBLE) this.#write(member);
    this.#table.pools.add(this.row, POOL_EPOCH, 1);
    return true;
  }

  #take(member: Member, standing: Standing, weight: number): boolean {
    if (member.standing === standing && member.weight === weight) return false;
    this.#counts[member.standing] -= 1;
    this.#counts[standing] += 1;
    member.standing = standing;
    member.weight = weight;
    return true;
  }

  #stateOf(member: Member): number {
    return memberState(member.standing, this.#mode);
  }

  #write(member: Member): void {
    const { members } = this.#table;
    const state = this.#stateOf(member);
    const { row, weight } = member;
    if (members.load(row, MEMBER_WEIGHT) !== weight) members.store(row, MEMBER_WEIGHT, weight);
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
