/**
 * Which generations run in which worker. A generation is released once no exchange of it runs
 * anywhere and a newer one is in force: then its rows and names may go.
 */
export class Generations<Worker extends object> {
  readonly #onRelease: (generation: number) => void;
  readonly #running = new Map<Worker, Set<number>>();
  readonly #unreleased = new Set<number>();
  #current = 0;

  constructor(onRelease: (generation: number) => void) {
    this.#onRelease = onRelease;
  }

  /** The generation in force, 0 before the first load. */
  get current(): number {
    return this.#current;
  }

  /** `generation` is in force; `workers` run it from here on, beside what they have not finished yet. */
  commit(generation: number, workers: Iterable<Worker>): void {
    this.#current = generation;
    this.#unreleased.add(generation);
    for (const worker of workers) this.join(worker, generation);
    this.#sweep();
  }

  /** A worker that started after the commit runs it as well. */
  join(worker: Worker, generation: number): void {
    const generations = this.#running.get(worker) ?? new Set();
    generations.add(generation);
    this.#running.set(worker, generations);
  }

  /** The last exchange of an old generation ended in `worker`. */
  idle(worker: Worker, generation: number): void {
    this.#running.get(worker)?.delete(generation);
    this.#sweep();
  }

  gone(worker: Worker): void {
    this.#running.delete(worker);
    this.#sweep();
  }

  #sweep(): void {
    for (const generation of this.#unreleased) {
      if (generation === this.#current || this.#runsSomewhere(generation)) continue;
      this.#unreleased.delete(generation);
      this.#onRelease(generation);
    }
  }

  #runsSomewhere(generation: number): boolean {
    for (const generations of this.#running.values()) if (generations.has(generation)) return true;
    return false;
  }
}
