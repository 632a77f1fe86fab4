import { BACKSLASH, CLASS, CR, EQUALS, HEX, LF, QUOTE, QUOTED, SEMICOLON, TOKEN, VALUE, ZERO } from './chars.ts';
import {
  ERROR_CHUNK_END,
  ERROR_CHUNK_EXTENSION,
  ERROR_CHUNK_EXTENSION_TOO_LARGE,
  ERROR_CHUNK_SIZE,
  ERROR_TRAILER,
  ERROR_TRAILER_TOO_LARGE,
  faultStatus,
} from './errors.ts';
import { MAX_CHUNK_EXTENSION_BYTES, MAX_CHUNK_SIZE_DIGITS, MAX_TRAILER_BYTES, MAX_TRAILER_FIELDS } from './limits.ts';
import { readTrailer } from './trailers.ts';

/** Takes payload. The bytes are valid during the call only. */
export interface BodySink {
  onBody(buffer: Buffer, start: number, end: number): void;
}

const SIZE_FIRST = 0;
const SIZE = 1;
const EXTENSION_NAME_FIRST = 2;
const EXTENSION_NAME = 3;
const EXTENSION_VALUE_FIRST = 4;
const EXTENSION_VALUE = 5;
const EXTENSION_QUOTED = 6;
const EXTENSION_ESCAPED = 7;
const EXTENSION_CLOSED = 8;
const SIZE_LF = 9;
const DATA = 10;
const DATA_CR = 11;
const DATA_LF = 12;
const TRAILER_FIRST = 13;
const TRAILER = 14;
const TRAILER_LF = 15;
const FINAL_LF = 16;
const STOPPED = 17;

/**
 * Decoder of the chunked coding (RFC 9112 section 7.1), fed with whatever pieces the socket delivers. Sizes are plain
 * hexadecimal, lines end with CR LF, extensions are checked and dropped, white space is allowed nowhere.
 */
export class ChunkedDecoder {
  /** The last chunk and the trailer section were read. */
  done = false;
  /** 0, or the status a client deserves: 400, 413 (extensions over their limit) or 431 (trailer section over its). */
  error = 0;
  /** ERROR_* behind `error`. */
  fault = 0;
  /** `Name: value` lines that may be forwarded, once `done`; '' when there are none. */
  trailers = '';

  #state = SIZE_FIRST;
  /** Size being read, then bytes of the chunk that are still to come. */
  #size = 0;
  #sizeDigits = 0;
  #extensionBytes = 0;
  #trailerBytes = 0;
  #trailerFields = 0;
  /** Trailer line being read. */
  #line = '';

  reset(): void {
    this.done = false;
    this.error = 0;
    this.fault = 0;
    this.trailers = '';
    this.#state = SIZE_FIRST;
    this.#size = 0;
    this.#sizeDigits = 0;
    this.#extensionBytes = 0;
    this.#trailerBytes = 0;
    this.#trailerFields = 0;
    this.#line = '';
  }

  /**
   * Feeds buffer[start, end); payload goes to `sink` in order. Returns the index of the first byte not consumed: `end`,
   * or less once `done` or `error` is set.
   */
  feed(buffer: Buffer, start: number, end: number, sink: BodySink): number {
    let at = start;
    while (at < end && this.#state !== STOPPED) {
      if (this.#state === DATA) at = this.#data(buffer, at, end, sink);
      else if (this.#state === TRAILER_FIRST || this.#state === TRAILER) at = this.#trailer(buffer, at, end);
      else if (this.#step(buffer[at]!)) at += 1;
    }
    return at;
  }

  #data(buffer: Buffer, start: number, end: number, sink: BodySink): number {
    const stop = Math.min(end, start + this.#size);
    this.#size -= stop - start;
    if (this.#size === 0) this.#state = DATA_CR;
    sink.onBody(buffer, start, stop);
    return stop;
  }

  /** One byte of a size line or line end; false when it is refused. */
  #step(byte: number): boolean {
    switch (this.#state) {
      case SIZE_FIRST:
      case SIZE:
        return this.#sizeByte(byte);
      case SIZE_LF:
        return this.#lineEnd(byte, ERROR_CHUNK_SIZE, this.#size === 0 ? TRAILER_FIRST : DATA);
      case DATA_CR:
        return byte === CR ? this.#go(DATA_LF) : this.#refuse(ERROR_CHUNK_END);
      case DATA_LF:
        return this.#lineEnd(byte, ERROR_CHUNK_END, SIZE_FIRST);
      case TRAILER_LF:
        return this.#trailerLf(byte);
      case FINAL_LF:
        return this.#finalLf(byte);
      default:
        return this.#extensionByte(byte);
    }
  }

  #sizeByte(byte: number): boolean {
    if ((CLASS[byte]! & HEX) !== 0) {
      const digit = byte <= 0x39 ? byte - ZERO : (byte | 0x20) - 0x57;
      this.#size = (this.#state === SIZE_FIRST ? 0 : this.#size * 16) + digit;
      this.#sizeDigits = this.#state === SIZE_FIRST ? 1 : this.#sizeDigits + 1;
      const fits = this.#sizeDigits <= MAX_CHUNK_SIZE_DIGITS && this.#size <= Number.MAX_SAFE_INTEGER;
      return fits ? this.#go(SIZE) : this.#refuse(ERROR_CHUNK_SIZE);
    }
    if (this.#state === SIZE_FIRST) return this.#refuse(ERROR_CHUNK_SIZE);
    if (byte === CR) return this.#go(SIZE_LF);
    return byte === SEMICOLON ? this.#go(EXTENSION_NAME_FIRST) : this.#refuse(ERROR_CHUNK_SIZE);
  }

  /** Section 7.1.1 without the optional white space: `;name`, `;name=token` or `;name="quoted"`, repeated. */
  #extensionByte(byte: number): boolean {
    this.#extensionBytes += 1;
    if (this.#extensionBytes > MAX_CHUNK_EXTENSION_BYTES) return this.#refuse(ERROR_CHUNK_EXTENSION_TOO_LARGE);
    const bits = CLASS[byte]!;
    switch (this.#state) {
      case EXTENSION_NAME_FIRST:
        return (bits & TOKEN) !== 0 ? this.#go(EXTENSION_NAME) : this.#refuse(ERROR_CHUNK_EXTENSION);
      case EXTENSION_NAME:
        if ((bits & TOKEN) !== 0) return true;
        return byte === EQUALS ? this.#go(EXTENSION_VALUE_FIRST) : this.#extensionEnd(byte);
      case EXTENSION_VALUE_FIRST:
        if (byte === QUOTE) return this.#go(EXTENSION_QUOTED);
        return (bits & TOKEN) !== 0 ? this.#go(EXTENSION_VALUE) : this.#refuse(ERROR_CHUNK_EXTENSION);
      case EXTENSION_VALUE:
        return (bits & TOKEN) !== 0 || this.#extensionEnd(byte);
      case EXTENSION_QUOTED:
        if (byte === QUOTE) return this.#go(EXTENSION_CLOSED);
        if (byte === BACKSLASH) return this.#go(EXTENSION_ESCAPED);
        return (bits & QUOTED) !== 0 || this.#refuse(ERROR_CHUNK_EXTENSION);
      case EXTENSION_ESCAPED:
        return (bits & VALUE) !== 0 ? this.#go(EXTENSION_QUOTED) : this.#refuse(ERROR_CHUNK_EXTENSION);
      default:
        return this.#extensionEnd(byte);
    }
  }

  #extensionEnd(byte: number): boolean {
    if (byte === SEMICOLON) return this.#go(EXTENSION_NAME_FIRST);
    return byte === CR ? this.#go(SIZE_LF) : this.#refuse(ERROR_CHUNK_EXTENSION);
  }

  /** Takes the bytes of a trailer line up to and with its CR. */
  #trailer(buffer: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end && buffer[at] !== CR && buffer[at] !== LF) at += 1;
    if (at < end && buffer[at] === LF) {
      this.#refuse(ERROR_TRAILER);
      return at;
    }
    const first = this.#state === TRAILER_FIRST;
    this.#line += buffer.toString('latin1', start, at);
    this.#trailerBytes += at - start;
    if (this.#trailerBytes > MAX_TRAILER_BYTES) this.#refuse(ERROR_TRAILER_TOO_LARGE);
    else if (at === end) this.#go(TRAILER);
    else this.#go(first && at === start ? FINAL_LF : TRAILER_LF);
    return Math.min(at + 1, end);
  }

  /** The line is complete. It is checked now: junk is refused without waiting for the end of the section. */
  #trailerLf(byte: number): boolean {
    if (byte !== LF) return this.#refuse(ERROR_TRAILER);
    this.#trailerFields += 1;
    if (this.#trailerFields > MAX_TRAILER_FIELDS) return this.#refuse(ERROR_TRAILER_TOO_LARGE);
    const field = readTrailer(this.#line);
    this.#line = '';
    if (field === null) return this.#refuse(ERROR_TRAILER);
    this.trailers += field;
    return this.#go(TRAILER_FIRST);
  }

  #finalLf(byte: number): boolean {
    if (byte !== LF) return this.#refuse(ERROR_TRAILER);
    this.done = true;
    return this.#go(STOPPED);
  }

  #lineEnd(byte: number, fault: number, next: number): boolean {
    return byte === LF ? this.#go(next) : this.#refuse(fault);
  }

  #go(state: number): true {
    this.#state = state;
    return true;
  }

  #refuse(fault: number): false {
    this.fault = fault;
    this.error = faultStatus(fault);
    this.#state = STOPPED;
    return false;
  }
}

/** The line that opens a chunk of `bytes` (more than 0) bytes. */
export function chunkHeader(bytes: number): string {
  return `${bytes.toString(16)}\r\n`;
}
