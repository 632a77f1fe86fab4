/**
 * The gentle end of a client's connection: FIN after the last byte, then its bytes are read and dropped for a while,
 * or a reset could eat the response (RFC 9112 section 9.6).
 */
import type { Socket } from 'node:net';
import type { Clock } from '../../shared/clock.ts';
import type { Deadline, TimerWheel } from '../wheel.ts';

/** After the last response the client may still be sending: it is read on while it is never silent longer than this. */
const LINGER_MS = 5000;
/** … and never longer than this, however it dribbles. */
const LINGER_TOTAL_MS = 30_000;
const LINGER_MAX_BYTES = 268_435_456;

export class Linger {
  readonly #clock: Clock;
  readonly #wheel: TimerWheel;
  readonly #socket: Socket;
  readonly #deadline: Deadline;
  #bytes = 0;
  #endsAt = 0;

  /** `deadline` is the connection's: when it passes, the connection is to be destroyed. */
  constructor(world: { readonly clock: Clock; readonly wheel: TimerWheel }, socket: Socket, deadline: Deadline) {
    this.#clock = world.clock;
    this.#wheel = world.wheel;
    this.#socket = socket;
    this.#deadline = deadline;
  }

  /** `writeIdleMs`: the time the client has to read what is left of its answer. */
  begin(writeIdleMs: number, inputEnded: boolean): void {
    if (this.#socket.writableLength > 0) {
      // The client has not read all of its answer: the time to linger begins when it has.
      this.#endsAt = this.#clock.now() + writeIdleMs;
      this.#socket.once('finish', () => this.#sent());
    } else {
      this.#sent();
    }
    if (inputEnded) this.#socket.destroySoon();
    else this.#socket.end();
  }

  /** The client sent something that nobody wants. */
  discard(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > LINGER_MAX_BYTES) this.#socket.destroy();
    else this.#arm();
  }

  #sent(): void {
    this.#endsAt = this.#clock.now() + LINGER_TOTAL_MS;
    this.#arm();
  }

  #arm(): void {
    const leftMs = Math.max(0, this.#endsAt - this.#clock.now());
    this.#wheel.arm(this.#deadline, this.#socket.writableLength > 0 ? leftMs : Math.min(LINGER_MS, leftMs));
  }
}
