import type { Writable } from 'node:stream';
import type { Logger } from '../../shared/log.ts';
import type { AccessOutput } from '../../shared/plan/types.ts';

/** Bytes that may wait for a reader who is slower than the traffic. Beyond it lines are dropped and counted. */
export const MAX_WAITING_BYTES: number = 8 * 1024 * 1024;

/** Writes batches of access lines to the output the config names. Never blocks or throws. */
export class AccessWriter {
  readonly #streams: Readonly<Record<AccessOutput, Writable>>;
  readonly #log: Logger;
  #droppedLines = 0;

  constructor(streams: Readonly<Record<AccessOutput, Writable>>, log: Logger) {
    this.#streams = streams;
    this.#log = log;
  }

  /** `lines`: whole lines, each with its newline. */
  write(lines: string, output: AccessOutput): void {
    const stream = this.#streams[output];
    if (stream.writableLength > MAX_WAITING_BYTES) {
      this.#droppedLines += countLines(lines);
      return;
    }
    this.#reportDropped();
    stream.write(lines);
  }

  #reportDropped(): void {
    if (this.#droppedLines === 0) return;
    this.#log.warn('access lines were dropped: their reader is too slow', { lines: this.#droppedLines });
    this.#droppedLines = 0;
  }
}

function countLines(lines: string): number {
  let count = 0;
  for (let at = lines.indexOf('\n'); at !== -1; at = lines.indexOf('\n', at + 1)) count += 1;
  return count;
}
