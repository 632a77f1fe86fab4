/** Files whose content became part of the config in force: certificates and keys of TLS to upstreams, and of clients. */
import { stat } from 'node:fs/promises';
import type { Clock, Timer } from '../../shared/clock.ts';

/** As often as files of certificates are looked at. */
const LOOK_MS = 5000;

export class WatchedFiles {
  readonly #clock: Clock;
  /** False = not now: to be asked again. */
  readonly #onChange: () => boolean;
  #files: readonly string[] = [];
  #mark: Promise<string> = Promise.resolve('');
  #timer: Timer | null = null;

  constructor(clock: Clock, onChange: () => boolean) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** From now on these, as they are. Files that changed since they were read are seen as changed at their next change. */
  watch(files: readonly string[]): void {
    this.#files = files;
    this.#mark = markOf(files);
    this.#timer?.cancel();
    this.#timer = null;
    if (files.length > 0) this.#schedule();
  }

  stop(): void {
    this.watch([]);
  }

  #schedule(): void {
    this.#timer = this.#clock.after(LOOK_MS, () => void this.#look());
  }

  async #look(): Promise<void> {
    const files = this.#files;
    const [before, now] = [await this.#mark, await markOf(files)];
    // Somebody asked for other files meanwhile.
    if (files !== this.#files) return;
    // One that is missing may be on its way.
    if (now !== '' && now !== before && this.#onChange()) this.#mark = Promise.resolve(now);
    this.#schedule();
  }
}

/** Differs when a file was changed; '' while one is missing. */
async function markOf(files: readonly string[]): Promise<string> {
  try {
    const marks = await Promise.all(
      files.map(async (file) => {
        const { mtimeMs, size, ino } = await stat(file);
        return `${mtimeMs} ${size} ${ino}`;
      }),
    );
    return marks.join('\n');
  } catch {
    return '';
  }
}
