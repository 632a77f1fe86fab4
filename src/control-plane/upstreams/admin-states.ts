import type { Clock, Timer } from '../../shared/clock.ts';
import type { AdminState, UpstreamPatch } from '../types.ts';

/** setTimeout takes no more; a longer wait is cut in pieces. */
const LONGEST_WAIT_MS = 2_147_483_647;

/** The operator's word about one key: an `ip:port` or a configured upstream text. JSON-able. */
export interface AdminRecord {
  readonly key: string;
  readonly state: AdminState | null;
  /** Wall-clock milliseconds, 0 = none. */
  readonly deadline: number;
  /** Order in which the state was given; of two records about one address the later one holds. */
  readonly stateOrder: number;
  readonly weight: number | null;
  readonly weightOrder: number;
}

export type AdminSnapshot = readonly AdminRecord[];

/** What holds for an address now. */
export interface EffectiveAdmin {
  readonly state: AdminState;
  /** Wall-clock milliseconds, 0 = none. */
  readonly deadline: number;
  /** The deadline has passed: nobody is let in any more, whatever the state says. */
  readonly expired: boolean;
}

/** What holds where nothing was said. */
export const READY: EffectiveAdmin = Object.freeze({ state: 'ready', deadline: 0, expired: false });

/**
 * What the operator said, kept over reloads and, as a snapshot, over restarts. A record about an
 * upstream's name follows it to whatever address it resolves to.
 */
export class AdminStates {
  readonly #clock: Clock;
  readonly #onDeadline: (key: string) => void;
  readonly #records: Map<string, AdminRecord> = new Map();
  readonly #timers: Map<string, Timer> = new Map();
  #order = 0;

  constructor(clock: Clock, onDeadline: (key: string) => void) {
    this.#clock = clock;
    this.#onDeadline = onDeadline;
  }

  /** Nothing was ever said. */
  get empty(): boolean {
    return this.#records.size === 0;
  }

  /** `patch` has passed `checkPatch`. A drain time of 0 ends at once, within this call. */
  patch(key: string, patch: UpstreamPatch): void {
    this.#order += 1;
    const old = this.#records.get(key);
    const { adminState: state, weight, drainMs } = patch;
    this.#records.set(key, {
      key,
      state: state ?? old?.state ?? null,
      deadline: state === undefined ? (old?.deadline ?? 0) : drainMs === undefined ? 0 : this.#clock.wall() + drainMs,
      stateOrder: state === undefined ? (old?.stateOrder ?? 0) : this.#order,
      weight: weight ?? old?.weight ?? null,
      weightOrder: weight === undefined ? (old?.weightOrder ?? 0) : this.#order,
    });
    if (state !== undefined) this.#watch(key);
  }

  /** What holds for an address that goes by these keys. */
  effective(keys: Iterable<string>): EffectiveAdmin {
    let latest: AdminRecord | null = null;
    for (const key of keys) {
      const record = this.#records.get(key);
      if (record?.state == null) continue;
      if (latest === null || record.stateOrder > latest.stateOrder) latest = record;
    }
    if (latest === null) return READY;
    const expired = latest.deadline !== 0 && latest.deadline <= this.#clock.wall();
    return { state: latest.state ?? 'ready', deadline: latest.deadline, expired };
  }

  /** The weight given to a member that goes by these keys, null = none was given. */
  weight(keys: Iterable<string>): number | null {
    let latest: AdminRecord | null = null;
    for (const key of keys) {
      const record = this.#records.get(key);
      if (record?.weight == null) continue;
      if (latest === null || record.weightOrder > latest.weightOrder) latest = record;
    }
    return latest?.weight ?? null;
  }

  snapshot(): AdminSnapshot {
    return [...this.#records.values()];
  }

  restore(snapshot: AdminSnapshot): void {
    for (const record of snapshot) {
      this.#records.set(record.key, record);
      this.#order = Math.max(this.#order, record.stateOrder, record.weightOrder);
      this.#watch(record.key);
    }
  }

  stop(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  #watch(key: string): void {
    this.#timers.get(key)?.cancel();
    this.#timers.delete(key);
    const deadline = this.#records.get(key)?.deadline ?? 0;
    const left = deadline - this.#clock.wall();
    if (deadline === 0) return;
    if (left <= 0) return this.#onDeadline(key);
    // The wall clock decides, and may be set meanwhile: after the wait it is asked again.
    this.#timers.set(
      key,
      this.#clock.after(Math.min(left, LONGEST_WAIT_MS), () => this.#watch(key)),
    );
  }
}

/** Throws RangeError for a weight or a drain time that makes no sense. */
export function checkPatch(patch: UpstreamPatch): void {
  const { adminState, weight, drainMs } = patch;
  if (weight !== undefined && !(Number.isInteger(weight) && weight >= 0 && weight <= 65_535)) {
    throw new RangeError(`weight ${weight}: give a whole number from 0 to 65535`);
  }
  if (drainMs === undefined) return;
  if (adminState !== 'drain') throw new RangeError('a drain time needs the admin state "drain"');
  if (!(Number.isFinite(drainMs) && drainMs >= 0)) throw new RangeError(`drain time ${drainMs} ms: give 0 or more`);
}
