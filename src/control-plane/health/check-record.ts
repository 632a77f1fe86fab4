import type { Rows } from '../../shared/state-table/table.ts';
import {
  CHECK_REASON,
  CHECK_VERDICT,
  VERDICT_DOWN,
  VERDICT_INITIAL,
  VERDICT_UP,
} from '../../shared/state-table/layout.ts';
import type { CheckSpec } from '../compile/compiled.ts';
import type { CheckResult, CheckStatus } from '../types.ts';
import { describeCheck } from './describe.ts';
import type { ProbeResult } from './probe.ts';
import { lossOf, observe, type RoundTrips } from './quality.ts';
import { explainReason, reasonCode } from './reasons.ts';
import { judge, type Verdict, type VerdictState } from './verdict.ts';

const KEPT_RESULTS = 32;
const WORDS: Readonly<Record<Verdict, number>> = { up: VERDICT_UP, down: VERDICT_DOWN, initial: VERDICT_INITIAL };

/** A change of verdict. */
export interface Transition {
  readonly from: Verdict;
  readonly to: Verdict;
  /** The result that made it. */
  readonly result: CheckResult;
}

/** What one check thinks of one server, and the last results it thinks so for. */
export class CheckRecord {
  readonly row: number;
  readonly #rows: Rows;
  readonly #spec: CheckSpec;
  readonly #results: CheckResult[] = [];
  #state: VerdictState;
  #lastFailure: CheckResult | null = null;
  #roundTrips: RoundTrips | null = null;

  constructor(rows: Rows, row: number, spec: CheckSpec, state: VerdictState) {
    this.row = row;
    this.#rows = rows;
    this.#spec = spec;
    this.#state = state;
    rows.store(row, CHECK_VERDICT, WORDS[state.verdict]);
    rows.store(row, CHECK_REASON, 0);
  }

  get verdict(): Verdict {
    return this.#state.verdict;
  }

  /** The last failed result, null when none failed yet. */
  get lastFailure(): CheckResult | null {
    return this.#lastFailure;
  }

  /** `at` is wall-clock milliseconds. Returns the change of verdict it led to, null when there was none. */
  take(result: ProbeResult, at: number): Transition | null {
    const kept: CheckResult = { at, ...result };
    this.#results.push(kept);
    this.#roundTrips = observe(this.#roundTrips, result);
    if (this.#results.length > KEPT_RESULTS) this.#results.shift();
    if (result.outcome === 'fail') {
      this.#lastFailure = kept;
      this.#rows.store(this.row, CHECK_REASON, reasonCode(result.reason));
    }
    const from = this.#state.verdict;
    this.#state = judge(this.#state, result.outcome, this.#spec);
    const to = this.#state.verdict;
    if (from === to) return null;
    this.#rows.store(this.row, CHECK_VERDICT, WORDS[to]);
    if (to === 'up') this.#rows.store(this.row, CHECK_REASON, 0);
    return { from, to, result: kept };
  }

  status(): CheckStatus {
    const reason = this.#lastFailure?.reason ?? '';
    const { cause, remedy } = explainReason(reason);
    return {
      name: describeCheck(this.#spec),
      verdict: this.#state.verdict,
      reason,
      cause,
      remedy,
      consecutivePasses: this.#state.passes,
      consecutiveFails: this.#state.fails,
      roundTripMs: this.#roundTrips?.averageMs ?? null,
      jitterMs: this.#roundTrips?.jitterMs ?? null,
      loss: lossOf(this.#results),
      results: [...this.#results],
    };
  }
}
