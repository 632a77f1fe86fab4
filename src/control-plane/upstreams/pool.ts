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
  readonly members: readonly Member[];
  /** Generations that name it. */
  readonly generations: Set<number> = new Set();
  readonly #table: StateTable;
  readonly #counts: Record<Standing, number>;
  #mode: PoolMode = 'normal';

  constructor(table: StateTable, spec: PoolSpec, row: number, names: readonly { name: WatchedName; row: number }[]) {
    this.#table = table;
    this.spec = spec;
    this.row = row;
    this.members = names.map(({ name, row: memberRow }, position) => ({
      pool: this,
      position,
      row: memberRow,
      spec: spec.members[position]!,
      name,
      endpoints: [],
      standing: 'out',
      weight: 1,
    }));
    this.#counts = countStandings(this.members.map((member) => member.standing));
    for (const member of this.members) table.members.store(member.row, MEMBER_WEIGHT, member.weight);
  }

  get mode(): PoolMode {
    return this.#mode;
  }

  rows(): PoolRows {
    return { pool: this.row, members: this.members.map(memberRows) };
  }

  /** Takes what is new about members and writes the words that change. Returns true when one did. */
  update(changes: readonly { member: Member; standing: Standing; weight: number }[]): boolean {
    const touched = changes.filter((change) => this.#take(change.member, change.standing, change.weight));
    const mode = poolMode(this.#counts, this.spec.bestEffort);
    if (touched.length === 0 && mode === this.#mode) return false;
    const affected = mode === this.#mode ? touched.map((change) => change.member) : this.members;
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
    if (members.load(member.row, MEMBER_WEIGHT) !== member.weight) members.store(member.row, MEMBER_WEIGHT, member.weight);
    if (members.load(member.row, MEMBER_STATE) !== state) members.store(member.row, MEMBER_STATE, state);
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
