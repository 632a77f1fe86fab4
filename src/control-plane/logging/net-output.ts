/** Access lines over the network: one connection that is made anew when it breaks, with a bounded queue in front of it. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { connect, type Socket } from 'node:net';
import type { Clock, Timer } from '../../shared/clock.ts';
import type { Logger } from '../../shared/log.ts';
import type { LogNetSpec } from '../compile/compiled.ts';

/** Bytes that wait for the receiver. Beyond it lines are dropped and counted. */
export const MAX_QUEUED_BYTES: number = 8 * 1024 * 1024;
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 10_000;
/** A receiver that is no longer wanted gets this long to take the last lines. */
const END_MS = 10_000;
/** Dropped lines are told of at most this often. */
const REPORT_MS = 1000;

/** Sends one batch of whole lines; `done` gets the error that broke the connection, if one did. */
interface Link {
  send(lines: string, done: (error: Error | null) => void): void;
  close(): void;
}

export class NetOutput {
  readonly spec: LogNetSpec;
  readonly #log: Logger;
  readonly #clock: Clock;
  #queue: string[] = [];
  #queuedBytes = 0;
  #link: Link | null = null;
  #sending = false;
  #retryMs = FIRST_RETRY_MS;
  #retry: Timer | null = null;
  #report: Timer | null = null;
  #droppedLines = 0;
  #closed = false;
  #onEmpty: (() => void) | null = null;

  constructor(spec: LogNetSpec, log: Logger, clock: Clock) {
    this.spec = spec;
    this.#log = log;
    this.#clock = clock;
  }

  /** Rejects when the receiver cannot be reached, unless the config says that it may come later. */
  async start(): Promise<void> {
    try {
      this.#joined(await this.#dial());
    } catch (error) {
      if (this.spec.softStart) return this.#broke(error);
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`cannot send a log to ${this.spec.address}: ${reason} (soft_start begins without it)`, {
        cause: error,
      });
    }
  }

  /** Whole lines, each with its newline. */
  write(lines: string): void {
    if (this.#closed || this.#queuedBytes + lines.length > MAX_QUEUED_BYTES) return this.#drop(lines);
    this.#queue.push(lines);
    this.#queuedBytes += lines.length;
    this.#sendNext();
  }

  /** Takes no more lines. Resolves when what waits is sent, or after `END_MS`. */
  async end(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#clock.after(END_MS, resolve);
    this.#closed = true;
    this.#onEmpty = resolve;
    if (this.#queue.length > 0) await promise;
    timer.cancel();
    this.destroy();
  }

  /** What still waits is lost, and a dial under way comes to nothing. */
  destroy(): void {
    this.#closed = true;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#retry?.cancel();
    this.#report?.cancel();
    this.#link?.close();
    this.#link = null;
  }

  /** A batch stays in the queue until it was taken: what a broken connection took in part is sent again. */
  #sendNext(): void {
    const [lines] = this.#queue;
    if (lines === undefined) return this.#onEmpty?.();
    if (this.#sending || this.#link === null) return;
    const link = this.#link;
    this.#sending = true;
    link.send(lines, (error) => {
      if (link !== this.#link) return;
      this.#sending = false;
      if (error !== null) return this.#broke(error);
      this.#queue.shift();
      this.#queuedBytes -= lines.length;
      this.#sendNext();
    });
  }

  #drop(lines: string): void {
    this.#droppedLines += lines.split('\n').length - 1;
    this.#report ??= this.#clock.after(REPORT_MS, () => {
      const fields = { address: this.spec.address, lines: this.#droppedLines };
      this.#report = null;
      this.#droppedLines = 0;
      this.#log.warn('access lines were dropped: their receiver is too slow or gone', fields);
    });
  }

  #joined(link: Link): void {
    if (this.#closed && this.#queue.length === 0) return link.close();
    this.#link = link;
    this.#retryMs = FIRST_RETRY_MS;
    this.#sendNext();
  }

  #broke(error: unknown): void {
    this.#link?.close();
    this.#link = null;
    this.#sending = false;
    if (this.#closed && this.#queue.length === 0) return;
    if (this.#retryMs === FIRST_RETRY_MS) {
      this.#log.error('a log cannot be sent; it is tried again', { address: this.spec.address, error });
    }
    this.#retry = this.#clock.after(this.#retryMs, () => void this.#redial());
    this.#retryMs = Math.min(MAX_RETRY_MS, this.#retryMs * 2);
  }

  async #redial(): Promise<void> {
    try {
      this.#joined(await this.#dial());
    } catch (error) {
      this.#broke(error);
    }
  }

  #dial(): Promise<Link> {
    return this.spec.network === 'udp'
      ? dialUdp(this.spec)
      : dialStream(this.spec, this.#clock, (error) => this.#lost(error));
  }

  #lost({ link, error }: Lost): void {
    if (link === this.#link) this.#broke(error);
  }
}

interface Lost {
  readonly link: Link;
  readonly error: Error;
}

function dialStream(spec: LogNetSpec, clock: Clock, onLost: (lost: Lost) => void): Promise<Link> {
  return new Promise((resolve, reject) => {
    const socket: Socket =
      spec.network === 'unix' ? connect(spec.path) : connect({ host: spec.host, port: spec.port, noDelay: true });
    const timer = clock.after(spec.dialTimeoutMs, () => {
      socket.destroy(new Error(`no connection within ${spec.dialTimeoutMs} ms`));
    });
    const link: Link = {
      send: (lines, done) => void socket.write(lines, (error) => done(error ?? null)),
      close: () => void socket.destroy(),
    };
    let reason = new Error('the receiver closed the connection');
    socket.on('error', (error) => (reason = error));
    socket.on('connect', () => {
      timer.cancel();
      resolve(link);
    });
    socket.on('close', () => {
      timer.cancel();
      reject(reason);
      onLost({ link, error: reason });
    });
    // What a receiver says back is nobody's business, but unread it would hide its end.
    socket.resume();
  });
}

/** One datagram a line. Nobody answers, so only what the system says itself can fail, and that breaks nothing. */
function dialUdp({ host, port }: LogNetSpec): Promise<Link> {
  return new Promise((resolve, reject) => {
    const socket: UdpSocket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    socket.on('error', reject);
    socket.connect(port, host, (error?: Error) => {
      if (error !== undefined) {
        // The attempt bound it: it is a descriptor that every further one would leave behind.
        socket.close();
        return reject(error);
      }
      resolve({ send: (lines, done) => sendDatagrams(socket, lines, done), close: () => socket.close() });
    });
  });
}

function sendDatagrams(socket: UdpSocket, lines: string, done: (error: Error | null) => void): void {
  const datagrams = lines.split('\n').slice(0, -1);
  let left = datagrams.length;
  if (left === 0) return done(null);
  for (const line of datagrams) {
    socket.send(`${line}\n`, () => {
      left -= 1;
      if (left === 0) done(null);
    });
  }
}
