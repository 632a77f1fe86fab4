import type { Clock, Timer } from '../../shared/clock.ts';
import { LANE_HEARTBEAT } from '../../shared/state-table/layout.ts';
import type { Rows } from '../../shared/state-table/table.ts';

/** Looks per timeout: a hang is seen at most an eighth of the timeout late. */
const LOOKS = 8;

/** Less would mistake the pause between two beats for a hang. */
const MIN_TIMEOUT_MS = 500;

interface Pulse {
  value: number;
  stillMs: number;
}

/**
 * Watches the heartbeat words. Time counts only as far as this thread itself ran: after a stall of
 * the whole process (SIGSTOP, a suspended machine) one look adds at most two ticks, so that workers
 * get their turn before they are judged.
 */
export class HangWatch {
  readonly #lanes: Rows;
  readonly #clock: Clock;
  #timeoutMs: number;
  readonly #onHang: (lane: number) => void;
  readonly #pulses = new Map<number, Pulse>();
  #lastLook: number;
  #timer: Timer;

  constructor(lanes: Rows, clock: Clock, timeoutMs: number, onHang: (lane: number) => void) {
    this.#lanes = lanes;
    this.#clock = clock;
    this.#timeoutMs = Math.max(timeoutMs, MIN_TIMEOUT_MS);
    this.#onHang = onHang;
    this.#lastLook = clock.now();
    this.#timer = this.#arm();
  }

  /** A heartbeat that stands still this long is a hang. */
  get timeoutMs(): number {
    return this.#timeoutMs;
  }

  /** How long a worker has stood still so far counts on. */
  setTimeout(timeoutMs: number): void {
    const next = Math.max(timeoutMs, MIN_TIMEOUT_MS);
    // Reloads that change nothing must not put the next look off again and again.
    if (next === this.#timeoutMs) return;
    this.#timeoutMs = next;
    this.#timer.cancel();
    this.#timer = this.#arm();
  }

  watch(lane: number): void {
    this.#pulses.set(lane, { value: this.#lanes.load(lane, LANE_HEARTBEAT), stillMs: 0 });
  }

  forget(lane: number): void {
    this.#pulses.delete(lane);
  }

  stop(): void {
    this.#timer.cancel();
    this.#pulses.clear();
  }

  #arm(): Timer {
    return this.#clock.after(this.#timeoutMs / LOOKS, () => {
      this.#look();
      this.#timer = this.#arm();
    });
  }

  #look(): void {
    const now = this.#clock.now();
    const passedMs = Math.min(now - this.#lastLook, (2 * this.#timeoutMs) / LOOKS);
    this.#lastLook = now;
    for (const [lane, pulse] of [...this.#pulses]) {
      const value = this.#lanes.load(lane, LANE_HEARTBEAT);
      pulse.stillMs = value === pulse.value ? pulse.stillMs + passedMs : 0;
      pulse.value = value;
      if (pulse.stillMs < this.#timeoutMs) continue;
      this.#pulses.delete(lane);
      this.#onHang(lane);
    }
  }
}
