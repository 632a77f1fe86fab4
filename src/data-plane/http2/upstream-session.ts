/**
 * One HTTP/2 connection to an upstream and the streams on it. It is usable once the server's SETTINGS are here: until
 * then nothing says that it speaks HTTP/2, nor how many streams it takes.
 */
import { connect, type ClientHttp2Session, type ClientHttp2Stream, type ClientSessionOptions } from 'node:http2';
import type { EndpointPlan, SectionHash } from '../../shared/plan/types.ts';
import type { OpenConnection, UpstreamContext } from '../pool/endpoints.ts';
import type { SocketPlan } from '../pool/socket-plan.ts';
import type { Carrier } from '../pool/carrier.ts';
import { resetCarrier } from '../pool/carrier.ts';
import type { UpstreamUser } from '../proxy/sides.ts';
import type { HeadLimits } from '../http1/limits.ts';
import { Deadline, type Expirable } from '../wheel.ts';
import { UpstreamStream } from './upstream-stream.ts';

/** What the server may send before it is read, per stream: also what a slow client makes us hold. */
const STREAM_WINDOW_BYTES = 262_144;
/** … and for all streams of the connection: one that stands still must not stop the others. */
const CONNECTION_WINDOW_BYTES = 8_388_608;
/** The pools that share a session may allow different heads: each judges those of its own requests. */
const MIN_HEADER_LIST_BYTES = 65_536;
/** More than any client may send: what is too much for the server, the server says. */
const MAX_REQUEST_HEAD_BYTES = 16 * 1024 * 1024;
/** Streams at the same time, whatever the server allows: further ones go over another connection. */
const MAX_STREAMS = 250;
/** Megabytes of Node's own bookkeeping for a session, sized for all its streams. */
const MAX_SESSION_MEMORY_MB = 256;
/** Silence while a response is owed before the server is asked whether it lives. gRPC servers punish those who ask within 5 minutes. */
const PING_AFTER_MS = 320_000;
const PING_ANSWER_MS = 20_000;

export interface SessionOwner {
  onSessionReady(session: UpstreamSession): void;
  /** It carries one request less. */
  onStreamEnded(session: UpstreamSession): void;
  /** It closed; `fault` says why when it never became ready. */
  onSessionClosed(session: UpstreamSession, wasReady: boolean, fault: string): void;
}

export class UpstreamSession implements OpenConnection, Expirable {
  readonly idleKey: string;
  readonly scheme: string;
  /** Why the connection broke, '' while it has not. */
  fault = '';
  /** Told of its end. */
  owner: SessionOwner;
  readonly #context: UpstreamContext;
  readonly #endpoint: EndpointPlan;
  readonly #carrier: Carrier;
  readonly #session: ClientHttp2Session;
  readonly #streams = new Set<UpstreamStream>();
  readonly #deadline = new Deadline(this);
  /** How long it is kept without streams; 0 = it is not. */
  readonly #idleMs: number;
  #ready = false;
  /** No new streams: GOAWAY, or it is not to be used again. */
  #closing = false;
  #carried = false;
  #pinging = false;
  /** Monotonic time until which it takes no new streams; when it carries none before that, it ends. */
  #restsUntil = -Infinity;

  constructor(
    owner: SessionOwner,
    context: UpstreamContext,
    endpoint: EndpointPlan,
    key: string,
    carrier: Carrier,
    limits: HeadLimits,
    idleMs: number,
  ) {
    this.owner = owner;
    this.#context = context;
    this.#endpoint = endpoint;
    this.idleKey = key;
    this.scheme = carrier.secured ? 'https' : 'http';
    this.#carrier = carrier;
    this.#idleMs = idleMs;
    // Node 24.21 knows the last one, its types do not.
    const options: ClientSessionOptions & { strictSingleValueFields: boolean } = {
      createConnection: () => carrier.stream,
      settings: {
        enablePush: false,
        initialWindowSize: STREAM_WINDOW_BYTES,
        maxHeaderListSize: Math.max(limits.maxBytes, MIN_HEADER_LIST_BYTES),
      },
      maxHeaderListPairs: limits.maxFields + 1,
      maxSendHeaderBlockLength: MAX_REQUEST_HEAD_BYTES,
      maxSessionMemory: MAX_SESSION_MEMORY_MB,
      // Repeated fields are passed on as they came.
      strictSingleValueFields: false,
    };
    this.#session = connect('http://upstream', options);
    this.#listen(this.#session);
  }

  get isClosing(): boolean {
    return this.#closing;
  }

  get slot(): number {
    return this.#endpoint.slot;
  }

  /** Another stream may be opened. */
  get hasRoom(): boolean {
    if (!this.#ready || this.#closing || this.#rests || this.#session.closed || this.#session.destroyed) return false;
    const allowed = this.#session.remoteSettings.maxConcurrentStreams ?? MAX_STREAMS;
    return this.#streams.size < Math.min(MAX_STREAMS, allowed);
  }

  /** It carries nothing and could. */
  get isIdle(): boolean {
    return this.#ready && !this.#closing && this.#streams.size === 0;
  }

  get #rests(): boolean {
    return this.#context.wheel.now < this.#restsUntil;
  }

  rest(ms: number): void {
    this.#restsUntil = this.#context.wheel.now + ms;
  }

  goesTo(endpoint: EndpointPlan): boolean {
    return this.#endpoint.host === endpoint.host && this.#endpoint.port === endpoint.port;
  }

  /** Hands a stream to `user` by `onConnected`. */
  open(user: UpstreamUser, limits: HeadLimits, options: SocketPlan): void {
    const idle = this.#carried && this.#streams.size === 0;
    this.#carried = true;
    const stream = new UpstreamStream(this, this.#context, user, limits, options, idle);
    this.#streams.add(stream);
    if (this.#streams.size === 1) this.#watch();
    user.onConnected(stream);
  }

  /** Returns why it is not possible, when it is not. */
  request(fields: string[], endStream: boolean, waitForTrailers: boolean): ClientHttp2Stream | string {
    this.#pinging = false;
    try {
      return this.#session.request(fields, { endStream, waitForTrailers: waitForTrailers && !endStream });
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  left(stream: UpstreamStream): void {
    if (!this.#streams.delete(stream)) return;
    if (this.#streams.size === 0) {
      if (this.#closing || this.#rests || this.#idleMs === 0) this.#finish();
      else this.#watch();
    }
    this.owner.onStreamEnded(this);
  }

  /** Nobody waited for it any more when it was ready. */
  settle(): void {
    if (this.#streams.size > 0) return;
    if (this.#idleMs === 0) this.#finish();
    else this.#watch();
  }

  retire(): void {
    this.#closing = true;
    if (this.#streams.size === 0) this.#finish();
  }

  /** Says goodbye, then closes. */
  #finish(): void {
    this.#closing = true;
    if (!this.#session.closed && !this.#session.destroyed) this.#session.close();
  }

  cut(): void {
    this.#breakAll('cut', 'cut by a drain deadline');
    this.#destroy();
  }

  /** Tunnels do not go over HTTP/2: there is no other way than to break off. */
  cutPool(pool: SectionHash): void {
    for (const stream of [...this.#streams])
      if (stream.poolHash === pool) stream.broken('cut', 'cut by a drain deadline');
  }

  reset(): void {
    for (const stream of [...this.#streams]) stream.reset();
    this.#closing = true;
    resetCarrier(this.#carrier);
    this.#destroy();
  }

  /** Ends it without telling anybody. */
  close(): void {
    for (const stream of [...this.#streams]) stream.reset();
    this.#destroy();
  }

  onDeadline(): void {
    if (this.#streams.size === 0) {
      this.#finish();
    } else if (this.#pinging) {
      this.fault = 'no answer to a PING';
      this.reset();
    } else {
      this.#ping();
    }
  }

  #ping(): void {
    if (this.#session.destroyed) return;
    this.#pinging = true;
    this.#session.ping(() => {
      this.#pinging = false;
      if (this.#streams.size > 0 && !this.#closing) this.#watch();
    });
    this.#context.wheel.arm(this.#deadline, PING_ANSWER_MS);
  }

  /** The time it stands idle, or is silent with streams on it. */
  #watch(): void {
    this.#context.wheel.arm(this.#deadline, this.#streams.size === 0 ? this.#idleMs : PING_AFTER_MS);
  }

  #listen(session: ClientHttp2Session): void {
    session.on('error', (error: NodeJS.ErrnoException) => {
      this.fault ||= error.code ?? error.message;
    });
    session.once('remoteSettings', () => {
      // What stood behind the SETTINGS may have ended it already.
      if (session.destroyed) return;
      this.#ready = true;
      session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
      this.owner.onSessionReady(this);
    });
    session.on('goaway', () => {
      this.#closing = true;
    });
    session.on('close', () => this.#onClose());
  }

  #onClose(): void {
    this.#closing = true;
    this.#context.wheel.remove(this.#deadline);
    this.#carrier.stream.destroy();
    this.#breakAll('closed', this.fault || 'closed');
    this.owner.onSessionClosed(this, this.#ready, this.fault || 'closed before it spoke HTTP/2');
  }

  #breakAll(failure: 'cut' | 'closed', detail: string): void {
    for (const stream of [...this.#streams]) stream.broken(failure, detail);
  }

  #destroy(): void {
    this.#closing = true;
    if (!this.#session.destroyed) this.#session.destroy();
  }
}
