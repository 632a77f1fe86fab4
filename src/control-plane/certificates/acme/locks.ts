/**
 * Locks in a storage that several nodes share. Clocks of nodes differ, so no time is written down: whoever has a lock
 * changes its text all the while, and a lock whose text stands still for long, by the looker's own clock, is stale.
 */
import { randomBytes } from 'node:crypto';
import type { Clock, Timer } from '../../../shared/clock.ts';
import { storageName, type Storage } from './storage.ts';

const BEAT_MS = 5000;
/** A node that cannot write for this long has lost its lock. */
export const STALE_MS = 30_000;

export interface Lock {
  release(): Promise<void>;
}

export class Locks {
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #seen = new Map<string, { readonly text: string; readonly at: number }>();

  constructor(storage: Storage, clock: Clock) {
    this.#storage = storage;
    this.#clock = clock;
  }

  /** null = somebody else has it: look again later. */
  async take(name: string): Promise<Lock | null> {
    const key = `locks/${storageName(name)}.lock`;
    const owner = randomBytes(9).toString('base64url');
    if (!(await this.#storage.create(key, `${owner} 0`))) {
      if (!(await this.#isStale(key))) return null;
      await this.#storage.remove(key);
      if (!(await this.#storage.create(key, `${owner} 0`))) return null;
    }
    this.#seen.delete(key);
    // Two nodes that see a stale lock at once may remove each other's: the later one has it.
    if (!(await this.#storage.read(key))?.startsWith(owner)) return null;
    return this.#hold(key, owner);
  }

  async #isStale(key: string): Promise<boolean> {
    const text = await this.#storage.read(key);
    if (text === null) return false;
    const seen = this.#seen.get(key);
    if (seen === undefined || seen.text !== text) {
      this.#seen.set(key, { text, at: this.#clock.now() });
      return false;
    }
    return this.#clock.now() - seen.at >= STALE_MS;
  }

  #hold(key: string, owner: string): Lock {
    let beats = 0;
    let timer: Timer | null = null;
    let released = false;
    const isOurs = async (): Promise<boolean> => (await this.#storage.read(key))?.startsWith(owner) === true;
    const beat = async (): Promise<void> => {
      beats += 1;
      if (released || !(await isOurs())) return;
      if (!released) await this.#storage.write(key, `${owner} ${beats}`);
      if (released) await this.#storage.remove(key);
      else schedule();
    };
    const schedule = (): void => {
      // A beat that fails makes the lock stale, which is what it then is.
      timer = this.#clock.after(BEAT_MS, () => void beat().catch(() => {}));
    };
    schedule();
    return {
      release: async () => {
        released = true;
        timer?.cancel();
        if (await isOurs()) await this.#storage.remove(key);
      },
    };
  }
}
