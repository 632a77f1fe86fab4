/** What a client's connection waits for, and how long. */
import type { Clock } from '../../shared/clock.ts';
import type { HttpServerOptions } from '../../shared/plan/types.ts';
import type { ClientTimes } from '../route/decision.ts';
import { Deadline, type Expirable, type TimerWheel } from '../wheel.ts';

const HALF_CLOSED_MAX_MS = 300_000;
/** The client of a tunnel is not read, because the upstream does not read: after this long it is given up. */
const PAUSED_MAX_MS = 600_000;

/** One deadline for all that a connection waits for. */
export class ClientWaits {
  /** The client does not take what it is sent. */
  blocked = false;
  /** It is not read, because nobody takes what it sends. */
  paused = false;
  /** A tunnel to it was ended from our side. */
  halfClosed = false;
  readonly deadline: Deadline;
  readonly #clock: Clock;
  readonly #wheel: TimerWheel;
  /** Monotonic times by which the request body and the response of the running exchange must be through; Infinity = none. */
  #bodyAt = Infinity;
  #writeAt = Infinity;
  /** Milliseconds for the response of this request in the place of the server's; 0 = those of the server. */
  #writeMs = 0;

  constructor(world: { readonly clock: Clock; readonly wheel: TimerWheel }, owner: Expirable) {
    this.#clock = world.clock;
    this.#wheel = world.wheel;
    this.deadline = new Deadline(owner);
  }

  /** Infinity = for nothing. */
  wait(delayMs: number): void {
    if (delayMs === Infinity) this.#wheel.disarm(this.deadline);
    else this.#wheel.arm(this.deadline, delayMs);
  }

  /** The connection is gone. */
  end(): void {
    this.#wheel.remove(this.deadline);
  }

  beginRequest(options: HttpServerOptions, bodyDone: boolean): void {
    if (bodyDone) {
      this.#wheel.disarm(this.deadline);
      return;
    }
    const limitMs = options.readBodyTimeoutMs;
    this.#bodyAt = limitMs > 0 ? this.#clock.now() + limitMs : Infinity;
    this.waitForExchange(options, bodyDone);
  }

  /** Times of this request in the place of the server's. */
  limit({ readMs, writeMs }: ClientTimes, options: HttpServerOptions, bodyDone: boolean): void {
    this.#writeMs = writeMs;
    if (readMs === 0 || bodyDone) return;
    this.#bodyAt = this.#clock.now() + readMs;
    this.waitForExchange(options, bodyDone);
  }

  /** All of the request body is here. */
  endBody(): void {
    this.#bodyAt = Infinity;
  }

  beginResponse(options: HttpServerOptions, bodyDone: boolean): void {
    const limitMs = this.#writeMs || options.writeTimeoutMs;
    if (limitMs === 0) return;
    this.#writeAt = this.#clock.now() + limitMs;
    this.waitForExchange(options, bodyDone);
  }

  endExchange(): void {
    this.blocked = false;
    this.#bodyAt = Infinity;
    this.#writeAt = Infinity;
    this.#writeMs = 0;
  }

  waitForExchange(options: HttpServerOptions, bodyDone: boolean): void {
    const delayMs = exchangeWaitMs(options, this.blocked, bodyDone, this.paused);
    const limitAt = Math.min(this.#bodyAt, this.#writeAt);
    if (limitAt === Infinity) this.wait(delayMs);
    else this.wait(Math.min(delayMs, Math.max(0, limitAt - this.#clock.now())));
  }

  waitForTunnel(options: HttpServerOptions): void {
    this.wait(tunnelWaitMs(options, this.blocked, this.halfClosed, this.paused));
  }
}

/** Milliseconds a running exchange waits for a client that reads, or for one that sends; Infinity = for neither. */
function exchangeWaitMs(options: HttpServerOptions, blocked: boolean, bodyDone: boolean, paused: boolean): number {
  if (blocked) return options.writeIdleTimeoutMs;
  if (!bodyDone) return options.readBodyIdleTimeoutMs;
  return paused ? options.writeIdleTimeoutMs : Infinity;
}

/** A tunnel may be silent for ever, unless one side of it waits for a peer that does not read or has half-closed. */
function tunnelWaitMs(options: HttpServerOptions, blocked: boolean, halfClosed: boolean, paused: boolean): number {
  if (blocked) return options.writeIdleTimeoutMs;
  const silentMs = halfClosed ? HALF_CLOSED_MAX_MS : Infinity;
  return paused ? Math.min(silentMs, PAUSED_MAX_MS) : silentMs;
}
