/** WebSocket frames as far as a proxy has to know them: where one ends, and the one that says goodbye (RFC 6455 section 5.2). */
import type { Random } from '../../shared/random.ts';

const MASKED = 0x80;
const LENGTH_16 = 126;
const LENGTH_64 = 127;
const CLOSE = 0x8;
/** Status 1001, "going away". */
const GOING_AWAY: readonly number[] = [0x03, 0xe9];

/** Follows one direction of a connection, payloads unseen. */
export class FrameTracker {
  /** A frame of the sender's own said that nothing follows. */
  closed = false;
  /** Bytes of the payload that are still to come. */
  #payload = 0;
  /** The head of a frame, as far as it is here: at most 14 bytes. */
  readonly #head = new Uint8Array(14);
  #headBytes = 0;

  /** A frame of our own may follow what went by. */
  get atBoundary(): boolean {
    return this.#payload === 0 && this.#headBytes === 0;
  }

  push(bytes: Uint8Array, start: number, end: number): void {
    let at = start;
    while (at < end) {
      if (this.#payload > 0) {
        const passed = Math.min(this.#payload, end - at);
        this.#payload -= passed;
        at += passed;
      } else {
        this.#head[this.#headBytes] = bytes[at]!;
        this.#headBytes += 1;
        at += 1;
        if (this.#headBytes >= 2 && this.#headBytes === this.#headLength()) this.#begin();
      }
    }
  }

  #headLength(): number {
    const length = this.#head[1]! & 0x7f;
    const extended = length === LENGTH_64 ? 8 : length === LENGTH_16 ? 2 : 0;
    return 2 + extended + ((this.#head[1]! & MASKED) === 0 ? 0 : 4);
  }

  #begin(): void {
    const length = this.#head[1]! & 0x7f;
    if ((this.#head[0]! & 0x0f) === CLOSE) this.closed = true;
    this.#payload = length < LENGTH_16 ? length : this.#number(length === LENGTH_16 ? 2 : 8);
    this.#headBytes = 0;
  }

  #number(bytes: number): number {
    let value = 0;
    for (let at = 2; at < 2 + bytes; at += 1) value = value * 256 + this.#head[at]!;
    return value;
  }
}

/** A close frame with status 1001. Those to a server are masked (RFC 6455 section 5.3). */
export function closeFrame(to: 'client' | 'server', random: Random): Buffer {
  if (to === 'client') return Buffer.from([0x80 | CLOSE, GOING_AWAY.length, ...GOING_AWAY]);
  const mask = Array.from({ length: 4 }, () => Math.floor(random.next() * 256));
  const masked = GOING_AWAY.map((byte, at) => byte ^ mask[at]!);
  return Buffer.from([0x80 | CLOSE, MASKED | GOING_AWAY.length, ...mask, ...masked]);
}
