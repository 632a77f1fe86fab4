import { isIP } from 'node:net';
import { Pool } from '../../data-plane/pool/pool.ts';
import { unixPath } from '../../shared/net/address.ts';
import type { MemberRows, PoolRows, PoolSection } from '../../shared/plan/types.ts';
import {
  MEMBER_BACKUP,
  MEMBER_DOWN,
  MEMBER_DRAIN,
  MEMBER_ELIGIBLE,
  MEMBER_STATE,
  MEMBER_WEIGHT,
  POOL_CURSOR,
} from '../../shared/state-table/layout.ts';
import { StateTable } from '../../shared/state-table/table.ts';
import type { MemberSpec, PoolSpec } from '../compile/compiled.ts';
import { memberPlan } from '../compile/members.ts';

/** A worker's own pool, whose rotation is a copy: looking at it takes no turn from real requests. */
export class TrialPool extends Pool {
  readonly #cursor: number;
  #taken = 0;

  constructor(section: PoolSection, rows: PoolRows, table: StateTable) {
    super(section, rows, table);
    this.#cursor = table.pools.load(rows.pool, POOL_CURSOR);
  }

  override nextTicket(): number {
    this.#taken += 1;
    return (this.#cursor + this.#taken - 1) >>> 0;
  }

  /** The rotation stands again where it stood. */
  rewind(): void {
    this.#taken = 0;
  }
}

/** The pool of a config that runs nowhere: every member is eligible but those `isDown` names. */
export function idlePool(spec: PoolSpec, isDown: (member: MemberSpec) => boolean): TrialPool {
  const table = new StateTable();
  table.grow('pool', 0, 0);
  table.grow('member', 0, Math.max(0, spec.members.length - 1));
  table.grow('slot', 0, Math.max(0, spec.members.length - 1));
  const mayWork = (member: MemberSpec): boolean => member.weight !== 0 && !isDown(member);
  const standBy = spec.members.some((member) => member.backup !== true && mayWork(member));
  // Best effort: while nobody is up, nobody counts as down.
  const allTried = spec.bestEffort && !spec.members.some(mayWork);
  spec.members.forEach((member, row) => {
    table.members.store(row, MEMBER_WEIGHT, member.weight ?? 1);
    table.members.store(row, MEMBER_STATE, idleState(member, !allTried && isDown(member), standBy));
  });
  // What DNS would name is not known here: a dynamic pool is shown with its fallback list.
  const found = spec.sources === undefined ? {} : { found: spec.members.map(memberPlan) };
  return new TrialPool(spec.section, { pool: 0, members: spec.members.map(rowsOf), ...found }, table);
}

/** `standBy`: somebody who is no backup may be picked. */
function idleState({ weight, backup }: MemberSpec, down: boolean, standBy: boolean): number {
  if (down) return MEMBER_DOWN;
  if (weight === 0) return MEMBER_DRAIN;
  return backup === true && standBy ? MEMBER_BACKUP : MEMBER_ELIGIBLE;
}

/** Names are not resolved: such a member has no endpoint. */
function rowsOf({ host, port }: MemberSpec, row: number): MemberRows {
  return {
    member: row,
    endpoints: isIP(host) === 0 && unixPath(host) === null ? [] : [{ slot: row, check: -1, host, port }],
  };
}
