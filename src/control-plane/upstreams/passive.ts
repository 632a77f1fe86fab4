/**
 * Who is struck by passive checks. Workers count and tell; here a member is taken away, tested with one request after
 * its `fail_duration`, and given back. A strike belongs to a member of a pool and ends with it.
 *
 * Good → struck → half-open → good, or ejected → half-open → …: after a test that failed too, the member is no longer
 * away for a moment only, and affinity cookies move on.
 */
import type { Clock, Timer } from '../../shared/clock.ts';
import {
  MEMBER_HALF_OPEN,
  MEMBER_PASSIVE_FAILS,
  MEMBER_PASSIVE_REQUESTS,
  MEMBER_STATE,
  MEMBER_STRIKE,
  MEMBER_STRUCK,
} from '../../shared/state-table/layout.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import type { PassiveStanding } from './member-state.ts';
import type { Member } from './pool.ts';

const MAX_STRIKE = 0x3fffffff;

export interface PassiveStrikesDeps {
  readonly table: StateTable;
  readonly clock: Clock;
  /** The member's passive standing is another one. */
  refresh(member: Member): void;
  onStruck(member: Member, fails: number): void;
  onRecovered(member: Member): void;
}

interface Strike {
  number: number;
  standing: PassiveStanding;
  timer: Timer;
}

export class PassiveStrikes {
  readonly #deps: PassiveStrikesDeps;
  readonly #strikes: Map<Member, Strike> = new Map();
  #lastNumber = 0;

  constructor(deps: PassiveStrikesDeps) {
    this.#deps = deps;
  }

  standing(member: Member): PassiveStanding {
    return this.#strikes.get(member)?.standing ?? 'good';
  }

  /** A worker's word. `number`: the strike its try ran under, 0 = none. What belongs to another strike came too late. */
  report(member: Member, outcome: 'failed' | 'passed', number: number): void {
    const strike = this.#strikes.get(member);
    if (number !== (strike?.number ?? 0)) return;
    if (strike === undefined) {
      if (outcome === 'failed') this.#strike(member);
    } else if (outcome === 'failed') {
      this.#strikeAgain(member, strike);
    } else {
      this.#lift(member, strike);
    }
  }

  /** The member is no more: its row may soon be another's. */
  forget(member: Member): void {
    this.#strikes.get(member)?.timer.cancel();
    this.#strikes.delete(member);
  }

  stop(): void {
    for (const { timer } of this.#strikes.values()) timer.cancel();
    this.#strikes.clear();
  }

  #strike(member: Member): void {
    const { table, onStruck, refresh } = this.#deps;
    const number = this.#nextNumber();
    this.#strikes.set(member, { number, standing: 'struck', timer: this.#arm(member) });
    table.members.store(member.row, MEMBER_STRIKE, number);
    refresh(member);
    onStruck(member, table.members.load(member.row, MEMBER_PASSIVE_FAILS));
  }

  #strikeAgain(member: Member, strike: Strike): void {
    strike.timer.cancel();
    strike.number = this.#nextNumber();
    strike.standing = 'ejected';
    strike.timer = this.#arm(member);
    this.#deps.table.members.store(member.row, MEMBER_STRIKE, strike.number);
    this.#deps.refresh(member);
  }

  #lift(member: Member, strike: Strike): void {
    const { members } = this.#deps.table;
    strike.timer.cancel();
    this.#strikes.delete(member);
    members.store(member.row, MEMBER_PASSIVE_FAILS, 0);
    members.store(member.row, MEMBER_PASSIVE_REQUESTS, 0);
    members.store(member.row, MEMBER_STRIKE, 0);
    this.#deps.refresh(member);
    this.#deps.onRecovered(member);
  }

  #arm(member: Member): Timer {
    const { failDurationMs } = member.pool.spec.section.passive!;
    return this.#deps.clock.after(failDurationMs, () => this.#open(member));
  }

  /** The next request may test it. Looks again later: a test can end without a result, when its client goes away. */
  #open(member: Member): void {
    const strike = this.#strikes.get(member);
    if (strike === undefined) return;
    strike.timer = this.#arm(member);
    if (strike.standing === 'half-open') {
      this.#deps.table.members.swap(member.row, MEMBER_STATE, MEMBER_STRUCK, MEMBER_HALF_OPEN);
      return;
    }
    strike.standing = 'half-open';
    this.#deps.refresh(member);
  }

  /** Never 0, and not one that a late result could still carry. */
  #nextNumber(): number {
    this.#lastNumber = (this.#lastNumber % MAX_STRIKE) + 1;
    return this.#lastNumber;
  }
}
