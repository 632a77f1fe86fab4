import type { Writable } from 'node:stream';
import type { Clock, Timer } from '../../shared/clock.ts';
import type { Logger } from '../../shared/log.ts';
import type { AccessSink } from '../../shared/plan/types.ts';
import type { LogFileSpec, LogNetSpec, RotationSpec } from '../compile/compiled.ts';
import { openLogFile } from './log-file.ts';
import { NetOutputs } from './net-outputs.ts';
import { finishRotated, moveAway, msToNext } from './timed-rotation.ts';

/** Bytes that may wait for a reader who is slower than the traffic. Beyond it lines are dropped and counted. */
export const MAX_WAITING_BYTES: number = 8 * 1024 * 1024;
/** A file that no config names any more is kept for lines of requests that still run. */
const LINGER_MS = 60_000;
/** A file that broke (disk full, removed folder) is tried again this often. */
const RETRY_MS = 5000;

/** A stop waits this long for a disk that does not take the last lines, or for a rotation. */
const CLOSE_MS = 2000;

interface OpenFile {
  readonly spec: LogFileSpec;
  /** null = it broke; the next try is at `retryAt`. */
  stream: Writable | null;
  retryAt: number;
  /** The next rotation at a time of the day. */
  rotation: Timer | null;
}

function end(file: OpenFile): void {
  file.rotation?.cancel();
  file.rotation = null;
  file.stream?.end();
}

/** Writes batches of access lines where the config says. Never blocks or throws. */
export class AccessWriter {
  readonly #streams: Readonly<Record<'stderr' | 'stdout', Writable>>;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #files = new Map<AccessSink, OpenFile>();
  readonly #nets: NetOutputs;
  #droppedLines = 0;

  constructor(streams: Readonly<Record<'stderr' | 'stdout', Writable>>, log: Logger, clock: Clock) {
    this.#streams = streams;
    this.#log = log;
    this.#clock = clock;
    this.#nets = new NetOutputs(log, clock);
  }

  /**
   * Opens the files and connections of a config that is about to come into force. Files that are open are opened anew, so that a tool
   * that moved one away finds the next lines in a new one. Rejects, and changes nothing, when one cannot be opened.
   */
  async open(specs: readonly LogFileSpec[], nets: readonly LogNetSpec[] = []): Promise<void> {
    const opened: OpenFile[] = [];
    try {
      for (const spec of specs) opened.push(await this.#openFile(spec));
      await this.#nets.open(nets);
    } catch (error) {
      for (const file of opened) end(file);
      throw error;
    }
    for (const file of opened) {
      const before = this.#files.get(file.spec.sink);
      if (before !== undefined) end(before);
      this.#files.set(file.spec.sink, file);
    }
  }

  /** The config is in force: other files are closed once requests of the old one had their time. */
  retain(specs: readonly LogFileSpec[], nets: readonly LogNetSpec[] = []): void {
    this.#nets.retain(nets, LINGER_MS);
    const named = new Set(specs.map(({ sink }) => sink));
    const left = [...this.#files.values()].filter(({ spec }) => !named.has(spec.sink));
    if (left.length === 0) return;
    this.#clock.after(LINGER_MS, () => {
      for (const file of left) if (this.#files.get(file.spec.sink) === file) this.#close(file);
    });
  }

  /** `lines`: whole lines, each with its newline. False: they were dropped. */
  write(lines: string, sink: AccessSink): boolean {
    if (sink.startsWith('net/')) {
      this.#nets.write(lines, sink);
      return true;
    }
    const stream = sink === 'stderr' || sink === 'stdout' ? this.#streams[sink] : this.#fileStream(sink);
    if (stream === null || stream.writableLength > MAX_WAITING_BYTES) {
      this.#droppedLines += countLines(lines);
      return false;
    }
    this.#reportDropped();
    stream.write(lines);
    return true;
  }

  /** Ends the files; resolves when what was written is with the system, or does not get there in time. */
  async close(): Promise<void> {
    const streams = [...this.#files.values()].flatMap(({ stream }) => stream ?? []);
    for (const file of this.#files.values()) file.rotation?.cancel();
    this.#files.clear();
    const files = streams.map((stream) => new Promise<void>((resolve) => stream.end(() => resolve())));
    const ended = Promise.all([...files, this.#nets.end()]);
    const { promise: tooLate, resolve } = Promise.withResolvers<void>();
    const timer = this.#clock.after(CLOSE_MS, resolve);
    await Promise.race([ended, tooLate]);
    timer.cancel();
    for (const stream of streams) stream.destroy();
    this.#nets.destroy();
  }

  async #openFile(spec: LogFileSpec): Promise<OpenFile> {
    const file: OpenFile = { spec, stream: null, retryAt: 0, rotation: null };
    try {
      await this.#connect(file);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`cannot write the log file ${spec.path}: ${reason}`, { cause: error });
    }
    this.#schedule(file);
    return file;
  }

  #schedule(file: OpenFile): void {
    const { rotation } = file.spec;
    const minutes = rotation?.atMinutes ?? [];
    if (rotation === null || minutes.length === 0) return;
    const waitMs = msToNext(this.#clock.wall(), minutes, rotation.localTime);
    file.rotation = this.#clock.after(waitMs, () => void this.#rotate(file, rotation));
  }

  /** Lines that were taken before go on into the file that was moved away. */
  async #rotate(file: OpenFile, rotation: RotationSpec): Promise<void> {
    const old = file.stream;
    this.#schedule(file);
    if (old === null) return;
    try {
      const moved = await moveAway(file.spec, rotation, this.#clock.wall());
      if (moved === null) return;
      await this.#connect(file);
      await new Promise<void>((resolve) => old.end(() => resolve()));
      await finishRotated(file.spec.path, moved, rotation);
    } catch (error) {
      this.#log.error('a log file could not be rotated', { file: file.spec.path, error });
    }
    // A reload or the end came first.
    if (this.#files.get(file.spec.sink) !== file) end(file);
  }

  async #connect(file: OpenFile): Promise<void> {
    file.stream = await openLogFile(file.spec, (error) => this.#broke(file, error));
  }

  #broke(file: OpenFile, error: unknown): void {
    this.#log.error('a log file cannot be written; it is tried again', { file: file.spec.path, error });
    if (file.stream?.writable === true) return;
    file.stream = null;
    file.retryAt = this.#clock.now() + RETRY_MS;
  }

  #fileStream(sink: AccessSink): Writable | null {
    const file = this.#files.get(sink);
    if (file === undefined) return null;
    if (file.stream === null && this.#clock.now() >= file.retryAt) {
      file.retryAt = Infinity;
      void this.#reopen(file);
    }
    return file.stream;
  }

  async #reopen(file: OpenFile): Promise<void> {
    await this.#connect(file).catch((error: unknown) => this.#broke(file, error));
    // A reload or the end came first.
    if (this.#files.get(file.spec.sink) !== file) file.stream?.end();
  }

  #close(file: OpenFile): void {
    this.#files.delete(file.spec.sink);
    end(file);
  }

  #reportDropped(): void {
    const lines = this.#droppedLines;
    if (lines === 0) return;
    // Before it is told: the log may go the same way.
    this.#droppedLines = 0;
    this.#log.warn('log lines were dropped: their reader is too slow or gone', { lines });
  }
}

function countLines(lines: string): number {
  let count = 0;
  for (let at = lines.indexOf('\n'); at !== -1; at = lines.indexOf('\n', at + 1)) count += 1;
  return count;
}
