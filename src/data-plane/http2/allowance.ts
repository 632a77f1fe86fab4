/** How often a client may do something that costs us more than it: a burst, and so many a second in the long run. */
export class Allowance {
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  /** Monotonic milliseconds up to which it was refilled. */
  #at: number;

  constructor(burst: number, perSecond: number, nowMs: number) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
    this.#at = nowMs;
  }

  /** False when there is none left. */
  take(nowMs: number): boolean {
    this.#left = Math.min(this.#burst, this.#left + ((nowMs - this.#at) * this.#perSecond) / 1000);
    this.#at = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }

  /** The client did something useful. */
  give(): void {
    if (this.#left < this.#burst) this.#left += 1;
  }
}
