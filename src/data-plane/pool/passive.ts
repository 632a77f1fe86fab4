/**
 * Passive checks as a worker sees them: what became of a try is added to the member's words, and the control plane
 * is told when that makes a difference. PURE but for the words.
 *
 * A try stands under a mark that is taken with the pick: 0 = the member is in good standing; a positive strike number
 * = it is struck and was picked because all are; a negative one = this try tests it. Results that arrive late, of
 * tries from before a strike, say nothing about the time after it.
 */
import type { PassivePlan } from '../../shared/plan/types.ts';
import {
  MEMBER_HALF_OPEN,
  MEMBER_PASSIVE_FAILS,
  MEMBER_PASSIVE_REQUESTS,
  MEMBER_PASSIVE_SINCE,
  MEMBER_STATE,
  MEMBER_STRIKE,
  MEMBER_STRUCK,
} from '../../shared/state-table/layout.ts';
import { isStale } from '../../shared/state-table/passive-fails.ts';
import type { Rows } from '../../shared/state-table/table.ts';

/** Instead of a mark: another request tests the member already, so pick again. */
export const TESTED_ELSEWHERE = 0x7fffffff;

export class PassiveWatch {
  readonly #plan: PassivePlan;
  readonly #members: Rows;

  constructor(plan: PassivePlan, members: Rows) {
    this.#plan = plan;
    this.#members = members;
  }

  /** The mark of a try that was picked for the member of this row. Of all workers one gets the test. */
  take(row: number): number {
    const members = this.#members;
    if (members.load(row, MEMBER_STATE) !== MEMBER_HALF_OPEN) return members.load(row, MEMBER_STRIKE);
    const before = members.swap(row, MEMBER_STATE, MEMBER_HALF_OPEN, MEMBER_STRUCK);
    return before === MEMBER_HALF_OPEN ? -members.load(row, MEMBER_STRIKE) : TESTED_ELSEWHERE;
  }

  /** Whether a response that took so long (last byte of the request to the head) counts as a failure. */
  isFailure(status: number, latencyMs: number): boolean {
    const { unhealthyStatus, unhealthyLatencyMs } = this.#plan;
    if (unhealthyLatencyMs > 0 && latencyMs >= unhealthyLatencyMs) return true;
    return unhealthyStatus.includes(status) || unhealthyStatus.includes(Math.floor(status / 100));
  }

  /** A try failed. True when the control plane has to hear of it. */
  failed(row: number, mark: number, wallMs: number): boolean {
    if (mark !== 0) return mark < 0;
    if (this.#members.load(row, MEMBER_STRIKE) !== 0) return false;
    return this.#plan.failRatio > 0 ? this.#failedOfWindow(row, wallMs) : this.#failedInRow(row, wallMs);
  }

  /** A try went well. True when the control plane has to hear of it: the member passed its test. */
  passed(row: number, mark: number, wallMs: number): boolean {
    const members = this.#members;
    const strike = members.load(row, MEMBER_STRIKE);
    if (strike !== 0) return strike === Math.abs(mark);
    if (this.#plan.failRatio > 0) {
      this.#keepWindow(row, wallMs);
      members.add(row, MEMBER_PASSIVE_REQUESTS, 1);
    } else if (members.load(row, MEMBER_PASSIVE_FAILS) !== 0) {
      members.store(row, MEMBER_PASSIVE_FAILS, 0);
    }
    return false;
  }

  /** Told again with every further failure until the strike is there: a message may be lost with its worker. */
  #failedInRow(row: number, wallMs: number): boolean {
    const members = this.#members;
    if (isStale(members, row, wallMs, this.#plan.failDurationMs)) members.store(row, MEMBER_PASSIVE_FAILS, 0);
    members.store(row, MEMBER_PASSIVE_SINCE, wallMs | 0);
    return members.add(row, MEMBER_PASSIVE_FAILS, 1) + 1 >= this.#plan.maxFails;
  }

  #failedOfWindow(row: number, wallMs: number): boolean {
    const members = this.#members;
    const { failRatio, minRequests } = this.#plan;
    this.#keepWindow(row, wallMs);
    const requests = members.add(row, MEMBER_PASSIVE_REQUESTS, 1) + 1;
    const fails = members.add(row, MEMBER_PASSIVE_FAILS, 1) + 1;
    return requests >= minRequests && fails >= failRatio * requests;
  }

  /** Begins a new window when the old one is over. Two workers may both do it; a request or two is lost then. */
  #keepWindow(row: number, wallMs: number): void {
    const members = this.#members;
    if (!isStale(members, row, wallMs, this.#plan.failDurationMs)) return;
    members.store(row, MEMBER_PASSIVE_SINCE, wallMs | 0);
    members.store(row, MEMBER_PASSIVE_REQUESTS, 0);
    members.store(row, MEMBER_PASSIVE_FAILS, 0);
  }
}
