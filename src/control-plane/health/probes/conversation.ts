/** Sending and receiving over an established connection. */
import type { Socket } from 'node:net';
import { resetSocket } from '../../../shared/net/reset.ts';
import { type Attempt, ProbeFault } from '../attempt.ts';
import { brokenFault, part } from './connection.ts';

/** An answer that is not complete by then is none. */
const MAX_ANSWER_BYTES = 16_384;
/** Bytes of an answer that a message shows. */
const SHOWN_BYTES = 80;

/** Takes what arrives until it has enough. */
export interface Consumer {
  /** true: that is all. */
  take(bytes: Buffer): boolean;
  /** The peer ended the connection; true: that makes it whole. */
  ended?(): boolean;
  /** How far it has come, one clause. */
  progress(): string;
  /** Said instead of a time-out or a closed connection; null = those say it best. */
  unfinished?(): ProbeFault | null;
}

interface Waiting {
  readonly take: Consumer;
  readonly done: () => void;
}

export class Conversation {
  readonly #run: Attempt;
  readonly #socket: Socket;
  /** Arrived, and looked at by nobody yet. */
  #pending: Buffer = Buffer.alloc(0);
  #ended = false;
  #left = false;
  #consumer: Waiting | null = null;

  constructor(run: Attempt, socket: Socket) {
    this.#run = run;
    this.#socket = socket;
    run.onBroken = (error) => this.#unfinished() ?? brokenFault(error, this.#progress());
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('end', () => this.#end());
    run.onDeadline = () =>
      this.#unfinished() ??
      new ProbeFault('RECV_RESPONSE_TIMEOUT', `no complete response ${run.limit()}, ${this.#progress()}`);
  }

  /** `text` says what it is. A text is latin1. */
  send(bytes: Buffer | string, text: string): void {
    const buffer = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    this.#run.step('sent', text, buffer);
    this.#socket.write(buffer);
  }

  /** What has arrived and was not looked at is dropped: it is no answer to what is sent next. */
  forget(): void {
    this.#pending = Buffer.alloc(0);
  }

  /** Resolves when the consumer has enough; fails as the attempt does. */
  async consume(consumer: Consumer): Promise<void> {
    await this.#run.wait<void>((resolve) => {
      const done = (): void => {
        this.#consumer = null;
        resolve();
      };
      this.#consumer = { take: consumer, done };
      const waiting = this.#pending;
      this.#pending = Buffer.alloc(0);
      if (waiting.length > 0) this.#offer(this.#consumer, waiting);
      if (this.#ended) this.#end();
    });
  }

  /**
   * What `read` makes of the bytes so far: a value and how many of them it took, or undefined while more
   * are needed. `what` names the answer in messages.
   */
  async receive<T>(what: string, read: (bytes: Buffer) => { value: T; taken: number } | undefined): Promise<T> {
    let buffer = Buffer.alloc(0);
    let found: { value: T; taken: number } | undefined;
    await this.consume({
      take: (bytes) => {
        buffer = buffer.length === 0 ? Buffer.from(bytes) : Buffer.concat([buffer, bytes]);
        found = read(buffer);
        if (found === undefined && buffer.length > MAX_ANSWER_BYTES) {
          throw mismatch(`no ${what} in ${buffer.length} bytes`);
        }
        return found !== undefined;
      },
      progress: () => `waiting for ${what}`,
      unfinished: () => (buffer.length === 0 ? null : mismatch(`no ${what} in ${shownBytes(buffer)}`)),
    });
    if (found === undefined) throw new RangeError('the consumer is done without a value');
    this.#pending = buffer.subarray(found.taken);
    return found.value;
  }

  /** Resets the connection, or ends it with FIN. Nothing is received afterwards. */
  leave(how: 'reset' | 'fin'): void {
    this.#left = true;
    if (how === 'fin') return part(this.#run, this.#socket);
    this.#run.step('sent', 'RST');
    resetSocket(this.#socket);
  }

  #take(bytes: Buffer): void {
    if (this.#left) return;
    this.#run.step('received', `${bytes.length} bytes`, bytes);
    if (this.#consumer === null) {
      this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
      if (this.#pending.length > MAX_ANSWER_BYTES) this.#socket.pause();
      return;
    }
    this.#offer(this.#consumer, bytes);
  }

  #offer({ take, done }: Waiting, bytes: Buffer): void {
    if (this.#asked(() => take.take(bytes))) done();
  }

  #end(): void {
    if (!this.#ended && !this.#left) this.#run.step('received', 'FIN');
    this.#ended = true;
    if (this.#consumer === null) return;
    const { take, done } = this.#consumer;
    if (this.#asked(() => take.ended?.() === true)) return done();
    const closed = new ProbeFault('CONNECT_INTERRUPT', `the connection was closed ${this.#progress()}`);
    this.#run.fail(this.#unfinished() ?? closed);
  }

  /** A consumer refuses bytes by throwing, which must end the attempt and not the thread. */
  #asked(question: () => boolean): boolean {
    try {
      return question();
    } catch (error) {
      this.#run.fail(error instanceof ProbeFault ? error : new ProbeFault('LOCAL_TROUBLE', String(error)));
      return false;
    }
  }

  #unfinished(): ProbeFault | null {
    return this.#consumer?.take.unfinished?.() ?? null;
  }

  #progress(): string {
    return this.#consumer?.take.progress() ?? 'before the answer was complete';
  }
}

/** An answer that is not the expected one. */
export function mismatch(detail: string): ProbeFault {
  return new ProbeFault('RESPONSE_NOT_MATCH', detail);
}

/** A line ended by LF, without its end. */
export function readLine(bytes: Buffer): { value: string; taken: number } | undefined {
  const end = bytes.indexOf(0x0a);
  if (end < 0) return undefined;
  const cut = end > 0 && bytes[end - 1] === 0x0d ? end - 1 : end;
  return { value: bytes.toString('latin1', 0, cut), taken: end + 1 };
}

/** The beginning of some bytes, quoted. */
export function shownBytes(bytes: Buffer): string {
  const cut = bytes.length > SHOWN_BYTES ? '…' : '';
  return `${JSON.stringify(bytes.toString('latin1', 0, SHOWN_BYTES))}${cut}`;
}
