/**
 * One HTTP/1 connection of a client: cuts the byte stream into requests, one exchange at a time, and
 * frames the answers. Requests that arrive early (pipelining) wait in one bounded buffer.
 *
 * Phases: idle → head → busy → idle … → linger → closed, or busy → tunnel. Between busy and idle stands flush when the
 * client does not read: its next request waits until it has taken the answers before, so that they cannot pile up.
 */
import type { Socket } from 'node:net';
import { parseIp, type IpAddress } from '../../shared/net/ip.ts';
import { resetSocket } from '../../shared/net/reset.ts';
import {
  LIMIT_REQUESTS_PER_CONNECTION,
  SERVER_BAD_REQUESTS,
  SERVER_LIMITS,
  SERVER_RESPONSES,
  SERVER_TIMEOUTS,
} from '../../shared/state-table/layout.ts';
import { errorText } from '../proxy/error-response.ts';
import { Exchange } from '../proxy/exchange.ts';
import type { ClientSide, TunnelEnd } from '../proxy/sides.ts';
import type { HttpServer } from '../server.ts';
import { Deadline, type Expirable } from '../wheel.ts';
import type { World } from '../world.ts';
import { BodyReader } from './body-reader.ts';
import { isEventStream } from './event-stream.ts';
import { BODY_CHUNKED, BODY_CLOSE } from './head.ts';
import { limitOfBody, limitOfHead } from './limit-hits.ts';
import { MessageWriter } from './message-writer.ts';
import { reasonOf } from './reasons.ts';
import { parseRequestHead } from './request-parser.ts';
import { findHeadEnd, hasBareLf, skipLeadingCrlf } from './scan.ts';

type Phase = 'idle' | 'head' | 'busy' | 'flush' | 'linger' | 'tunnel' | 'closed';

/** Bytes of pipelined requests kept while an exchange runs; then the socket is paused. */
const MAX_AHEAD_BYTES = 65_536;
/** After the last response the client may still be sending: its bytes are read and dropped this long. */
const LINGER_MS = 5000;
/** … and never longer than this, however it dribbles. */
const LINGER_TOTAL_MS = 30_000;
const LINGER_MAX_BYTES = 268_435_456;
const HALF_CLOSED_MAX_MS = 300_000;
/** The client of a tunnel is not read, because the upstream does not read: after this long it is given up. */
const PAUSED_MAX_MS = 600_000;
const NO_SERVER_IDLE_MS = 5000;

export class ServerConnection implements ClientSide, Expirable {
  readonly #world: World;
  readonly #socket: Socket;
  readonly #listenerKey: string;
  readonly #writer: MessageWriter;
  readonly #deadline: Deadline;
  #peer: IpAddress | null | undefined = undefined;
  #phase: Phase = 'idle';
  #server: HttpServer | null = null;
  #pending: Buffer | null = null;
  #paused = false;
  #inputEnded = false;

  /** The exchange now running, its request body and how its response is framed. */
  #exchange: Exchange | null = null;
  readonly #body = new BodyReader();
  #version = 11;
  /** Counted only while the server limits them. */
  #requests = 0;
  #keepAlive = true;
  #blocked = false;
  #bodyLimitAt = Infinity;
  #writeLimitAt = Infinity;
  #discarded = 0;
  #lingerEndsAt = 0;
  #reading = false;
  #tunnel: TunnelEnd | null = null;
  #halfClosed = false;
  #eventStream = false;

  constructor(world: World, socket: Socket, listenerKey: string) {
    this.#world = world;
    this.#socket = socket;
    this.#listenerKey = listenerKey;
    this.#writer = new MessageWriter(socket);
    this.#deadline = new Deadline(this);
    socket.allowHalfOpen = true;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('end', () => this.#onFin());
    socket.on('drain', () => this.#onDrain());
    // Nothing to do here: 'close' follows, and a socket without this listener would end the thread.
    socket.on('error', () => {});
    socket.on('close', (broken: boolean) => this.#onClose(broken));
    this.#armIdle();
  }

  /** The client half-closed and none of its requests waits any more. */
  get #inputOver(): boolean {
    return this.#inputEnded && this.#pending === null && !this.#reading;
  }

  get listenerKey(): string {
    return this.#listenerKey;
  }

  /** The TCP peer, canonical; null when the socket has none any more. */
  get peer(): IpAddress | null {
    if (this.#peer === undefined) this.#peer = parseIp(this.#socket.remoteAddress ?? '');
    return this.#peer;
  }

  get peerPort(): number {
    return this.#socket.remotePort ?? 0;
  }

  get localAddress(): string {
    return this.#socket.localAddress ?? '';
  }

  get localPort(): number {
    return this.#socket.localPort ?? 0;
  }

  // --- what the exchange asks -------------------------------------------------------------------

  sendInterim(status: number, reason: string, lines: string): void {
    if (this.#version < 11) return;
    this.#socket.write(`HTTP/1.1 ${status} ${reason}\r\n${lines}\r\n`, 'latin1');
  }

  sendHead(status: number, reason: string, lines: string, body: number): void {
    // A request that is still being sent cannot be followed by another one on this connection.
    if (!this.#body.done || this.#inputOver || this.#world.draining) this.#keepAlive = false;
    const unsized = body === BODY_CHUNKED || body === BODY_CLOSE;
    const chunked = unsized && this.#version >= 11;
    if (unsized && !chunked) this.#keepAlive = false;
    let head = `HTTP/1.1 ${status} ${reason}\r\n${lines}`;
    if (chunked) head += 'Transfer-Encoding: chunked\r\n';
    if (!this.#keepAlive) head += 'Connection: close\r\n';
    else if (this.#version < 11) head += 'Connection: keep-alive\r\n';
    const limitMs = this.#server!.options.writeTimeoutMs;
    if (limitMs > 0) {
      this.#writeLimitAt = this.#world.clock.now() + limitMs;
      this.#rearm();
    }
    this.#writer.start(`${head}\r\n`, chunked);
    this.#eventStream = unsized && isEventStream(lines);
    if (this.#eventStream && this.#inputOver) this.#socket.destroy();
  }

  sendBody(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    const open = this.#writer.body(buffer, start, end, owned);
    if (!open && !this.#blocked) {
      this.#blocked = true;
      this.#rearm();
    }
    return open;
  }

  sendEnd(trailers: string): void {
    this.#writer.end(this.#version >= 11 ? trailers : '');
    this.#responseDone();
  }

  flush(): void {
    this.#writer.flush();
  }

  closeAfter(): void {
    this.#keepAlive = false;
  }

  reset(): void {
    this.#phase = 'closed';
    resetSocket(this.#socket);
  }

  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#socket.pause();
    this.#rearm();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket.resume();
    this.#rearm();
  }

  beginTunnel(lines: string, end: TunnelEnd): void {
    this.#socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines}\r\n`, 'latin1');
    this.#leaveExchange();
    this.#phase = 'tunnel';
    this.#tunnel = end;
    this.#armTunnel();
    this.resume();
    const early = this.#pending;
    this.#pending = null;
    if (early !== null && !end.onTunnelData(early, 0, early.length, true)) this.pause();
    if (this.#inputEnded) end.onTunnelFin();
  }

  writeRaw(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    return this.sendBody(buffer, start, end, owned);
  }

  finishRaw(): void {
    this.#socket.end();
    this.#halfClosed = true;
    this.#armTunnel();
  }

  // --- what the worker asks ---------------------------------------------------------------------

  /**
   * The listener or the worker goes away: a busy connection ends after its response, an idle one after
   * `idleMs`. A request may be on its way already: in that time it is still answered, and tells its
   * client not to come again.
   */
  retire(idleMs: number): void {
    this.#keepAlive = false;
    if (this.#phase !== 'idle') return;
    if (idleMs === 0) this.#finish();
    else this.#world.wheel.arm(this.#deadline, idleMs);
  }

  /** The grace period is over: both sides see a reset, and what ran is counted and logged before the thread ends. */
  abort(): void {
    const tunnel = this.#tunnel;
    this.#tunnel = null;
    this.#abortExchange();
    tunnel?.onTunnelReset();
  }

  // --- socket events ----------------------------------------------------------------------------

  #onData(chunk: Buffer): void {
    if (this.#phase === 'tunnel') {
      if (this.#halfClosed) this.#armTunnel();
      if (!this.#tunnel!.onTunnelData(chunk, 0, chunk.length, true)) this.pause();
      return;
    }
    if (this.#phase === 'linger' || this.#phase === 'closed') {
      this.#discard(chunk.length);
      return;
    }
    const input = this.#pending === null ? chunk : Buffer.concat([this.#pending, chunk]);
    this.#pending = null;
    this.#read(input);
  }

  /** Works through the input until it is used up or something has to be waited for. */
  #read(input: Buffer): void {
    let at = 0;
    this.#reading = true;
    while (at >= 0 && at < input.length) at = this.#readNext(input, at);
    this.#reading = false;
    this.#exchange?.onRequestTurn();
  }

  /** Returns the index behind what was used, or −1 when nothing more can be used now. */
  #readNext(input: Buffer, at: number): number {
    switch (this.#phase) {
      case 'idle':
      case 'head':
        return this.#readHead(input, at);
      case 'busy':
        return this.#body.done ? this.#keepAhead(input, at) : this.#readBody(input, at);
      case 'flush':
        return this.#keepAhead(input, at);
      default:
        return -1;
    }
  }

  /** Returns the index behind the head, or −1 when it is not complete or was refused. */
  #readHead(input: Buffer, from: number): number {
    const at = skipLeadingCrlf(input, from, input.length);
    if (at === input.length) return at;
    const current = this.#world.current(this.#listenerKey);
    if (current === null) {
      this.#finish();
      return -1;
    }
    this.#server = current.server;
    const { limits } = current.server;
    const end = findHeadEnd(input, at, input.length);
    if (end < 0) return this.#awaitHead(input, at, limits.maxBytes);
    if (end - at > limits.maxBytes) {
      return this.#refuse(input.indexOf('\r\n', at) - at > limits.maxRequestLine ? 414 : 431);
    }
    const head = this.#world.takeHead();
    const status = parseRequestHead(input.toString('latin1', at, end), head, limits);
    if (status !== 0) {
      this.#world.giveHead(head);
      return this.#refuse(status, head.fault);
    }
    this.#version = head.version;
    this.#keepAlive = head.keepAlive && !this.#world.draining;
    if (current.server.options.maxRequestsPerConnection > 0) this.#countRequest(current.server);
    this.#phase = 'busy';
    this.#body.start(head);
    this.#armBody();
    const exchange = new Exchange(this.#world, this, current.server, current.generation, head);
    this.#exchange = exchange;
    exchange.start();
    return end;
  }

  #countRequest({ options }: HttpServer): void {
    this.#requests += 1;
    if (this.#requests < options.maxRequestsPerConnection || !this.#keepAlive) return;
    this.#keepAlive = false;
    this.#countLimit(LIMIT_REQUESTS_PER_CONNECTION);
  }

  /** −1 = no limit was hit. */
  #countLimit(limit: number): void {
    if (limit >= 0) this.#world.servers.count(this.#server!.row, SERVER_LIMITS + limit, 1);
  }

  #armBody(): void {
    if (this.#body.done) {
      this.#world.wheel.disarm(this.#deadline);
      return;
    }
    const limitMs = this.#server!.options.readBodyTimeoutMs;
    this.#bodyLimitAt = limitMs > 0 ? this.#world.clock.now() + limitMs : Infinity;
    this.#rearm();
  }

  #awaitHead(input: Buffer, at: number, maxBytes: number): number {
    if (hasBareLf(input, at, input.length)) return this.#refuse(400);
    if (input.length - at >= maxBytes) return this.#refuse(input.indexOf('\r\n', at) < 0 ? 414 : 431);
    this.#pending = at === 0 ? input : input.subarray(at);
    if (this.#phase !== 'head') {
      // Counted from the first byte, not from the last one: a dribbling client gets no extension.
      this.#phase = 'head';
      this.#world.wheel.arm(this.#deadline, this.#server!.options.readHeaderTimeoutMs);
    }
    return -1;
  }

  /** Feeds the running exchange; returns the index of the first byte that is not part of its body. */
  #readBody(input: Buffer, at: number): number {
    const next = this.#body.feed(input, at, input.length, this);
    if (this.#body.error !== 0) {
      this.#countLimit(limitOfBody(this.#body.error));
      this.#failRequest(this.#body.error);
      return -1;
    }
    if (this.#body.done) this.#bodyLimitAt = Infinity;
    this.#rearm();
    if (this.#body.done) this.#exchange?.onRequestEnd(this.#body.trailers);
    return next;
  }

  /** Sink of the body. */
  onBody(buffer: Buffer, start: number, end: number): void {
    this.#exchange?.onRequestBody(buffer, start, end);
  }

  /** Pipelined bytes wait for the running exchange, or for the client to read. */
  #keepAhead(input: Buffer, at: number): number {
    this.#pending = input.subarray(at);
    if (this.#pending.length >= MAX_AHEAD_BYTES) this.pause();
    return -1;
  }

  #discard(bytes: number): void {
    this.#discarded += bytes;
    if (this.#discarded > LINGER_MAX_BYTES) this.#socket.destroy();
    else if (this.#phase === 'linger') this.#armLinger();
  }

  #onDrain(): void {
    this.#blocked = false;
    if (this.#phase === 'tunnel') {
      this.#armTunnel();
      this.#tunnel!.onTunnelDrain();
      return;
    }
    if (this.#phase === 'flush') {
      this.#nextRequest();
      return;
    }
    this.#rearm();
    this.#exchange?.onClientDrain();
  }

  #onFin(): void {
    this.#inputEnded = true;
    if (this.#phase === 'tunnel') this.#tunnel!.onTunnelFin();
    else this.#inputIsOver();
  }

  #inputIsOver(): void {
    if (this.#phase === 'flush' && this.#pending !== null) return;
    if (this.#phase !== 'busy') this.#socket.destroySoon();
    else if (!this.#body.done || this.#eventStream) this.#socket.destroy();
    // Else the client has only said that it sends nothing more: it gets its answer (RFC 9112 section 9.6).
  }

  #onClose(broken: boolean): void {
    const tunnel = this.#tunnel;
    this.#tunnel = null;
    this.#phase = 'closed';
    this.#world.wheel.remove(this.#deadline);
    const exchange = this.#exchange;
    this.#leaveExchange();
    exchange?.onClientGone();
    if (broken) tunnel?.onTunnelReset();
    this.#world.connectionClosed(this);
  }

  // --- deadlines --------------------------------------------------------------------------------

  onDeadline(): void {
    switch (this.#phase) {
      case 'head':
        this.#world.servers.count(this.#server!.row, SERVER_TIMEOUTS, 1);
        this.#refuse(408);
        return;
      case 'busy':
        this.#onBusyDeadline();
        return;
      case 'tunnel':
        this.#tunnel!.onTunnelReset();
        this.reset();
        return;
      case 'flush':
        this.#world.servers.count(this.#server!.row, SERVER_TIMEOUTS, 1);
        this.reset();
        return;
      case 'idle':
        // It may be retiring while the client still reads its last answer.
        if (this.#socket.writableLength > 0) this.#finish();
        else this.#socket.destroy();
        return;
      default:
        this.#socket.destroy();
    }
  }

  #onBusyDeadline(): void {
    if (!this.#blocked && !this.#body.done && this.#paused) {
      // It is the upstream that does not read: no fault of the client's.
      this.#failRequest(504);
      return;
    }
    this.#world.servers.count(this.#server!.row, SERVER_TIMEOUTS, 1);
    if (this.#blocked || this.#body.done) this.#abortExchange();
    else this.#failRequest(408);
  }

  /** One deadline for what the running exchange waits for: a client that reads, or one that sends. */
  #rearm(): void {
    if (this.#phase === 'tunnel') this.#armTunnel();
    if (this.#phase !== 'busy' || this.#server === null) return;
    const { options } = this.#server;
    let delayMs = Infinity;
    if (this.#blocked) delayMs = options.writeIdleTimeoutMs;
    else if (!this.#body.done) delayMs = options.readBodyIdleTimeoutMs;
    else if (this.#paused) delayMs = options.writeIdleTimeoutMs;
    const limitAt = Math.min(this.#bodyLimitAt, this.#writeLimitAt);
    if (limitAt !== Infinity) delayMs = Math.min(delayMs, Math.max(0, limitAt - this.#world.clock.now()));
    if (delayMs === Infinity) this.#world.wheel.disarm(this.#deadline);
    else this.#world.wheel.arm(this.#deadline, delayMs);
  }

  /** A tunnel may be silent for ever, unless one side of it waits for a peer that does not read or has half-closed. */
  #armTunnel(): void {
    let delayMs = this.#halfClosed ? HALF_CLOSED_MAX_MS : Infinity;
    if (this.#blocked) delayMs = this.#server!.options.writeIdleTimeoutMs;
    else if (this.#paused) delayMs = Math.min(delayMs, PAUSED_MAX_MS);
    if (delayMs === Infinity) this.#world.wheel.disarm(this.#deadline);
    else this.#world.wheel.arm(this.#deadline, delayMs);
  }

  #armLinger(): void {
    const leftMs = Math.max(0, this.#lingerEndsAt - this.#world.clock.now());
    this.#world.wheel.arm(this.#deadline, this.#socket.writableLength > 0 ? leftMs : Math.min(LINGER_MS, leftMs));
  }

  #armIdle(): void {
    const options = this.#server?.options ?? this.#world.current(this.#listenerKey)?.server.options;
    this.#world.wheel.arm(this.#deadline, options?.idleTimeoutMs ?? NO_SERVER_IDLE_MS);
  }

  // --- ends -------------------------------------------------------------------------------------

  /** The response is complete: next request, or the end of the connection. */
  #responseDone(): void {
    this.#leaveExchange();
    if (!this.#body.done || this.#inputOver) this.#keepAlive = false;
    if (this.#keepAlive && this.#socket.writableNeedDrain) {
      this.#phase = 'flush';
      this.#world.wheel.arm(this.#deadline, this.#server!.options.writeIdleTimeoutMs);
      return;
    }
    this.#nextRequest();
  }

  #nextRequest(): void {
    if (!this.#keepAlive) {
      this.#finish();
      return;
    }
    this.#phase = 'idle';
    this.#armIdle();
    if (this.#paused) this.resume();
    if (this.#reading || this.#pending === null) return;
    const input = this.#pending;
    this.#pending = null;
    this.#read(input);
    if (this.#inputEnded) this.#inputIsOver();
  }

  #leaveExchange(): void {
    this.#eventStream = false;
    this.#exchange = null;
    this.#blocked = false;
    this.#bodyLimitAt = Infinity;
    this.#writeLimitAt = Infinity;
  }

  /** Ends gently: FIN after the last byte, then reads on for a while, or a reset could eat the response. */
  #finish(): void {
    this.#phase = 'linger';
    this.#pending = null;
    if (this.#paused) this.resume();
    if (this.#socket.writableLength > 0) {
      // The client has not read all of its answer: the time to linger begins when it has.
      this.#lingerEndsAt = this.#world.clock.now() + this.#server!.options.writeIdleTimeoutMs;
      this.#socket.once('finish', () => this.#linger());
    } else {
      this.#linger();
    }
    if (this.#inputEnded) this.#socket.destroySoon();
    else this.#socket.end();
  }

  #linger(): void {
    this.#lingerEndsAt = this.#world.clock.now() + LINGER_TOTAL_MS;
    this.#armLinger();
  }

  /** The request head is refused: the answer, and the end. Nothing of it reaches an upstream. */
  #refuse(status: number, fault = 0): number {
    const { row } = this.#server!;
    this.#world.servers.count(row, SERVER_RESPONSES + Math.floor(status / 100) - 1, 1);
    this.#world.servers.count(row, SERVER_BAD_REQUESTS, 1);
    this.#countLimit(limitOfHead(status, fault));
    const { lines, body } = errorText(status, this.#world.clock.wall());
    this.#socket.write(`HTTP/1.1 ${status} ${reasonOf(status)}\r\n${lines}Connection: close\r\n\r\n${body}`, 'latin1');
    this.#finish();
    return -1;
  }

  /** The body of the running request is broken or does not come. */
  #failRequest(status: number): void {
    this.#keepAlive = false;
    this.#exchange?.onRequestFailed(status);
  }

  #abortExchange(): void {
    const exchange = this.#exchange;
    this.#leaveExchange();
    this.reset();
    exchange?.onClientGone();
  }
}
