/** The keys used last, up to a number. */
export class RecentKeys {
  readonly #limit: number;
  /** In the order of their last use. */
  readonly #keys = new Set<string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** True when it is there; it counts as used. */
  has(key: string): boolean {
    if (!this.#keys.delete(key)) return false;
    this.#keys.add(key);
    return true;
  }

  add(key: string): void {
    this.#keys.delete(key);
    this.#keys.add(key);
    if (this.#keys.size <= this.#limit) return;
    for (const oldest of this.#keys) {
      this.#keys.delete(oldest);
      return;
    }
  }
}
