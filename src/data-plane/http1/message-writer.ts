/**
 * Writes one message to a socket: head and the first body bytes in one write, bodies framed by length
 * or in chunks of our own. Bytes that are not `owned` are copied, because the buffer they lie in is
 * used again by the next read.
 */
import type { Socket } from 'node:net';
import { chunkHeader } from './chunked.ts';

const LAST_CHUNK = '0\r\n';

export class MessageWriter {
  readonly #socket: Socket;
  /** Head that waits for the first body bytes of the same turn. */
  #head = '';
  #chunked = false;
  #corked = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Starts a message. The head goes out with the first body bytes, or at `flush` or `end`. */
  start(head: string, chunked: boolean): void {
    this.#head = head;
    this.#chunked = chunked;
  }

  /** Returns false when the socket wants a pause until 'drain'. An empty range sends nothing. */
  body(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    if (start === end) return !this.#socket.writableNeedDrain;
    if (this.#chunked) return this.#chunk(buffer, start, end);
    if (this.#head === '' && owned) return this.#socket.write(buffer.subarray(start, end));
    const prefix = this.#takeHead();
    const out = Buffer.allocUnsafe(prefix.length + end - start);
    out.write(prefix, 0, 'latin1');
    buffer.copy(out, prefix.length, start, end);
    return this.#socket.write(out);
  }

  /** Ends the message; `trailers` are whole lines and need a chunked message. */
  end(trailers: string): void {
    const last = this.#chunked ? `${LAST_CHUNK}${trailers}\r\n` : '';
    this.#chunked = false;
    const text = this.#takeHead() + last;
    if (text !== '') this.#socket.write(text, 'latin1');
    this.#uncork();
  }

  /** The turn is over: nothing is held back any longer. */
  flush(): void {
    if (this.#head !== '') this.#socket.write(this.#takeHead(), 'latin1');
    this.#uncork();
  }

  #chunk(buffer: Buffer, start: number, end: number): boolean {
    // Corked, so that the chunks of one turn and the last chunk leave in one system call.
    if (!this.#corked) {
      this.#corked = true;
      this.#socket.cork();
    }
    const prefix = this.#takeHead() + chunkHeader(end - start);
    const size = prefix.length + (end - start);
    const out = Buffer.allocUnsafe(size + 2);
    out.write(prefix, 0, 'latin1');
    buffer.copy(out, prefix.length, start, end);
    out[size] = 0x0d;
    out[size + 1] = 0x0a;
    return this.#socket.write(out);
  }

  #takeHead(): string {
    const head = this.#head;
    this.#head = '';
    return head;
  }

  #uncork(): void {
    if (!this.#corked) return;
    this.#corked = false;
    this.#socket.uncork();
  }
}
