/**
 * One HTTP/1.1 connection to an upstream: dials, sends requests one at a time, cuts the answer into
 * head, body and end, and knows whether the connection may be used again. It decides nothing about
 * retries; it tells its user what happened.
 */
import type { Socket } from 'node:net';
import { dialOptions, joinHostPort } from '../../shared/net/address.ts';
import { describeTlsFault } from '../../shared/net/upstream-tls.ts';
import type { EndpointPlan, SectionHash } from '../../shared/plan/types.ts';
import type { Endpoints, OpenConnection, UpstreamContext } from '../pool/endpoints.ts';
import { resetCarrier, type Carrier } from '../pool/carrier.ts';
import { KEEP_ALIVE_PROBE_MS, type SocketPlan } from '../pool/socket-plan.ts';
import type { TunnelEnd, UpstreamFailure, UpstreamSide, UpstreamUser } from '../proxy/sides.ts';
import { Deadline, type Expirable } from '../wheel.ts';
import { BodyReader } from './body-reader.ts';
import { Discard } from './discard.ts';
import { describeFault } from './errors.ts';
import { BODY_CLOSE, FIELD_KEEP_ALIVE, type Head } from './head.ts';
import type { HeadLimits } from './limits.ts';
import { MessageWriter } from './message-writer.ts';
import { parseResponseHead } from './response-parser.ts';
import { findHeadEnd } from './scan.ts';
import { UpstreamSocket } from './upstream-socket.ts';

/** What the deadline of the connection means now. */
type Waiting =
  | 'discard'
  | 'reading'
  | 'writing'
  | 'dial'
  | 'response-head'
  | 'paused'
  | 'idle'
  | 'half-closed'
  | 'last-words'
  | 'none';

/** A paused upstream is not read, so neither RST nor FIN is seen: after this long it is given up. */
const PAUSED_MAX_MS = 600_000;
/** A tunnel whose one direction ended is given up when the other stays silent this long. */
const HALF_CLOSED_MAX_MS = 300_000;
/** Once a write has failed, all that the server ever sent is in the kernel: more than time enough to read it. */
const LAST_WORDS_MS = 100;
/** The body of a response that nobody wants must be there by then. */
const DISCARD_MS = 5000;

export class UpstreamConnection implements UpstreamSide, OpenConnection, Expirable {
  reused = false;
  readonly idleKey: number | string;
  readonly #owner: Endpoints;
  readonly #context: UpstreamContext;
  readonly #endpoint: EndpointPlan;
  readonly #deadline = new Deadline(this);
  #limits: HeadLimits;
  #options: SocketPlan;
  #user: UpstreamUser | null;
  #socket!: Socket;
  /** What is reset: the socket itself, or the one below its TLS. */
  #carrier!: Carrier;
  #writer!: MessageWriter;
  #tunnel: TunnelEnd | null = null;
  #waiting: Waiting = 'none';
  #connected = false;
  #ended = false;
  #retired = false;
  #errorCode = '';
  #bodySent = false;
  #writeFailed = false;
  #paused = false;

  /** Response being read. */
  #method = '';
  #pending: Buffer | null = null;
  #inBody = false;
  readonly #body = new BodyReader();
  /** Bytes of 1xx heads before the final one. */
  #interimBytes = 0;
  #keepAlive = false;
  #awaiting = false;

  constructor(
    owner: Endpoints,
    context: UpstreamContext,
    endpoint: EndpointPlan,
    user: UpstreamUser,
    limits: HeadLimits,
    options: SocketPlan,
    key: number | string,
  ) {
    this.#owner = owner;
    this.idleKey = key;
    this.#context = context;
    this.#endpoint = endpoint;
    this.#user = user;
    this.#limits = limits;
    this.#options = options;
  }

  get slot(): number {
    return this.#endpoint.slot;
  }

  /** Idle, connected and not closed by the other side. */
  get usable(): boolean {
    return this.#connected && !this.#ended && this.#user === null && this.#socket.writable;
  }

  goesTo(endpoint: EndpointPlan): boolean {
    return this.#endpoint.host === endpoint.host && this.#endpoint.port === endpoint.port;
  }

  dial(timeoutMs: number): void {
    const { host, port } = this.#endpoint;
    const { localAddress } = this.#options;
    const options = {
      ...dialOptions(host, port),
      ...(localAddress === undefined ? {} : { localAddress }),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: this.#options.keepAliveProbeMs ?? KEEP_ALIVE_PROBE_MS,
      allowHalfOpen: true,
      autoSelectFamily: false,
      onread: {
        buffer: this.#context.readBuffer,
        callback: (size: number, buffer: Uint8Array) => this.#onRead(buffer as Buffer, size),
      },
    };
    const socket = new UpstreamSocket(options, (error) => this.#survivesWrite(error));
    this.#use({ stream: socket, raw: socket, secured: false });
    socket.on('connect', () => this.#onConnect());
    socket.connect(options);
    this.#wait('dial', timeoutMs);
  }

  /** Instead of `dial`: goes on with a connection that others made. */
  carry(carrier: Carrier): void {
    this.#use(carrier);
    carrier.stream.on('data', (bytes: Buffer) => this.#onRead(bytes, bytes.length));
    this.#onConnect();
  }

  #use(carrier: Carrier): void {
    const socket = carrier.stream;
    this.#carrier = carrier;
    this.#socket = socket;
    this.#writer = new MessageWriter(socket);
    socket.on('end', () => this.#onFin());
    socket.on('drain', () => this.#onDrain());
    socket.on('error', (error: NodeJS.ErrnoException) => this.#onError(error));
    socket.on('close', () => this.#onClose());
  }

  #onError(error: NodeJS.ErrnoException): void {
    this.#errorCode = error.code ?? error.message;
    if (!this.#carrier.secured) return;
    // After a fault of TLS (a broken record, an alert) Node goes on to 'end': a cut answer would look whole.
    this.#socket.destroy();
    // By TLS 1.3 a server refuses a client's certificate behind the handshake.
    if (this.#errorCode.startsWith('ERR_SSL'))
      this.#context.legFailed(this.slot, describeTlsFault(error, this.#where, ''));
  }

  get #where(): string {
    return joinHostPort(this.#endpoint.host, this.#endpoint.port);
  }

  /** An idle connection gets its next user. */
  adopt(user: UpstreamUser, limits: HeadLimits, options: SocketPlan): void {
    this.reused = true;
    this.#user = user;
    this.#limits = limits;
    this.#options = options;
    this.#wait('none', 0);
    user.onConnected(this);
  }

  sendHead(requestLine: string, lines: string, method: string, chunked: boolean): void {
    this.#method = method;
    this.#awaiting = true;
    this.#bodySent = false;
    this.#interimBytes = 0;
    this.#writer.start(`${requestLine}\r\n${lines}\r\n`, chunked);
  }

  sendBody(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    this.#bodySent = true;
    const open = this.#writer.body(buffer, start, end, owned);
    if (!open && this.#options.writeTimeoutMs !== undefined) this.#awaitDrain(this.#options.writeTimeoutMs);
    return open;
  }

  sendEnd(trailers: string): void {
    this.#writer.end(trailers);
  }

  flush(): void {
    this.#writer.flush();
  }

  expectHead(timeoutMs: number): void {
    if (!this.#awaiting) return;
    const limitMs = Math.min(timeoutMs > 0 ? timeoutMs : Infinity, this.#options.readTimeoutMs ?? Infinity);
    if (limitMs !== Infinity) this.#wait('response-head', limitMs);
    else if (this.#waiting === 'writing') this.#wait('none', 0);
  }

  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#socket.pause();
    this.#wait('paused', PAUSED_MAX_MS);
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#waiting === 'paused') {
      if (this.#tunnel !== null && this.#socket.writableEnded) this.#wait('half-closed', HALF_CLOSED_MAX_MS);
      else this.#wait('none', 0);
      this.#awaitRead();
    }
    this.#socket.resume();
  }

  beginTunnel(end: TunnelEnd): void {
    this.#tunnel = end;
    this.#wait('none', 0);
  }

  writeRaw(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    return this.#writer.body(buffer, start, end, owned);
  }

  finishRaw(): void {
    this.#socket.end();
    this.#wait('half-closed', HALF_CLOSED_MAX_MS);
  }

  release(idleMs: number, maxIdle: number): void {
    this.#user = null;
    this.#awaiting = false;
    if (maxIdle === 0 || idleMs <= 0 || this.#retired || this.#ended || this.#writeFailed || !this.#socket.writable) {
      this.close();
      return;
    }
    if (this.#paused) this.resume();
    this.#wait('idle', idleMs);
    this.#owner.keep(this, maxIdle);
  }

  discard(idleMs: number, maxIdle: number): void {
    this.#user = new Discard(this, idleMs, maxIdle);
    this.resume();
    this.#wait('discard', DISCARD_MS);
  }

  /** It will not be used again: closes now, or when the running exchange is over. Tunnels go on. */
  retire(): void {
    this.#retired = true;
    if (this.#user === null && this.#tunnel === null) this.close();
  }

  /** Ends it without telling the user. */
  close(): void {
    this.#user = null;
    this.#tunnel = null;
    this.#socket.destroy();
  }

  reset(): void {
    this.#user = null;
    this.#tunnel = null;
    // A reset of a socket that is still connecting would wait for the connection.
    if (this.#connected) resetCarrier(this.#carrier);
    else this.#socket.destroy();
  }

  /** The drain deadline of its slot passed: a tunnel breaks, an exchange may go elsewhere if it can. */
  cut(): void {
    const user = this.#user;
    if (this.#connected) {
      this.#break('cut', 'cut by a drain deadline');
    } else {
      this.reset();
      user?.onDialFailed('ECANCELED');
    }
  }

  cutPool(pool: SectionHash, how: 'finish' | 'reset'): void {
    const user = this.#user;
    if (user === null || user.poolHash !== pool) return;
    if (how === 'reset' || !user.sayGoodbye()) this.cut();
  }

  onDeadline(): void {
    const waiting = this.#waiting;
    this.#waiting = 'none';
    const user = this.#user;
    if (waiting === 'half-closed') {
      this.#break('closed', 'half-closed for too long');
    } else if (waiting === 'paused') {
      this.#break('closed', 'paused for too long');
    } else if (waiting === 'dial') {
      this.reset();
      user?.onDialFailed('ETIMEDOUT');
    } else if (waiting === 'response-head') {
      this.#fail('timeout', 'no response head in time');
    } else if (waiting === 'reading') {
      this.#fail('timeout', 'silent in the middle of a response');
    } else if (waiting === 'writing') {
      this.#fail('timeout', 'took no bytes of the request in time');
    } else if (waiting === 'last-words') {
      this.#fail('closed', this.#errorCode);
    } else if (waiting === 'idle' || waiting === 'discard') {
      this.close();
    }
  }

  /** A body could not be sent on: what the server said before it closed may be the answer. */
  #survivesWrite(error: NodeJS.ErrnoException): boolean {
    if (!this.#bodySent || this.#user === null || this.#tunnel !== null) return false;
    this.#errorCode = error.code ?? error.message;
    this.#writeFailed = true;
    if (this.#waiting !== 'paused') this.#wait('none', 0);
    return true;
  }

  /** `read_timeout`: counts anew with every read, while nothing else is waited for. */
  #awaitRead(): void {
    const { readTimeoutMs } = this.#options;
    if (readTimeoutMs === undefined || this.#user === null || !this.#inBody || this.#tunnel !== null) return;
    if (this.#waiting === 'none' || this.#waiting === 'reading') this.#wait('reading', readTimeoutMs);
  }

  /** `write_timeout`: counts from the first write that finds the socket full until it has taken everything. */
  #awaitDrain(timeoutMs: number): void {
    if (this.#waiting === 'none' && this.#awaiting) this.#wait('writing', timeoutMs);
  }

  #wait(waiting: Waiting, ms: number): void {
    if (this.#writeFailed && (waiting === 'none' || waiting === 'response-head' || waiting === 'reading')) {
      this.#waiting = 'last-words';
      this.#context.wheel.arm(this.#deadline, LAST_WORDS_MS);
      return;
    }
    this.#waiting = waiting;
    if (waiting === 'none') this.#context.wheel.disarm(this.#deadline);
    else this.#context.wheel.arm(this.#deadline, ms);
  }

  #onConnect(): void {
    this.#connected = true;
    this.#wait('none', 0);
    this.#user?.onConnected(this);
  }

  #onDrain(): void {
    if (this.#waiting === 'writing') this.#wait('none', 0);
    if (this.#tunnel !== null) this.#tunnel.onTunnelDrain();
    else this.#user?.onUpstreamDrain();
  }

  /** One read. Returns false to stop reading (paused). */
  #onRead(buffer: Buffer, size: number): boolean {
    if (this.#tunnel !== null) {
      this.#passOn(this.#tunnel, buffer, 0, size);
      return !this.#paused;
    }
    if (this.#user === null) {
      // Bytes nobody asked for: the connection is out of step and must not be used again.
      this.close();
      return false;
    }
    if (this.#pending === null) this.#consume(buffer, 0, size, false);
    else this.#consumePending(buffer, size);
    this.#user?.onResponseTurn();
    this.#awaitRead();
    return !this.#paused;
  }

  #passOn(tunnel: TunnelEnd, buffer: Buffer, start: number, end: number): void {
    if (this.#waiting === 'half-closed') this.#wait('half-closed', HALF_CLOSED_MAX_MS);
    if (!tunnel.onTunnelData(buffer, start, end, false)) this.pause();
  }

  #consumePending(buffer: Buffer, size: number): void {
    const joined = Buffer.concat([this.#pending!, buffer.subarray(0, size)]);
    this.#pending = null;
    this.#consume(joined, 0, joined.length, true);
  }

  /** Cuts buffer[at, end) into heads and body until it is used up or the response is over. */
  #consume(buffer: Buffer, start: number, end: number, owned: boolean): void {
    let at = start;
    while (at < end) {
      if (this.#tunnel !== null) {
        this.#passOn(this.#tunnel, buffer, at, end);
        return;
      }
      if (this.#user === null) {
        this.close();
        return;
      }
      at = this.#inBody ? this.#readBody(buffer, at, end) : this.#readHead(buffer, at, end, owned);
      if (at < 0) return;
    }
  }

  /** Returns the index behind the head, or −1 when it is not complete or refused. */
  #readHead(buffer: Buffer, at: number, end: number, owned: boolean): number {
    if (!this.#awaiting) return this.#fail('invalid', 'bytes before a request');
    this.reused = false;
    const headEnd = findHeadEnd(buffer, at, end);
    if (headEnd < 0) {
      if (end - at > this.#limits.maxBytes) return this.#fail('invalid', 'response head too large');
      this.#pending = owned ? buffer.subarray(at, end) : Buffer.from(buffer.subarray(at, end));
      return -1;
    }
    const { head } = this.#context;
    const fault = parseResponseHead(buffer.toString('latin1', at, headEnd), head, this.#method, this.#limits);
    if (fault !== 0) return this.#fail('invalid', describeFault(fault));
    if (head.status >= 200 || head.status === 101) {
      this.#awaiting = false;
      this.#wait('none', 0);
      this.#keepAlive = head.keepAlive && head.body !== BODY_CLOSE;
      this.#inBody = true;
      this.#body.start(head);
    } else {
      // They are passed on at once, however slowly the client reads: what they may add up to has a limit.
      this.#interimBytes += headEnd - at;
      if (this.#interimBytes > this.#limits.maxBytes) return this.#fail('invalid', 'too many interim responses');
    }
    this.#user!.onResponseHead(head);
    if (this.#user !== null && this.#tunnel === null && this.#inBody && this.#body.done) this.#complete(headEnd < end);
    return headEnd;
  }

  /** Returns the index of the first byte not used, or −1 when it was refused. */
  #readBody(buffer: Buffer, at: number, end: number): number {
    const user = this.#user;
    const next = this.#body.feed(buffer, at, end, this);
    if (this.#user !== user) return -1;
    if (this.#body.error !== 0) return this.#fail('invalid', 'broken chunked body');
    if (this.#body.done) this.#complete(next < end);
    return next;
  }

  /** Sink of the body. */
  onBody(buffer: Buffer, start: number, end: number): void {
    this.#user?.onResponseBody(buffer, start, end);
  }

  /** `surplus`: bytes nobody asked for stand behind the response; the next user must not take them for its own. */
  #complete(surplus: boolean): void {
    this.#inBody = false;
    this.#user!.onResponseEnd(this.#body.trailers, this.#keepAlive && !this.#ended && !surplus);
  }

  #fail(failure: UpstreamFailure, detail: string): number {
    const user = this.#user;
    this.reset();
    user?.onUpstreamFailed(failure, detail);
    return -1;
  }

  /** As `#fail`, for what may have become a tunnel. */
  #break(failure: UpstreamFailure, detail: string): void {
    const tunnel = this.#tunnel;
    if (tunnel === null) {
      this.#fail(failure, detail);
    } else {
      this.reset();
      tunnel.onTunnelReset();
    }
  }

  #onFin(): void {
    this.#ended = true;
    if (this.#tunnel !== null) {
      this.#tunnel.onTunnelFin();
    } else if (this.#user === null) {
      this.close();
    } else if (this.#inBody && this.#body.untilClose) {
      this.#complete(false);
    } else {
      this.#fail('closed', 'closed before the response was complete');
    }
  }

  #onClose(): void {
    this.#context.wheel.remove(this.#deadline);
    this.#owner.closed(this);
    const user = this.#user;
    const tunnel = this.#tunnel;
    this.#user = null;
    this.#tunnel = null;
    if (tunnel !== null) {
      if (this.#errorCode !== '') tunnel.onTunnelReset();
    } else if (!this.#connected) {
      user?.onDialFailed(this.#errorCode === '' ? 'ECONNABORTED' : this.#errorCode);
    } else {
      user?.onUpstreamFailed('closed', this.#errorCode === '' ? 'closed' : this.#errorCode);
    }
  }
}

/** Seconds of a `Keep-Alive: timeout=N` hint, −1 when there is none. */
export function keepAliveHint(head: Head): number {
  const value = head.known(FIELD_KEEP_ALIVE).toLowerCase();
  const at = value.indexOf('timeout=');
  if (at < 0) return -1;
  const seconds = Number.parseInt(value.slice(at + 'timeout='.length), 10);
  return Number.isNaN(seconds) ? -1 : seconds;
}
