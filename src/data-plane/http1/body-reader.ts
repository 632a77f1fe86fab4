import { ChunkedDecoder, type BodySink } from './chunked.ts';
import { BODY_CHUNKED, BODY_CLOSE, BODY_LENGTH, BODY_NONE, type Head } from './head.ts';

/** Cuts the bodies of one connection's messages, one after the other, out of what the socket delivers. */
export class BodyReader {
  /** All of the body was read. Never of its own accord when it goes on until the connection closes. */
  done = true;
  /** 0, or the status a client deserves for broken chunks: 400, 413 or 431. */
  error = 0;
  /** ERROR_* behind `error`. */
  fault = 0;
  /** `Name: value` lines behind a chunked body that may be forwarded, once `done`; '' when there are none. */
  trailers = '';

  #kind = BODY_NONE;
  /** Bytes still to come, with BODY_LENGTH. */
  #left = 0;
  /** Made for the first chunked body. */
  #decoder: ChunkedDecoder | null = null;

  /** The body of `head` comes next. */
  start(head: Head): void {
    this.#kind = head.body;
    this.#left = head.contentLength;
    this.done = !head.hasBody;
    this.error = 0;
    this.fault = 0;
    this.trailers = '';
    if (head.body !== BODY_CHUNKED) return;
    this.#decoder ??= new ChunkedDecoder();
    this.#decoder.reset();
  }

  /** Only the end of the connection ends it. */
  get untilClose(): boolean {
    return this.#kind === BODY_CLOSE;
  }

  /**
   * Feeds buffer[at, end), not empty, to a body that is not done; payload goes to `sink`. Returns the index of the first
   * byte behind what was used: `end`, or less once `done` or `error` is set.
   */
  feed(buffer: Buffer, at: number, end: number, sink: BodySink): number {
    if (this.#kind === BODY_CHUNKED) return this.#feedChunks(this.#decoder!, buffer, at, end, sink);
    const stop = this.#kind === BODY_LENGTH ? Math.min(end, at + this.#left) : end;
    this.#left -= stop - at;
    sink.onBody(buffer, at, stop);
    if (this.#kind === BODY_LENGTH && this.#left === 0) this.done = true;
    return stop;
  }

  #feedChunks(decoder: ChunkedDecoder, buffer: Buffer, at: number, end: number, sink: BodySink): number {
    const next = decoder.feed(buffer, at, end, sink);
    this.done = decoder.done;
    this.error = decoder.error;
    this.fault = decoder.fault;
    this.trailers = decoder.trailers;
    return next;
  }
}
