/**
 * What becomes of the work on servers that get no new work: the `drain` of each pool. A drain belongs to a member of a
 * pool at one address. It begins when that stops to get new work, is called off when it gets some again, and ends
 * its work at the deadline, if there is one.
 *
 * One timer looks at all drains: deadlines may pass a moment late, never early, and thousands of them cost one timer.
 */
import type { Clock, Timer } from '../../shared/clock.ts';
import type { SectionHash } from '../../shared/plan/types.ts';
import type { Leaving, LeavingCause } from './leaving.ts';
import type { Member } from './pool.ts';
import type { Slot } from './slots.ts';

/** How often it is looked whether a deadline has passed, or the last piece of work ended. */
const LOOK_MS = 200;

export interface DrainsDeps {
  readonly clock: Clock;
  /** What runs on the slot now, for all pools that name it. */
  running(slot: Slot): number;
  /** The members a drain may take its beginning from: those of other pools at the slot. */
  membersAt(slot: Slot): Iterable<Member>;
  /** Ends what runs on the slots for this pool. */
  cut(pool: SectionHash, slots: readonly number[], how: 'finish' | 'reset'): void;
  /** Work was cut, for the first time in this drain. */
  onCut(drain: Drain): void;
  /** Nothing runs any more. */
  onFinished(drain: Drain): void;
}

export interface Drain {
  readonly member: Member;
  readonly slot: Slot;
  readonly cause: LeavingCause;
  /** Wall-clock milliseconds, 0 = none. */
  readonly deadline: number;
  /** The deadline has passed and what ran was ended. */
  readonly isOver: boolean;
}

interface Running extends Drain {
  cause: LeavingCause;
  tried: boolean;
  ignoresPool: boolean;
  since: number;
  deadline: number;
  isOver: boolean;
  hadWork: boolean;
  isFinished: boolean;
}

export class Drains {
  readonly #deps: DrainsDeps;
  readonly #drains: Map<Member, Map<Slot, Running>> = new Map();
  /** Those the timer has to look at. */
  readonly #open: Set<Running> = new Set();
  #timer: Timer | null = null;

  constructor(deps: DrainsDeps) {
    this.#deps = deps;
  }

  /** The drain of a member at one of its slots; undefined = it gets new work there. */
  of(member: Member, slot: Slot): Drain | undefined {
    return this.#drains.get(member)?.get(slot);
  }

  /** Those of servers that the config in force does not name and that still run something. */
  *removed(): IterableIterator<Drain> {
    for (const drain of this.#open) if (drain.cause === 'removed' && drain.hadWork) yield drain;
  }

  /** `leaving` as it is now; null = new work comes. True when that is another answer than before. */
  review(member: Member, slot: Slot, leaving: Leaving | null): boolean {
    const drain = this.#drains.get(member)?.get(slot);
    if (leaving === null) {
      if (drain === undefined) return false;
      this.#forget(drain);
      return true;
    }
    if (drain === undefined) {
      this.#begin(member, slot, leaving);
      return true;
    }
    return this.#update(drain, leaving);
  }

  /** The member no longer has the slot. `ended`: because nothing of its pool runs any more. */
  drop(member: Member, slot: Slot, ended: boolean): void {
    const drain = this.#drains.get(member)?.get(slot);
    if (drain === undefined) return;
    if (ended && drain.hadWork) this.#finish(drain);
    this.#forget(drain);
  }

  /** The member's pool came into force: work of the one before may have become its own after it was cut. */
  cameIntoForce(member: Member): void {
    for (const drain of this.#drains.get(member)?.values() ?? []) if (drain.isOver) this.#cut([drain]);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#open.clear();
  }

  #begin(member: Member, slot: Slot, { cause, tried, hasOwnDeadline }: Leaving): void {
    const { clock } = this.#deps;
    const since = this.#earlierBeginning(member, slot, cause) ?? clock.now();
    const drain: Running = {
      ...{ member, slot, cause, tried, ignoresPool: hasOwnDeadline, since, deadline: 0 },
      ...{ isOver: false, hadWork: this.#deps.running(slot) > 0, isFinished: false },
    };
    this.#setDeadline(drain);
    const ofMember = this.#drains.get(member) ?? new Map<Slot, Running>();
    this.#drains.set(member, ofMember.set(slot, drain));
    // At once also where best effort is about to try it again: what ran when it went down is what the option is for.
    if (member.pool.spec.drainMs === 0 && !hasOwnDeadline) this.#cut([drain]);
    this.#watch(drain);
  }

  /** Over a reload that changes the pool, a drain that runs goes on under the new one with the time it has left. */
  #earlierBeginning(member: Member, slot: Slot, cause: LeavingCause): number | null {
    let earliest: number | null = null;
    for (const other of this.#deps.membersAt(slot)) {
      const drain = other === member ? undefined : this.#drains.get(other)?.get(slot);
      if (drain?.cause !== cause || other.spec.identity !== member.spec.identity) continue;
      if (earliest === null || drain.since < earliest) earliest = drain.since;
    }
    return earliest;
  }

  #update(drain: Running, { cause, tried, hasOwnDeadline }: Leaving): boolean {
    const wasTried = drain.tried;
    const same = wasTried === tried && drain.cause === cause && drain.ignoresPool === hasOwnDeadline;
    if (same) return false;
    if (cause === 'operator' && drain.cause !== cause) {
      // His time counts from his word, not from the failure that was there before it.
      Object.assign(drain, { since: this.#deps.clock.now(), isOver: false, isFinished: false });
    }
    drain.cause = cause;
    drain.tried = tried;
    drain.ignoresPool = hasOwnDeadline;
    this.#setDeadline(drain);
    // The others are back, so what it got meanwhile goes as well.
    if (wasTried && !tried && drain.isOver) this.#cut([drain]);
    this.#watch(drain);
    return true;
  }

  #setDeadline(drain: Running): void {
    const { clock } = this.#deps;
    const { drainMs } = drain.member.pool.spec;
    drain.deadline =
      drainMs === undefined || drain.ignoresPool ? 0 : clock.wall() + (drain.since + drainMs - clock.now());
  }

  #watch(drain: Running): void {
    if (drain.isFinished && !this.#isPending(drain)) return;
    this.#open.add(drain);
    this.#timer ??= this.#deps.clock.after(LOOK_MS, () => this.#look());
  }

  #isPending({ deadline, isOver }: Running): boolean {
    return deadline !== 0 && !isOver;
  }

  #look(): void {
    this.#timer = null;
    const wall = this.#deps.clock.wall();
    this.#cut([...this.#open].filter((drain) => this.#isPending(drain) && !drain.tried && drain.deadline <= wall));
    for (const drain of [...this.#open]) {
      if (this.#deps.running(drain.slot) > 0) drain.hadWork = true;
      else if (!drain.tried) this.#finish(drain);
      if (drain.isFinished && !this.#isPending(drain)) this.#open.delete(drain);
    }
    if (this.#open.size > 0) this.#timer ??= this.#deps.clock.after(LOOK_MS, () => this.#look());
  }

  #cut(drains: readonly Running[]): void {
    const first = drains.filter(({ isOver }) => !isOver);
    for (const drain of drains) drain.isOver = true;
    for (const [pool, some] of Map.groupBy(drains, ({ member }) => member.pool)) {
      const slots = some.map(({ slot }) => slot.row);
      this.#deps.cut(pool.spec.hash, slots, pool.spec.drainMs === 0 ? 'reset' : 'finish');
    }
    for (const drain of first) this.#deps.onCut(drain);
  }

  #finish(drain: Running): void {
    if (drain.isFinished) return;
    drain.isFinished = true;
    // A server that went down idle, or that nothing ran on when it was removed, is no news.
    if (drain.hadWork || drain.cause === 'operator') this.#deps.onFinished(drain);
  }

  #forget(drain: Running): void {
    this.#open.delete(drain);
    const ofMember = this.#drains.get(drain.member);
    ofMember?.delete(drain.slot);
    if (ofMember?.size === 0) this.#drains.delete(drain.member);
  }
}
