/** The rest of a response that nobody wants: read for the sake of the connection, as long as that is cheaper than a new one. */
import type { UpstreamSide, UpstreamUser } from '../proxy/sides.ts';

/** Bytes read; a longer body ends the connection. */
const MAX_BYTES = 65_536;

export class Discard implements UpstreamUser {
  readonly #side: UpstreamSide;
  readonly #idleMs: number;
  readonly #maxIdle: number;
  #bytes = 0;

  constructor(side: UpstreamSide, idleMs: number, maxIdle: number) {
    this.#side = side;
    this.#idleMs = idleMs;
    this.#maxIdle = maxIdle;
  }

  onResponseBody(_buffer: Buffer, start: number, end: number): void {
    this.#bytes += end - start;
    if (this.#bytes > MAX_BYTES) this.#side.reset();
  }

  onResponseEnd(_trailers: string, reusable: boolean): void {
    this.#side.release(reusable ? this.#idleMs : 0, this.#maxIdle);
  }

  readonly poolHash = '';

  sayGoodbye(): boolean {
    return false;
  }

  // The connection ends by itself, and there is nobody to tell.
  onUpstreamFailed(): void {}
  onDialFailed(): void {}
  onConnected(): void {}
  onResponseHead(): void {}
  onResponseTurn(): void {}
  onUpstreamDrain(): void {}
}
