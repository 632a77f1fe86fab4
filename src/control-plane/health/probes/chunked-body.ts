const MAX_LINE_BYTES = 1024;
const MAX_TRAILER_BYTES = 16_384;
const SIZE_LINE = /^([0-9A-Fa-f]{1,8})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;

/** Takes the chunked coding (RFC 9112 7.1) off a body, piece by piece. PURE. */
export class ChunkedBody {
  complete = false;
  /** What is wrong with the coding, '' while nothing is. */
  error = '';
  #pending: Buffer = Buffer.alloc(0);
  #part: 'size' | 'data' | 'data-end' | 'trailer' = 'size';
  #left = 0;
  #trailerBytes = 0;

  /** The body bytes in `bytes`. They are views: copy what you keep. */
  push(bytes: Buffer): Buffer[] {
    const found: Buffer[] = [];
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    while (!this.complete && this.error === '' && this.#step(found));
    return found;
  }

  /** One step; false when it needs more bytes. */
  #step(found: Buffer[]): boolean {
    if (this.#part !== 'data') return this.#line();
    if (this.#pending.length === 0) return false;
    const part = this.#pending.subarray(0, this.#left);
    this.#pending = this.#pending.subarray(part.length);
    this.#left -= part.length;
    found.push(part);
    if (this.#left === 0) this.#part = 'data-end';
    return true;
  }

  #line(): boolean {
    const end = this.#pending.indexOf('\r\n');
    if (end < 0) {
      if (this.#pending.length > MAX_LINE_BYTES) this.error = 'its chunked body has an endless line';
      return false;
    }
    const line = this.#pending.toString('latin1', 0, end);
    this.#pending = this.#pending.subarray(end + 2);
    if (this.#part === 'size') this.#size(line);
    else if (this.#part === 'data-end') this.#dataEnd(line);
    else this.#trailer(line);
    return true;
  }

  #size(line: string): void {
    const digits = SIZE_LINE.exec(line)?.[1];
    if (digits === undefined) {
      this.error = 'its chunked body has a malformed chunk size';
      return;
    }
    this.#left = Number.parseInt(digits, 16);
    this.#part = this.#left === 0 ? 'trailer' : 'data';
  }

  #dataEnd(line: string): void {
    if (line !== '') this.error = 'a chunk of its body is longer than its size says';
    this.#part = 'size';
  }

  #trailer(line: string): void {
    this.#trailerBytes += line.length;
    if (line === '') this.complete = true;
    else if (this.#trailerBytes > MAX_TRAILER_BYTES) this.error = 'its trailer is too long';
  }
}
