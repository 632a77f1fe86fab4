/**
 * `first_byte_timeout`: a server that accepts and then says nothing has failed, although its kernel goes on taking
 * connections and datagrams (a process that hangs, or was stopped). Counts from the first byte it was sent; one that
 * was sent nothing owes nothing.
 */
import type { TryWatch } from '../proxy/try-watch.ts';
import { Deadline, type Expirable, type TimerWheel } from '../wheel.ts';

/** Of one connection or session with its server. Made only where the option is set. */
export class FirstByte implements Expirable {
  readonly #wheel: TimerWheel;
  readonly #timeoutMs: number;
  readonly #watch: TryWatch;
  readonly #deadline: Deadline = new Deadline(this);
  #isSettled = false;

  constructor(wheel: TimerWheel, timeoutMs: number, watch: TryWatch) {
    this.#wheel = wheel;
    this.#timeoutMs = timeoutMs;
    this.#watch = watch;
  }

  /** The server was sent something. */
  sent(): void {
    if (!this.#isSettled && this.#deadline.at === Infinity) this.#wheel.arm(this.#deadline, this.#timeoutMs);
  }

  /** The server said something. */
  heard(): void {
    if (this.#isSettled) return;
    this.end();
    this.#watch.connected();
  }

  /** The connection is over, or was judged otherwise. */
  end(): void {
    this.#isSettled = true;
    this.#wheel.remove(this.#deadline);
  }

  onDeadline(): void {
    this.end();
    this.#watch.failed();
  }
}

/** null where the pool does not ask for it. */
export function firstByteOf(
  wheel: TimerWheel,
  timeoutMs: number | undefined,
  watch: TryWatch | null,
): FirstByte | null {
  return timeoutMs === undefined || watch === null ? null : new FirstByte(wheel, timeoutMs, watch);
}
