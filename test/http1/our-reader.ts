import { type BodySink, ChunkedDecoder } from '../../src/data-plane/http1/chunked.ts';
import { BODY_CHUNKED, BODY_CLOSE, BODY_LENGTH, BODY_NONE, Head } from '../../src/data-plane/http1/head.ts';
import { DEFAULT_HEAD_LIMITS } from '../../src/data-plane/http1/limits.ts';
import { parseRequestHead } from '../../src/data-plane/http1/request-parser.ts';
import { parseResponseHead } from '../../src/data-plane/http1/response-parser.ts';
import { findHeadEnd, skipLeadingCrlf } from '../../src/data-plane/http1/scan.ts';
import type { Case, Message, Reading } from './reading.ts';

/** Drives the codec over a growing prefix of a buffer, as a connection does over what a socket delivered. */
export class OurReader implements BodySink {
  readonly reading: Reading = { messages: [], end: 'waiting' };
  readonly #case: Case;
  readonly #buffer: Buffer;
  readonly #head = new Head();
  readonly #decoder = new ChunkedDecoder();
  #at = 0;
  #scanned = 0;
  #body = BODY_NONE;
  #remaining = 0;
  #answered = 0;
  #inBody = false;

  constructor(testCase: Case, buffer: Buffer) {
    this.#case = testCase;
    this.#buffer = buffer;
  }

  /** The first `to` bytes have come. */
  advance(to: number): void {
    while (this.reading.end === 'waiting' && (this.#inBody ? this.#readBody(to) : this.#readHead(to)));
  }

  /** The peer closed. */
  finish(): void {
    if (this.#inBody && this.#body === BODY_CLOSE) this.#complete();
  }

  onBody(buffer: Buffer, start: number, end: number): void {
    this.#message().body += buffer.toString('latin1', start, end);
  }

  #message(): Message {
    return this.reading.messages.at(-1)!;
  }

  /** True when there is more to do with what has come. */
  #readHead(to: number): boolean {
    if (this.#case.kind === 'request') this.#at = skipLeadingCrlf(this.#buffer, this.#at, to);
    const end = findHeadEnd(this.#buffer, Math.max(this.#at, this.#scanned - 3), to);
    this.#scanned = to;
    if (end < 0) return false;
    const text = this.#buffer.toString('latin1', this.#at, end);
    if (this.#parse(text) !== 0) {
      this.reading.end = 'refused';
      return false;
    }
    this.reading.messages.push(messageOf(this.#head, this.#at));
    this.#at = end;
    this.#scanned = end;
    this.#body = this.#head.body;
    this.#remaining = this.#head.contentLength;
    this.#inBody = true;
    this.#decoder.reset();
    if (this.#body === BODY_NONE || (this.#body === BODY_LENGTH && this.#remaining === 0)) this.#complete();
    return true;
  }

  #parse(text: string): number {
    if (this.#case.kind === 'request') return parseRequestHead(text, this.#head, DEFAULT_HEAD_LIMITS);
    const method = this.#case.methods[this.#answered] ?? 'GET';
    const fault = parseResponseHead(text, this.#head, method, DEFAULT_HEAD_LIMITS);
    if (this.#head.status >= 200) this.#answered += 1;
    return fault;
  }

  #readBody(to: number): boolean {
    if (this.#at >= to) return false;
    if (this.#body === BODY_CHUNKED) {
      this.#at = this.#decoder.feed(this.#buffer, this.#at, to, this);
      if (this.#decoder.error !== 0) this.reading.end = 'refused';
      if (this.#decoder.done) this.#complete();
      return true;
    }
    const stop = this.#body === BODY_CLOSE ? to : Math.min(to, this.#at + this.#remaining);
    this.onBody(this.#buffer, this.#at, stop);
    this.#remaining -= stop - this.#at;
    this.#at = stop;
    if (this.#body === BODY_LENGTH && this.#remaining === 0) this.#complete();
    return true;
  }

  #complete(): void {
    const message = this.#message();
    message.complete = true;
    message.end = this.#at;
    message.trailers = this.#body === BODY_CHUNKED ? this.#decoder.trailers : '';
    this.#inBody = false;
    if (message.upgrade || !message.keepAlive) this.reading.end = 'stopped';
  }
}

function messageOf(head: Head, start: number): Message {
  const fields: string[] = [];
  for (let field = 0; field < head.count; field += 1) fields.push(head.nameOf(field), head.valueOf(field));
  const reason = head.text.slice(head.reasonStart, head.reasonEnd);
  return {
    start,
    end: -1,
    line: head.status === 0 ? [head.method, head.target] : [String(head.status), reason],
    version: head.version,
    fields,
    keepAlive: head.keepAlive,
    upgrade: head.upgrade,
    body: '',
    trailers: '',
    complete: false,
  };
}

/** Reads all bytes in one piece, or one at a time. */
export function readOurs(testCase: Case, byteByByte: boolean): Reading {
  const buffer = Buffer.from(testCase.text, 'latin1');
  const reader = new OurReader(testCase, buffer);
  for (let to = byteByByte ? 1 : buffer.length; to <= buffer.length; to += 1) reader.advance(to);
  reader.finish();
  return reader.reading;
}
