/**
 * One HTTP/1 connection of a client: cuts the byte stream into requests, one exchange at a time, and
 * frames the answers. Requests that arrive early (pipelining) wait in one bounded buffer.
 *
 * Phases: idle → head → busy → idle … → linger → closed, or busy → tunnel. Between busy and idle stands flush when the
 * client does not read: its next request waits until it has taken the answers before, so that they cannot pile up.
 */
import type { Socket } from 'node:net';
import { resetSocket } from '../../shared/net/reset.ts';
import { LIMIT_REQUESTS_PER_CONNECTION, SERVER_TIMEOUTS } from '../../shared/state-table/layout.ts';
import type { ClientConnection } from '../client-connection.ts';
import { Exchange } from '../proxy/exchange.ts';
import type { ClientSide, TunnelEnd } from '../proxy/sides.ts';
import type { ClientTimes } from '../route/decision.ts';
import type { HttpServer } from '../server.ts';
import type { TlsFacts } from '../route/tls-facts.ts';
import type { Expirable } from '../wheel.ts';
import type { World } from '../world.ts';
import { BodyReader } from './body-reader.ts';
import { ClientWaits } from './client-waits.ts';
import { faultStatus } from './errors.ts';
import { isEventStream } from './event-stream.ts';
import type { Head } from './head.ts';
import { limitOfBody } from './limit-hits.ts';
import { Linger } from './linger.ts';
import { MessageWriter } from './message-writer.ts';
import { countLimit, refuseRequest } from './refusal.ts';
import { HEAD_INCOMPLETE, requestHeadEnd } from './request-head-end.ts';
import { parseRequestHead } from './request-parser.ts';
import { isUnsized, responseHead } from './response-head.ts';
import { skipLeadingCrlf } from './scan.ts';
import { isMisdirected, SocketFacts } from './socket-facts.ts';

type Phase = 'idle' | 'head' | 'busy' | 'flush' | 'linger' | 'tunnel' | 'closed';

/** Bytes of pipelined requests kept while an exchange runs; then the socket is paused. */
const MAX_AHEAD_BYTES = 65_536;
const NO_SERVER_IDLE_MS = 5000;

export class ServerConnection extends SocketFacts implements ClientSide, ClientConnection, Expirable {
  readonly #world: World;
  readonly listenerKey: string;
  readonly #writer: MessageWriter;
  readonly #waits: ClientWaits;
  #phase: Phase = 'idle';
  #server: HttpServer | null = null;
  #pending: Buffer | null = null;
  #inputEnded = false;

  /** The exchange now running, its request body and how its response is framed. */
  #exchange: Exchange | null = null;
  readonly #body = new BodyReader();
  #version = 11;
  /** Counted only while the server limits them. */
  #requests = 0;
  #keepAlive = true;
  #linger: Linger | null = null;
  #reading = false;
  #tunnel: TunnelEnd | null = null;
  #eventStream = false;

  /** Over TLS `raw` is the TCP socket under `socket`. */
  constructor(world: World, socket: Socket, listenerKey: string, raw: Socket = socket, tls: TlsFacts | null = null) {
    super(socket, raw, tls);
    this.#world = world;
    this.listenerKey = listenerKey;
    this.#writer = new MessageWriter(socket);
    this.#waits = new ClientWaits(world, this);
    socket.allowHalfOpen = true;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('end', () => this.#onFin());
    socket.on('drain', () => this.#onDrain());
    // 'close' follows, and a socket without this listener would end the thread.
    // After a fault of TLS Node goes on to 'end': half of a message would look whole.
    socket.on('error', () => void socket.destroy());
    socket.on('close', (broken: boolean) => this.#onClose(broken));
    this.#armIdle();
  }

  /** The client half-closed and none of its requests waits any more. */
  get #inputOver(): boolean {
    return this.#inputEnded && this.#pending === null && !this.#reading;
  }

  // --- what the exchange asks -------------------------------------------------------------------

  sendInterim(status: number, reason: string, lines: string): void {
    if (this.#version < 11) return;
    this.socket.write(`HTTP/1.1 ${status} ${reason}\r\n${lines}\r\n`, 'latin1');
  }

  sendHead(status: number, reason: string, lines: string, body: number): void {
    // A request that is still being sent cannot be followed by another one on this connection.
    if (!this.#body.done || this.#inputOver || this.#world.draining) this.#keepAlive = false;
    const unsized = isUnsized(body);
    const chunked = unsized && this.#version >= 11;
    if (unsized && !chunked) this.#keepAlive = false;
    this.#waits.beginResponse(this.#server!.options, this.#body.done);
    this.#writer.start(responseHead(status, reason, lines, chunked, this.#keepAlive, this.#version), chunked);
    this.#eventStream = unsized && isEventStream(lines);
    if (this.#eventStream && this.#inputOver) this.socket.destroy();
  }

  sendBody(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    const open = this.#writer.body(buffer, start, end, owned);
    if (!open && !this.#waits.blocked) {
      this.#waits.blocked = true;
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

  limitTimes(times: ClientTimes): void {
    this.#waits.limit(times, this.#server!.options, this.#body.done);
  }

  closeAfter(): void {
    this.#keepAlive = false;
  }

  reset(): void {
    this.#phase = 'closed';
    resetSocket(this.socket, this.raw);
  }

  pause(): void {
    if (this.#waits.paused) return;
    this.#waits.paused = true;
    this.socket.pause();
    this.#rearm();
  }

  resume(): void {
    if (!this.#waits.paused) return;
    this.#waits.paused = false;
    this.socket.resume();
    this.#rearm();
  }

  beginTunnel(lines: string, end: TunnelEnd): void {
    this.socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines}\r\n`, 'latin1');
    this.#leaveExchange();
    this.#phase = 'tunnel';
    this.#tunnel = end;
    this.#rearm();
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
    this.socket.end();
    this.#waits.halfClosed = true;
    this.#rearm();
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
    else this.#waits.wait(idleMs);
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
      if (this.#waits.halfClosed) this.#rearm();
      if (!this.#tunnel!.onTunnelData(chunk, 0, chunk.length, true)) this.pause();
      return;
    }
    if (this.#phase === 'linger') this.#linger!.discard(chunk.length);
    if (this.#phase === 'linger' || this.#phase === 'closed') return;
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
    const current = this.#world.current(this.listenerKey);
    if (current === null) {
      this.#finish();
      return -1;
    }
    this.#server = current.server;
    const { limits } = current.server;
    const end = requestHeadEnd(input, at, limits);
    if (end === HEAD_INCOMPLETE) return this.#awaitHead(input, at);
    if (end < 0) return this.#refuse(faultStatus(-end), -end);
    const head = this.#world.takeHead();
    const status = parseRequestHead(input.toString('latin1', at, end), head, limits);
    if (status !== 0) {
      this.#world.giveHead(head);
      return this.#refuse(status, head.fault);
    }
    if (this.tls !== null && isMisdirected(current.server, this.tls, head)) {
      this.#refuse(421, 0, head);
      this.#world.giveHead(head);
      return -1;
    }
    this.#version = head.version;
    this.#keepAlive = head.keepAlive && !this.#world.draining;
    if (current.server.options.maxRequestsPerConnection > 0) this.#countRequest(current.server);
    this.#phase = 'busy';
    this.#body.start(head);
    this.#waits.beginRequest(current.server.options, this.#body.done);
    const exchange = new Exchange(this.#world, this, current.server, current.generation, head);
    this.#exchange = exchange;
    exchange.start();
    return end;
  }

  #countRequest({ options, row }: HttpServer): void {
    this.#requests += 1;
    if (this.#requests < options.maxRequestsPerConnection || !this.#keepAlive) return;
    this.#keepAlive = false;
    countLimit(this.#world, row, LIMIT_REQUESTS_PER_CONNECTION);
  }

  #awaitHead(input: Buffer, at: number): number {
    this.#pending = at === 0 ? input : input.subarray(at);
    if (this.#phase !== 'head') {
      // Counted from the first byte, not from the last one: a dribbling client gets no extension.
      this.#phase = 'head';
      this.#waits.wait(this.#server!.options.readHeaderTimeoutMs);
    }
    return -1;
  }

  /** Feeds the running exchange; returns the index of the first byte that is not part of its body. */
  #readBody(input: Buffer, at: number): number {
    const next = this.#body.feed(input, at, input.length, this);
    if (this.#body.error !== 0) {
      countLimit(this.#world, this.#server!.row, limitOfBody(this.#body.error));
      this.#failRequest(this.#body.error, this.#body.fault);
      return -1;
    }
    if (this.#body.done) this.#waits.endBody();
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

  #onDrain(): void {
    this.#waits.blocked = false;
    if (this.#phase === 'tunnel') {
      this.#rearm();
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
    if (this.#phase !== 'busy') this.socket.destroySoon();
    else if (!this.#body.done || this.#eventStream) this.socket.destroy();
    // Else the client has only said that it sends nothing more: it gets its answer (RFC 9112 section 9.6).
  }

  #onClose(broken: boolean): void {
    const tunnel = this.#tunnel;
    this.#tunnel = null;
    this.#phase = 'closed';
    this.#waits.end();
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
        this.#countTimeout();
        this.#refuse(408, 0);
        return;
      case 'busy':
        this.#onBusyDeadline();
        return;
      case 'tunnel':
        this.#tunnel!.onTunnelReset();
        this.reset();
        return;
      case 'flush':
        this.#countTimeout();
        this.reset();
        return;
      case 'idle':
        // It may be retiring while the client still reads its last answer.
        if (this.socket.writableLength > 0) this.#finish();
        else this.socket.destroy();
        return;
      default:
        this.socket.destroy();
    }
  }

  #countTimeout(): void {
    this.#world.servers.count(this.#server!.row, SERVER_TIMEOUTS, 1);
  }

  #onBusyDeadline(): void {
    if (!this.#waits.blocked && !this.#body.done && this.#waits.paused) {
      // It is the upstream that does not read: no fault of the client's.
      this.#failRequest(504);
      return;
    }
    this.#countTimeout();
    if (this.#waits.blocked || this.#body.done) this.#abortExchange();
    else this.#failRequest(408);
  }

  #rearm(): void {
    if (this.#phase === 'tunnel') this.#waits.waitForTunnel(this.#server!.options);
    else if (this.#phase === 'busy') this.#waits.waitForExchange(this.#server!.options, this.#body.done);
  }

  #armIdle(): void {
    const options = this.#server?.options ?? this.#world.current(this.listenerKey)?.server.options;
    this.#waits.wait(options?.idleTimeoutMs ?? NO_SERVER_IDLE_MS);
  }

  // --- ends -------------------------------------------------------------------------------------

  /** The response is complete: next request, or the end of the connection. */
  #responseDone(): void {
    this.#leaveExchange();
    if (!this.#body.done || this.#inputOver) this.#keepAlive = false;
    if (this.#keepAlive && this.socket.writableNeedDrain) {
      this.#phase = 'flush';
      this.#waits.wait(this.#server!.options.writeIdleTimeoutMs);
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
    if (this.#waits.paused) this.resume();
    if (this.#reading || this.#pending === null) return;
    const input = this.#pending;
    this.#pending = null;
    this.#read(input);
    if (this.#inputEnded) this.#inputIsOver();
  }

  #leaveExchange(): void {
    this.#eventStream = false;
    this.#exchange = null;
    this.#waits.endExchange();
  }

  #finish(): void {
    this.#phase = 'linger';
    this.#pending = null;
    if (this.#waits.paused) this.resume();
    this.#linger = new Linger(this.#world, this.socket, this.#waits.deadline);
    this.#linger.begin(this.#server?.options.writeIdleTimeoutMs ?? 0, this.#inputEnded);
  }

  #refuse(status: number, fault: number, head: Head | null = null): number {
    refuseRequest(this.#world, this.#server!, this, this.socket, { status, fault, head });
    this.#finish();
    return -1;
  }

  /** The body of the running request is broken or does not come. */
  #failRequest(status: number, fault = 0): void {
    this.#keepAlive = false;
    this.#exchange?.onRequestFailed(status, fault);
  }

  #abortExchange(): void {
    const exchange = this.#exchange;
    this.#leaveExchange();
    this.reset();
    exchange?.onClientGone();
  }
}
