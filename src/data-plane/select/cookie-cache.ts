/** What is known of a valid token: decrypting the same one for every request would be most of the work. */
export interface KnownToken {
  readonly issuedMinutes: number;
  /** Place of the member it names, −1 when the pool has no such member. */
  readonly position: number;
}

/**
 * A bounded cache in two generations: when the young one is full it becomes the old one and the old one
 * is dropped. A hit moves an entry to the young one, so what is in use stays. Only valid tokens may enter:
 * a client that invents values cannot push out anybody.
 */
export class TokenCache {
  readonly #generationSize: number;
  #young = new Map<string, KnownToken>();
  #old = new Map<string, KnownToken>();

  /** Holds between `generationSize` and twice as many entries (about 250 bytes each). */
  constructor(generationSize: number) {
    this.#generationSize = generationSize;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(token: string): KnownToken | undefined {
    const known = this.#young.get(token);
    if (known !== undefined) return known;
    const older = this.#old.get(token);
    if (older !== undefined) {
      this.#old.delete(token);
      this.put(token, older);
    }
    return older;
  }

  /** The token must not be a slice of something larger, which it would keep alive. */
  put(token: string, known: KnownToken): void {
    if (this.#young.size >= this.#generationSize) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(token, known);
  }
}
