/**
 * `slow_start`: a server that comes back gets its weight in steps, so that it can fill caches and pools first.
 * In pools that have it weights count in tenths; a member at its foot has one tenth of its own.
 */
import type { Clock, Timer } from '../../shared/clock.ts';
import type { PoolSpec } from '../compile/compiled.ts';
import type { Standing } from './member-state.ts';
import type { Member } from './pool.ts';

/** Steps of a climb, and what one unit of weight is in the table then. */
const STEPS = 10;
/** Where a member that is eligible now must have been before: it had no clients, and not because it is new. */
const RETURNS: readonly Standing[] = Object.freeze(['down', 'initial', 'maint', 'struck', 'half-open', 'ejected']);

interface Climb {
  step: number;
  timer: Timer;
}

/** What weight 1 is in the words of a pool. */
export function weightUnit(spec: PoolSpec): number {
  return spec.members.some(({ slowStartMs }) => slowStartMs !== undefined) ? STEPS : 1;
}

export class SlowStarts {
  readonly #clock: Clock;
  readonly #onStep: (member: Member) => void;
  readonly #climbs: Map<Member, Climb> = new Map();

  /** `onStep`: the weight word of the member is to be written anew. */
  constructor(clock: Clock, onStep: (member: Member) => void) {
    this.#clock = clock;
    this.#onStep = onStep;
  }

  /** Tell it of every change of a standing, before the weight word is asked for. */
  moved(member: Member, before: Standing, after: Standing): void {
    const { slowStartMs } = member.spec;
    if (slowStartMs === undefined) return;
    if (after !== 'eligible') this.drop(member);
    else if (RETURNS.includes(before)) this.#climb(member, 1, slowStartMs / (STEPS - 1));
  }

  /** What the weight word of a member with this weight says now. */
  weightWord(member: Member, weight: number): number {
    const climb = this.#climbs.get(member);
    return weight * (climb === undefined ? member.pool.weightUnit : climb.step);
  }

  drop(member: Member): void {
    this.#climbs.get(member)?.timer.cancel();
    this.#climbs.delete(member);
  }

  stop(): void {
    for (const { timer } of this.#climbs.values()) timer.cancel();
    this.#climbs.clear();
  }

  #climb(member: Member, step: number, stepMs: number): void {
    const timer = this.#clock.after(stepMs, () => {
      if (step + 1 < STEPS) this.#climb(member, step + 1, stepMs);
      else this.#climbs.delete(member);
      this.#onStep(member);
    });
    this.#climbs.set(member, { step, timer });
  }
}
