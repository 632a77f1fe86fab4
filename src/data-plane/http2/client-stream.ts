/**
 * One exchange over HTTP/2 with a client: a stream of a session that carries others besides.
 *
 * States: an exchange runs → its response is handed over, or it became a tunnel → closed. The stream's 'close' is the
 * end in every case; what runs then has lost its client.
 */
import { randomBytes } from 'node:crypto';
import { constants, type ServerHttp2Stream, type ServerStreamResponseOptions } from 'node:http2';
import type { IpAddress } from '../../shared/net/ip.ts';
import { LIMIT_TRAILERS, SERVER_TIMEOUTS } from '../../shared/state-table/layout.ts';
import { trailerLines } from '../../shared/http2/response-head.ts';
import { ClientWaits } from '../http1/client-waits.ts';
import { BODY_NONE, VERSION_HTTP2, type Head } from '../http1/head.ts';
import { MAX_TRAILER_BYTES, MAX_TRAILER_FIELDS } from '../http1/limits.ts';
import { answerRefusal, countLimit } from '../http1/refusal.ts';
import { parseRequestHead } from '../http1/request-parser.ts';
import { isUnsized } from '../http1/response-head.ts';
import { isMisdirected } from '../http1/socket-facts.ts';
import { readTrailer } from '../http1/trailers.ts';
import { Exchange } from '../proxy/exchange.ts';
import type { ConnectionFacts } from '../proxy/request-facts.ts';
import type { ClientSide, TunnelEnd } from '../proxy/sides.ts';
import type { ClientTimes } from '../route/decision.ts';
import type { TlsFacts } from '../route/tls-facts.ts';
import type { Generation, HttpServer } from '../server.ts';
import type { Expirable } from '../wheel.ts';
import type { World } from '../world.ts';
import type { ClientSession } from './client-session.ts';
import { cutStream } from './cut-stream.ts';
import { requestText, type RequestText } from './request-text.ts';
import { fieldsByName, responseFields } from './response-fields.ts';

/** RFC 9113 section 6.2. */
const FLAG_END_STREAM = 0x1;
/** A stream that was ended and is still there: its session sends nothing any more. */
const STUCK_MS = 5000;
const WEBSOCKET_KEY_BYTES = 16;
const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_STREAM_STATE_IDLE } = constants;

export class ClientStream implements ClientSide, ConnectionFacts, Expirable {
  readonly #world: World;
  readonly #session: ClientSession;
  readonly #server: HttpServer;
  readonly #stream: ServerHttp2Stream;
  readonly #waits: ClientWaits;
  #exchange: Exchange | null = null;
  #tunnel: TunnelEnd | null = null;
  /** Nothing more of the request body comes, as far as the exchange is concerned. */
  #bodyDone = true;
  /** The client has said that it sends nothing more. */
  #inputEnded = false;
  #trailersIn = '';
  /** Head of the response until its first body bytes, or its end; null = sent, or not there yet. */
  #fields: string[] | null = null;
  /** The end of the response may be trailers. */
  #waitsForTrailers = false;
  #trailersOut = '';
  #bodyless = false;
  #opensTunnel = false;
  /** A tunnel was refused in a way that HTTP/2 cannot tell: the body of that answer goes nowhere. */
  #muted = false;
  #ended = false;
  #cut = false;

  constructor(world: World, session: ClientSession, server: HttpServer, stream: ServerHttp2Stream) {
    this.#world = world;
    this.#session = session;
    this.#server = server;
    this.#stream = stream;
    this.#waits = new ClientWaits(world, this);
    stream.on('close', () => this.#onClose());
    stream.on('drain', () => this.#onDrain());
    stream.on('aborted', () => this.#onAborted());
    stream.on('end', () => this.#onInputOver());
  }

  get peer(): IpAddress | null {
    return this.#session.peer;
  }

  get peerPort(): number {
    return this.#session.peerPort;
  }

  get localAddress(): string {
    return this.#session.localAddress;
  }

  get localPort(): number {
    return this.#session.localPort;
  }

  get tls(): TlsFacts | null {
    return this.#session.tls;
  }

  // --- request ------------------------------------------------------------------------------------

  start(raw: readonly string[], flags: number, generation: Generation): void {
    const ended = (flags & FLAG_END_STREAM) !== 0;
    this.#inputEnded = ended;
    const request = requestText(raw, ended, createWebSocketKey);
    if (typeof request === 'number') return this.#refuse(request, null);
    const head = this.#world.takeHead();
    const status = this.#faultOf(request, head);
    head.version = VERSION_HTTP2;
    if (status !== 0) {
      this.#refuse(status, head);
      this.#world.giveHead(head);
      return;
    }
    this.#opensTunnel = request.opensTunnel;
    this.#bodyDone = !head.hasBody;
    if (!ended && !this.#opensTunnel) this.#readBody();
    this.#waits.beginRequest(this.#server.options, this.#bodyDone);
    const exchange = new Exchange(this.#world, this, this.#server, generation, head);
    this.#exchange = exchange;
    exchange.start();
    this.#exchange?.onRequestTurn();
  }

  #readBody(): void {
    const stream = this.#stream;
    stream.on('data', (bytes: Buffer) => this.#onData(bytes));
    stream.on('trailers', (_fields: unknown, _flags: number, raw: string[]) => this.#onTrailers(raw));
    stream.on('end', () => this.#onEnd());
  }

  #onData(bytes: Buffer): void {
    this.#session.useful();
    if (this.#tunnel !== null) {
      if (this.#waits.halfClosed) this.#rearm();
      if (!this.#tunnel.onTunnelData(bytes, 0, bytes.length, true)) this.pause();
      return;
    }
    if (this.#bodyDone) return;
    this.#rearm();
    this.#exchange?.onRequestBody(bytes, 0, bytes.length);
    this.#exchange?.onRequestTurn();
  }

  #onTrailers(raw: readonly string[]): void {
    this.#trailersIn = trailerLines(raw, readTrailer);
    if (raw.length / 2 <= MAX_TRAILER_FIELDS && this.#trailersIn.length <= MAX_TRAILER_BYTES) return;
    this.#trailersIn = '';
    countLimit(this.#world, this.#server.row, LIMIT_TRAILERS);
    this.#bodyDone = true;
    this.#exchange?.onRequestFailed(431);
  }

  /** Node ends what is read of a stream that was reset, too: then its 'close' tells (RFC 9113 section 8.1.1). */
  #onEnd(): void {
    const { closed, rstCode } = this.#stream;
    // Of a tunnel that we have ended, this end is what closes the stream.
    if (closed && !(this.#waits.halfClosed && rstCode === NGHTTP2_NO_ERROR)) return;
    this.#inputEnded = true;
    if (this.#tunnel !== null) {
      this.#tunnel.onTunnelFin();
      return;
    }
    if (this.#bodyDone) return;
    this.#bodyDone = true;
    this.#waits.endBody();
    this.#rearm();
    this.#exchange?.onRequestEnd(this.#trailersIn);
    this.#exchange?.onRequestTurn();
  }

  /** Status to refuse it with, 0 = none. */
  #faultOf({ text, lines }: RequestText, head: Head): number {
    const status = parseRequestHead(text, head, this.#server.limits);
    if (status !== 0) return status;
    if (head.count !== lines) return 400;
    return this.tls !== null && isMisdirected(this.#server, this.tls, head) ? 421 : 0;
  }

  /** `head` is null when it was not understood. */
  #refuse(status: number, head: Head | null): void {
    const refusal = { status, fault: head?.fault ?? 0, head: head === null || head.fault !== 0 ? null : head };
    const { lines, body } = answerRefusal(this.#world, this.#server, this, refusal);
    this.#fields = responseFields(status, lines);
    this.#respond(false);
    if (!this.#stream.writableEnded) this.#stream.end(body);
    this.#finished();
  }

  // --- response -----------------------------------------------------------------------------------

  sendInterim(status: number, _reason: string, lines: string): void {
    const stream = this.#stream;
    if (status === 101 || stream.closed || stream.destroyed || stream.headersSent) return;
    this.#try(() => stream.additionalHeaders(fieldsByName(status, lines)));
  }

  sendHead(status: number, _reason: string, lines: string, body: number): void {
    // A 2xx would tell the client that its tunnel is open (RFC 8441 section 4).
    this.#muted = this.#opensTunnel && status < 300;
    this.#waitsForTrailers = isUnsized(body) && !this.#muted;
    this.#bodyless = body === BODY_NONE || this.#muted;
    this.#fields = this.#muted ? responseFields(502, '') : responseFields(status, lines);
    this.#waits.beginResponse(this.#server.options, this.#bodyDone);
  }

  sendBody(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    this.#respond(false);
    const stream = this.#stream;
    if (this.#muted || stream.closed || stream.destroyed) return true;
    if (start === end) return !stream.writableNeedDrain;
    this.#session.useful();
    const bytes = buffer.subarray(start, end);
    const open = stream.write(owned ? bytes : Buffer.from(bytes));
    if (!open && !this.#waits.blocked) {
      this.#waits.blocked = true;
      this.#rearm();
    }
    return open;
  }

  sendEnd(trailers: string): void {
    this.#trailersOut = trailers;
    this.#respond(trailers === '' || this.#muted);
    if (!this.#stream.writableEnded) this.#stream.end();
    this.#exchange = null;
    this.#waits.endExchange();
    this.#finished();
  }

  /** A response that is known to be empty is one frame: what gRPC calls Trailers-Only must be. */
  flush(): void {
    if (this.#fields !== null) this.#respond(this.#isEmpty(this.#fields));
  }

  #isEmpty(fields: readonly string[]): boolean {
    if (this.#waitsForTrailers) return false;
    const length = fields.indexOf('content-length');
    return length >= 0 && length % 2 === 0 ? fields[length + 1] === '0' : this.#bodyless;
  }

  /** `ended`: nothing follows the head. */
  #respond(ended: boolean): void {
    const fields = this.#fields;
    const stream = this.#stream;
    this.#fields = null;
    if (fields === null || stream.closed || stream.destroyed) return;
    const waitForTrailers = this.#waitsForTrailers && !ended;
    this.#waitsForTrailers = waitForTrailers;
    if (waitForTrailers) stream.on('wantTrailers', () => this.#sendTrailers());
    // Node 24.21 knows the last one, its types do not: a Date is not for a proxy to add.
    const options: ServerStreamResponseOptions & { sendDate: boolean } = {
      endStream: ended,
      waitForTrailers,
      sendDate: false,
    };
    this.#try(() => stream.respond(fields, options));
  }

  #sendTrailers(): void {
    const stream = this.#stream;
    if (stream.closed || stream.destroyed) return;
    this.#try(() => stream.sendTrailers(fieldsByName(0, this.#trailersOut)));
    // They go out in a turn of their own, and the rest of the request is not wanted behind them.
    if (!this.#inputEnded) this.#world.clock.afterPoll(() => this.#dropInput());
  }

  /** All of the response is handed over: the client has a while to take what is left of it. */
  #finished(): void {
    this.#ended = true;
    if (this.#waits.paused) this.resume();
    this.#waits.wait(this.#server.options.writeIdleTimeoutMs);
    if (!this.#inputEnded && !this.#waitsForTrailers) this.#dropInput();
  }

  /** Section 8.1: a response may be complete before its request, and NO_ERROR says that it counts. Waits for what is written. */
  #dropInput(): void {
    const stream = this.#stream;
    if (this.#inputEnded || stream.closed || stream.destroyed) return;
    stream.close(NGHTTP2_NO_ERROR);
    stream.resume();
  }

  /** Node refuses what it does not take for a field, and streams that ended meanwhile. */
  #try(send: () => void): void {
    try {
      send();
    } catch {
      this.reset();
    }
  }

  limitTimes(times: ClientTimes): void {
    this.#waits.limit(times, this.#server.options, this.#bodyDone);
  }

  closeAfter(): void {
    this.#session.retire(0);
  }

  // --- both ---------------------------------------------------------------------------------------

  pause(): void {
    if (this.#waits.paused) return;
    this.#waits.paused = true;
    this.#stream.pause();
    this.#rearm();
  }

  resume(): void {
    if (!this.#waits.paused) return;
    this.#waits.paused = false;
    this.#stream.resume();
    this.#rearm();
  }

  /** A broken tunnel is what RFC 8441 section 5 calls CANCEL; a response that breaks off is our error. */
  reset(): void {
    const code = this.#tunnel !== null || this.#opensTunnel ? NGHTTP2_CANCEL : NGHTTP2_INTERNAL_ERROR;
    this.#tunnel = null;
    this.#fields = null;
    this.#cutWith(code);
  }

  #cutWith(code: number): void {
    this.#cut = true;
    const stream = this.#stream;
    if (stream.destroyed) return;
    cutStream(stream, code);
    this.#waits.wait(STUCK_MS);
  }

  /** The grace period is over. */
  abort(): void {
    const tunnel = this.#tunnel;
    const exchange = this.#exchange;
    this.#exchange = null;
    this.reset();
    exchange?.onClientGone();
    tunnel?.onTunnelReset();
  }

  /** The session is gone. */
  gone(): void {
    this.#onClose();
  }

  #onDrain(): void {
    this.#waits.blocked = false;
    if (this.#ended) return;
    this.#rearm();
    if (this.#tunnel !== null) this.#tunnel.onTunnelDrain();
    else this.#exchange?.onClientDrain();
  }

  /**
   * Reset by the client with NO_ERROR before the response was through. Node waits for what is still to be written then,
   * which never goes out: the stream would stay, though nghttp2 lets the client open another one.
   */
  #onAborted(): void {
    const stream = this.#stream;
    if (!stream.destroyed && stream.rstCode === NGHTTP2_NO_ERROR) stream.destroy();
  }

  /** The same, when all of the response was handed over: nothing tells of it but that nghttp2 has forgotten the stream. */
  #onInputOver(): void {
    const stream = this.#stream;
    if (!stream.closed || stream.writableFinished) return;
    this.#world.clock.afterPoll(() => {
      if (!stream.destroyed && stream.state.state === NGHTTP2_STREAM_STATE_IDLE) stream.destroy();
    });
  }

  #onClose(): void {
    const tunnel = this.#tunnel;
    const exchange = this.#exchange;
    this.#tunnel = null;
    this.#exchange = null;
    this.#fields = null;
    this.#waits.end();
    const failed = this.#stream.rstCode !== NGHTTP2_NO_ERROR;
    const isWhole = tunnel !== null || this.#stream.writableFinished;
    this.#session.left(this, (failed || !isWhole) && !this.#cut);
    exchange?.onClientGone();
    if (failed || !this.#inputEnded || !this.#waits.halfClosed) tunnel?.onTunnelReset();
  }

  #rearm(): void {
    if (this.#tunnel !== null) this.#waits.waitForTunnel(this.#server.options);
    else if (this.#exchange !== null) this.#waits.waitForExchange(this.#server.options, this.#bodyDone);
  }

  onDeadline(): void {
    if (this.#cut) {
      this.#session.reset();
      return;
    }
    if (this.#tunnel !== null) {
      this.#tunnel.onTunnelReset();
      this.reset();
      return;
    }
    if (!this.#ended) {
      this.#onExchangeDeadline();
      return;
    }
    this.#countTimeout();
    this.#cutWith(NGHTTP2_CANCEL);
  }

  #onExchangeDeadline(): void {
    if (!this.#waits.blocked && !this.#bodyDone && this.#waits.paused) {
      // It is the upstream that does not read: no fault of the client's.
      this.#exchange?.onRequestFailed(504);
      return;
    }
    this.#countTimeout();
    if (this.#waits.blocked || this.#bodyDone) this.abort();
    else this.#exchange?.onRequestFailed(408);
  }

  #countTimeout(): void {
    this.#world.servers.count(this.#server.row, SERVER_TIMEOUTS, 1);
  }

  // --- tunnel -------------------------------------------------------------------------------------

  beginTunnel(lines: string, end: TunnelEnd): void {
    this.#exchange = null;
    this.#waits.endExchange();
    this.#tunnel = end;
    this.#fields = responseFields(200, lines);
    this.#respond(false);
    this.#rearm();
    if (this.#cut) {
      end.onTunnelReset();
      return;
    }
    this.#waits.paused = false;
    this.#readBody();
    // What the client sent with its request may have ended already.
    this.#stream.resume();
  }

  writeRaw(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    return this.sendBody(buffer, start, end, owned);
  }

  finishRaw(): void {
    if (!this.#stream.writableEnded) this.#stream.end();
    this.#waits.halfClosed = true;
    this.#rearm();
  }
}

function createWebSocketKey(): string {
  return randomBytes(WEBSOCKET_KEY_BYTES).toString('base64');
}
