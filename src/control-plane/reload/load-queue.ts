/** A load that waited and was overtaken by a newer one. */
export class ReplacedError extends Error {
  constructor() {
    super(
      'this load never started: a newer one arrived while it waited and replaced it (nothing was changed by this one)',
    );
    this.name = 'ReplacedError';
  }
}

interface Waiting {
  start(): void;
  replace(): void;
}

/** Loads, one at a time: a second one waits, one that arrives while another waits replaces it. */
export class LoadQueue {
  #running = false;
  #waiting: Waiting | null = null;

  /** A load runs: another one would wait, or take the place of one that does. */
  get busy(): boolean {
    return this.#running;
  }

  run<T>(load: () => Promise<T>): Promise<T> {
    if (!this.#running) return this.#start(load);
    this.#waiting?.replace();
    return new Promise<T>((resolve, reject) => {
      this.#waiting = {
        start: () => resolve(this.#start(load)),
        replace: () => reject(new ReplacedError()),
      };
    });
  }

  async #start<T>(load: () => Promise<T>): Promise<T> {
    this.#running = true;
    try {
      return await load();
    } finally {
      this.#running = false;
      const next = this.#waiting;
      this.#waiting = null;
      next?.start();
    }
  }
}
