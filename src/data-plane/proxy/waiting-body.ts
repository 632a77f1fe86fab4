/** The part of a body that waits to be passed on, or is kept for further tries. */

/** Body bytes kept while no upstream is connected; then the client is paused. */
const MAX_WAITING_BYTES = 65_536;
/** … and pieces of it: chunks of one byte cost a hundred times their size. */
const MAX_WAITING_PIECES = 1024;
/** Kept bytes are copied into blocks: a body that comes byte by byte must not cost an object a byte. */
const BLOCK_BYTES = 16_384;

export class WaitingBody {
  /** Bytes; 0 = nothing is kept once it is sent. */
  readonly #keepBytes: number;
  #chunks: Buffer[] = [];
  /** Bytes used of the last chunk, when it is a block of ours. */
  #used = 0;
  bytes = 0;
  /** All of the body is here, and stays. */
  whole = false;

  constructor(keepBytes: number) {
    this.#keepBytes = keepBytes;
  }

  /** It is read before an upstream is asked, as far as it fits. */
  get isKept(): boolean {
    return this.#keepBytes > 0;
  }

  /** More than is kept: it goes on without a copy. */
  get overflows(): boolean {
    return this.bytes > this.#keepBytes;
  }

  /** The client is to be paused. */
  get full(): boolean {
    return this.bytes >= MAX_WAITING_BYTES || this.#chunks.length >= MAX_WAITING_PIECES;
  }

  /** The bytes are not changed by anybody afterwards. */
  add(buffer: Buffer, start: number, end: number): void {
    this.bytes += end - start;
    if (this.#keepBytes === 0) this.#chunks.push(buffer.subarray(start, end));
    else this.#copy(buffer, start, end);
  }

  /** What waits, in order. A whole body can be taken again. */
  take(): readonly Buffer[] {
    const chunks = this.#chunks;
    if (this.#used > 0) chunks[chunks.length - 1] = chunks.at(-1)!.subarray(0, this.#used);
    this.#used = 0;
    if (!this.whole) {
      this.#chunks = [];
      this.bytes = 0;
    }
    return chunks;
  }

  /** What came so far in a body that keeps up to `bytes`. */
  kept(bytes: number): WaitingBody {
    const body = new WaitingBody(bytes);
    for (const chunk of this.take()) body.add(chunk, 0, chunk.length);
    return body;
  }

  #copy(buffer: Buffer, start: number, end: number): void {
    let at = start;
    while (at < end) {
      const last = this.#chunks.at(-1);
      if (last === undefined || this.#used === 0 || this.#used === last.length) {
        this.#chunks.push(Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, end - at)));
        this.#used = 0;
      }
      const block = this.#chunks.at(-1)!;
      const copied = buffer.copy(block, this.#used, at, end);
      this.#used += copied;
      at += copied;
    }
  }
}
