import type { Transferable, Worker } from 'node:worker_threads';
import type { Clock } from '../../shared/clock.ts';

/** The thread ended before it answered. */
export class ThreadGoneError extends Error {
  constructor(name: string, waitedFor: string) {
    super(`${name} ended before it answered (${waitedFor})`);
    this.name = 'ThreadGoneError';
  }
}

interface Wait<Out> {
  readonly matches: (message: Out) => boolean;
  readonly what: string;
  readonly resolve: (message: Out) => void;
  readonly reject: (error: Error) => void;
}

export interface ThreadDeps<Out> {
  readonly name: string;
  readonly clock: Clock;
  onMessage(message: Out): void;
  /** The thread's own report of an exception that its last act did not catch. */
  onError(error: Error): void;
  onExit(code: number): void;
}

/** One thread: what is posted to it, the answers that are awaited, and its end. */
export class Thread<In, Out> {
  readonly name: string;
  readonly threadId: number;
  readonly exited: Promise<number>;
  readonly #worker: Worker;
  readonly #deps: ThreadDeps<Out>;
  #waits: Wait<Out>[] = [];
  #alive = true;

  constructor(worker: Worker, deps: ThreadDeps<Out>) {
    this.name = deps.name;
    this.threadId = worker.threadId;
    this.#worker = worker;
    this.#deps = deps;
    worker.on('message', (message: Out) => this.#receive(message));
    worker.on('error', (error: Error) => deps.onError(error));
    this.exited = new Promise((resolve) => {
      worker.on('exit', (code) => {
        this.#end(code);
        resolve(code);
      });
    });
  }

  get alive(): boolean {
    return this.#alive;
  }

  post(message: In, transfer: readonly Transferable[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  /** The next message that fits. Rejects with `ThreadGoneError` when the thread ends first, or after `timeoutMs`. */
  answer(what: string, timeoutMs: number, matches: (message: Out) => boolean): Promise<Out> {
    if (!this.#alive) return Promise.reject(new ThreadGoneError(this.name, what));
    return new Promise((resolve, reject) => {
      const timer = this.#deps.clock.after(timeoutMs, () => {
        this.#waits = this.#waits.filter((other) => other !== wait);
        reject(new Error(`${this.name} did not answer within ${timeoutMs} ms (${what})`));
      });
      const settle =
        <T>(then: (value: T) => void) =>
        (value: T): void => {
          timer.cancel();
          then(value);
        };
      const wait: Wait<Out> = { matches, what, resolve: settle(resolve), reject: settle(reject) };
      this.#waits.push(wait);
    });
  }

  /** Ends the thread from outside. Its sockets are closed with FIN: only for a thread that cannot act itself. */
  terminate(): void {
    void this.#worker.terminate();
  }

  #receive(message: Out): void {
    const wait = this.#waits.find((candidate) => candidate.matches(message));
    if (wait !== undefined) {
      this.#waits = this.#waits.filter((other) => other !== wait);
      wait.resolve(message);
    }
    this.#deps.onMessage(message);
  }

  #end(code: number): void {
    this.#alive = false;
    const waits = this.#waits;
    this.#waits = [];
    for (const wait of waits) wait.reject(new ThreadGoneError(this.name, wait.what));
    this.#deps.onExit(code);
  }
}
