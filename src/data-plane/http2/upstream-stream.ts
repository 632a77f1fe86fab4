/** One exchange over HTTP/2 with an upstream: a stream of a session that others share. */
import { constants, type ClientHttp2Stream } from 'node:http2';
import type { UpstreamContext } from '../pool/endpoints.ts';
import type { SocketPlan } from '../pool/socket-plan.ts';
import type { TunnelEnd, UpstreamFailure, UpstreamSide, UpstreamUser } from '../proxy/sides.ts';
import { describeFault } from '../http1/errors.ts';
import { BODY_LENGTH } from '../http1/head.ts';
import type { HeadLimits } from '../http1/limits.ts';
import { parseResponseHead } from '../http1/response-parser.ts';
import { readTrailer } from '../http1/trailers.ts';
import { Deadline, type Expirable } from '../wheel.ts';
import { cutStream } from './cut-stream.ts';
import { failureOf, nameOfError } from './reset-codes.ts';
import { requestFields } from '../../shared/http2/request-fields.ts';
import { responseHeadText, trailerLines } from '../../shared/http2/response-head.ts';
import type { UpstreamSession } from './upstream-session.ts';

type Waiting = 'none' | 'response-head' | 'reading' | 'writing' | 'paused';

/** A stream that is not read hears of no reset either: after this long it is given up. */
const PAUSED_MAX_MS = 600_000;
/** Field lines in a trailer section to an upstream. */
const TRAILER_LINE = /^([^:]+):[ \t]*(.*)$/;

export class UpstreamStream implements UpstreamSide, Expirable {
  readonly reused: boolean;
  readonly #session: UpstreamSession;
  readonly #context: UpstreamContext;
  readonly #limits: HeadLimits;
  readonly #options: SocketPlan;
  readonly #deadline = new Deadline(this);
  #user: UpstreamUser | null;
  #stream: ClientHttp2Stream | null = null;
  /** The request until its stream is opened: with the first bytes of its body, or its end. */
  #fields: string[] = [];
  #method = '';
  #chunked = false;
  #trailersOut = '';
  #trailersIn = '';
  #interimBytes = 0;
  /** Bytes of body that are still announced; −1 = not announced. */
  #left = -1;
  #waiting: Waiting = 'none';
  #paused = false;
  #awaiting = false;

  /** `reused`: the session stood idle before, so its end may have crossed with this request. */
  constructor(
    session: UpstreamSession,
    context: UpstreamContext,
    user: UpstreamUser,
    limits: HeadLimits,
    options: SocketPlan,
    reused: boolean,
  ) {
    this.#session = session;
    this.#context = context;
    this.#user = user;
    this.#limits = limits;
    this.#options = options;
    this.reused = reused;
  }

  // --- request ------------------------------------------------------------------------------------

  sendHead(requestLine: string, lines: string, method: string, chunked: boolean): void {
    this.#method = method;
    this.#chunked = chunked;
    this.#awaiting = true;
    this.#fields = requestFields(requestLine, lines, this.#session.scheme);
  }

  sendBody(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    const stream = this.#open(false);
    if (stream === null) return true;
    if (start === end) return !stream.writableNeedDrain;
    const bytes = buffer.subarray(start, end);
    const open = stream.write(owned ? bytes : Buffer.from(bytes));
    if (!open && this.#options.writeTimeoutMs !== undefined && this.#waiting === 'none') {
      this.#wait('writing', this.#options.writeTimeoutMs);
    }
    return open;
  }

  sendEnd(trailers: string): void {
    this.#trailersOut = trailers;
    if (this.#stream === null) this.#open(true);
    else if (!this.#stream.writableEnded) this.#stream.end();
  }

  flush(): void {
    if (this.#stream === null && this.#fields.length > 0) this.#open(false);
  }

  expectHead(timeoutMs: number): void {
    if (!this.#awaiting) return;
    const limitMs = Math.min(timeoutMs > 0 ? timeoutMs : Infinity, this.#options.readTimeoutMs ?? Infinity);
    if (limitMs !== Infinity) this.#wait('response-head', limitMs);
    else if (this.#waiting === 'writing') this.#wait('none', 0);
  }

  /** null when the request cannot be sent: then the user hears of it in a turn of its own. */
  #open(ended: boolean): ClientHttp2Stream | null {
    if (this.#stream !== null || this.#fields.length === 0) return this.#stream;
    const fields = this.#fields;
    this.#fields = [];
    const opened = this.#session.request(fields, ended && this.#trailersOut === '', this.#chunked);
    if (typeof opened === 'string') {
      // The user is in the middle of sending: it must not be called back now.
      process.nextTick(() => this.#fail('leaving', opened));
      return null;
    }
    this.#stream = opened;
    this.#listen(opened);
    if (ended && this.#trailersOut !== '') opened.end();
    return opened;
  }

  #listen(stream: ClientHttp2Stream): void {
    stream.on('headers', (_fields, flags, raw) => this.#onHead(raw, flags));
    stream.on('response', (_fields, flags, raw) => this.#onHead(raw, flags));
    stream.on('trailers', (_fields, _flags, raw) => {
      this.#trailersIn = trailerLines(raw, readTrailer);
    });
    stream.on('data', (bytes: Buffer) => this.#onData(bytes));
    stream.on('end', () => this.#onEnd(stream));
    stream.on('drain', () => this.#onDrain());
    stream.on('wantTrailers', () => this.#sendTrailers(stream));
    // What it means is read from the code at 'close'.
    stream.on('error', () => undefined);
    stream.on('close', () => this.#onClose(stream));
  }

  #sendTrailers(stream: ClientHttp2Stream): void {
    // Without a prototype: a client may call a field `constructor`.
    const fields = Object.create(null) as Record<string, string[]>;
    for (const line of this.#trailersOut.split('\r\n')) {
      const [, name, value] = TRAILER_LINE.exec(line) ?? [];
      if (name !== undefined) (fields[name.toLowerCase()] ??= []).push(value ?? '');
    }
    if (stream.destroyed || stream.closed) return;
    try {
      stream.sendTrailers(fields);
    } catch {
      // Node refuses some fields when there are two of them, and clients decide what stands there.
      this.#fail('closed', 'the trailers of the request cannot be sent');
    }
  }

  // --- response -----------------------------------------------------------------------------------

  #onHead(raw: readonly string[], flags: number): void {
    const user = this.#user;
    if (user === null || !this.#awaiting) return;
    const { head } = this.#context;
    const text = responseHeadText(raw, flags, this.#method);
    const fault = parseResponseHead(text, head, this.#method, this.#limits);
    if (fault !== 0) return this.#fail('invalid', describeFault(fault));
    if (head.status === 101) return this.#fail('invalid', 'switched protocols over HTTP/2');
    if (head.status >= 200) {
      this.#awaiting = false;
      this.#wait('none', 0);
      this.#left = head.body === BODY_LENGTH ? head.contentLength : -1;
      this.#awaitRead();
    } else {
      this.#interimBytes += text.length;
      if (this.#interimBytes > this.#limits.maxBytes) return this.#fail('invalid', 'too many interim responses');
    }
    user.onResponseHead(head);
    this.#user?.onResponseTurn();
  }

  #onData(bytes: Buffer): void {
    const user = this.#user;
    if (user === null) return;
    if (this.#left >= 0) {
      this.#left -= bytes.length;
      if (this.#left < 0) return this.#fail('invalid', 'more body than announced');
    }
    user.onResponseBody(bytes, 0, bytes.length);
    this.#user?.onResponseTurn();
    this.#awaitRead();
  }

  /** Node ends what is read of a stream that was reset, too: only its code tells (RFC 9113 section 8.1). */
  #onEnd(stream: ClientHttp2Stream): void {
    if (this.#user === null) return;
    if (this.#awaiting) {
      // Without a head it is the close that tells what happened; after NO_ERROR it would wait for the rest of the request.
      if (stream.closed) this.#onClose(stream);
      return;
    }
    if (stream.rstCode !== undefined && stream.rstCode !== constants.NGHTTP2_NO_ERROR) this.#onClose(stream);
    else if (this.#left > 0) this.#fail('closed', 'closed before the response was complete');
    else this.#user.onResponseEnd(this.#trailersIn, true);
  }

  #onDrain(): void {
    if (this.#waiting === 'writing') this.#wait('none', 0);
    this.#user?.onUpstreamDrain();
  }

  #onClose(stream: ClientHttp2Stream): void {
    this.#left = -1;
    const code = stream.rstCode ?? 0;
    if (this.#user === null) return this.#leave();
    const failure = failureOf(code);
    const leaving = failure === 'refused' && this.#session.isClosing;
    this.#fail(leaving ? 'leaving' : failure, this.#session.fault || nameOfError(code));
  }

  /** `read_timeout`: counts anew with every piece, while nothing else is waited for. */
  #awaitRead(): void {
    const { readTimeoutMs } = this.#options;
    if (readTimeoutMs === undefined || this.#user === null || this.#awaiting) return;
    if (this.#waiting === 'none' || this.#waiting === 'reading') this.#wait('reading', readTimeoutMs);
  }

  // --- both ---------------------------------------------------------------------------------------

  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#stream?.pause();
    this.#wait('paused', PAUSED_MAX_MS);
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#waiting === 'paused') this.#wait('none', 0);
    this.#awaitRead();
    this.#stream?.resume();
  }

  release(): void {
    this.#end(constants.NGHTTP2_NO_ERROR);
  }

  /** What is left of the response is cheaper to cancel than to read: the session goes on in any case. */
  discard(): void {
    this.#end(constants.NGHTTP2_CANCEL);
  }

  reset(): void {
    this.#end(constants.NGHTTP2_CANCEL);
  }

  /** Of whom it is for, '' = nobody any more. */
  get poolHash(): string {
    return this.#user?.poolHash ?? '';
  }

  /** The session broke, or is cut. */
  broken(failure: UpstreamFailure, detail: string): void {
    this.#fail(failure, detail);
  }

  onDeadline(): void {
    const waiting = this.#waiting;
    this.#waiting = 'none';
    if (waiting === 'response-head') this.#fail('timeout', 'no response head in time');
    else if (waiting === 'reading') this.#fail('timeout', 'silent in the middle of a response');
    else if (waiting === 'writing') this.#fail('timeout', 'took no bytes of the request in time');
    else if (waiting === 'paused') this.#fail('closed', 'paused for too long');
  }

  #fail(failure: UpstreamFailure, detail: string): void {
    const user = this.#user;
    this.#end(constants.NGHTTP2_CANCEL);
    user?.onUpstreamFailed(failure, detail);
  }

  #end(code: number): void {
    this.#user = null;
    this.#fields = [];
    const stream = this.#stream;
    if (stream !== null && !stream.closed && !stream.destroyed) {
      if (stream.writableEnded) stream.close(code);
      // What is missing of the request must not look like its end.
      else cutStream(stream, constants.NGHTTP2_CANCEL);
    }
    // Closed by the server with a part of the request still to be written: nobody else ends it.
    else if (stream !== null && !stream.destroyed && !stream.writableFinished) stream.destroy();
    // A stream that nobody reads would never close.
    stream?.resume();
    if (stream === null || stream.closed) this.#leave();
  }

  #leave(): void {
    this.#context.wheel.remove(this.#deadline);
    this.#session.left(this);
  }

  #wait(waiting: Waiting, ms: number): void {
    this.#waiting = waiting;
    if (waiting === 'none') this.#context.wheel.disarm(this.#deadline);
    else this.#context.wheel.arm(this.#deadline, ms);
  }

  // --- what HTTP/2 does not have: requests for another protocol go over HTTP/1.1 -------------------

  beginTunnel(end: TunnelEnd): void {
    end.onTunnelReset();
  }

  writeRaw(): boolean {
    return true;
  }

  finishRaw(): void {
    this.reset();
  }
}
