/**
 * One HTTP/2 connection of a client and the streams on it.
 *
 * first (nothing was asked yet) → busy ⇄ idle → leaving (the client was told, what is on its way is still answered) →
 * closing (no further streams).
 */
import type { Socket } from 'node:net';
import {
  constants,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerSessionOptions,
} from 'node:http2';
import {
  LIMIT_HTTP2_FLOOD,
  LIMIT_REQUESTS_PER_CONNECTION,
  SERVER_HTTP2_SESSION_ERRORS,
  SERVER_TIMEOUTS,
} from '../../shared/state-table/layout.ts';
import type { ClientConnection } from '../client-connection.ts';
import { countLimit } from '../http1/refusal.ts';
import { SocketFacts } from '../http1/socket-facts.ts';
import { resetCarrier } from '../pool/carrier.ts';
import type { TlsFacts } from '../route/tls-facts.ts';
import type { HttpServer } from '../server.ts';
import { Deadline, type Expirable } from '../wheel.ts';
import type { World } from '../world.ts';
import { Allowance } from './allowance.ts';
import { ClientStream } from './client-stream.ts';

/** As in Caddy. */
const DEFAULT_STREAMS = 250;
/** What a client may send on a stream before it is read: also what a slow upstream makes us hold. */
const STREAM_WINDOW_BYTES = 262_144;
/** … and on the connection. Node gives it back as bytes arrive, so it is for distance, not for memory. */
const CONNECTION_WINDOW_BYTES = 8_388_608;
/** Megabytes of Node's own bookkeeping for a session, sized for all its streams. */
const MAX_SESSION_MEMORY_MB = 64;
/** More than a head may have: what is too much is answered by the request parser, with a reason. */
const SPARE_FIELDS = 100;
/** RFC 9113 section 6.5.2: what each field counts besides its bytes. */
const FIELD_OVERHEAD_BYTES = 32;
const MAX_RESPONSE_HEAD_BYTES = 16 * 1024 * 1024;
/** Frames that make no sense on a session, empty DATA among them, before it is ended. */
const MAX_INVALID_FRAMES = 100;
const MAX_REJECTED_STREAMS = 100;
/** Streams that end without an answer, by the client or by what it sent. A browser that leaves a page resets a few dozen. */
const RESET_BURST = 500;
const RESETS_PER_SECOND = 50;
/** nghttp2 counts RST_STREAM frames too: ours ends the session first, and is counted. */
const NGHTTP2_RESET_BURST = 2000;
const NGHTTP2_RESETS_PER_SECOND = 200;
/** PING and SETTINGS frames. Each piece of a body gives one back: gRPC measures its round trips with them. */
const CONTROL_BURST = 500;
const CONTROLS_PER_SECOND = 20;
/** A client that is on its way to ask something is told within this time that the connection ends. */
const FAREWELL_MS = 1000;
/** The last frames are taken, or the connection is reset. */
const CLOSE_MS = 5000;
/** The highest stream there can be: a GOAWAY that refuses nothing yet (section 6.8). */
const LAST_STREAM = 2 ** 31 - 1;
const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants;

type State = 'first' | 'busy' | 'idle' | 'leaving' | 'closing';

export class ClientSession extends SocketFacts implements ClientConnection, Expirable {
  readonly listenerKey: string;
  readonly #world: World;
  readonly #session: ServerHttp2Session;
  readonly #server: HttpServer;
  readonly #streams = new Set<ClientStream>();
  readonly #deadline = new Deadline(this);
  readonly #resets: Allowance;
  readonly #controls: Allowance;
  #state: State = 'first';
  #requests = 0;

  /** Over TLS `raw` is the TCP socket under `socket`. `server` is the one of now; each request takes the one of its time. */
  constructor(
    world: World,
    server: HttpServer,
    socket: Socket,
    listenerKey: string,
    raw: Socket = socket,
    tls: TlsFacts | null = null,
  ) {
    super(socket, raw, tls);
    this.listenerKey = listenerKey;
    this.#world = world;
    this.#server = server;
    this.#resets = new Allowance(RESET_BURST, RESETS_PER_SECOND, world.wheel.now);
    this.#controls = new Allowance(CONTROL_BURST, CONTROLS_PER_SECOND, world.wheel.now);
    // A client that half-closes can take no answer: RFC 9113 section 5.4.1 ends streams with frames.
    socket.allowHalfOpen = false;
    // Nothing to do here: 'close' follows, and a socket without this listener would end the thread.
    socket.on('error', () => {});
    this.#session = performServerHandshake(socket, sessionOptions(server));
    this.#session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    this.#listen(this.#session);
    this.#wait(Math.min(server.options.readHeaderTimeoutMs, server.options.idleTimeoutMs));
  }

  #listen(session: ServerHttp2Session): void {
    session.on('stream', (stream, _fields, flags, raw) => this.#onStream(stream, flags, raw));
    session.on('ping', () => this.#onControl());
    session.on('remoteSettings', () => this.#onControl());
    session.on('error', (error: NodeJS.ErrnoException) => {
      // Broken connections are nobody's error.
      if (error.code?.startsWith('ERR_HTTP2') === true) {
        this.#world.servers.count(this.#server.row, SERVER_HTTP2_SESSION_ERRORS, 1);
      }
    });
    session.on('close', () => this.#onClose());
  }

  #onStream(stream: ServerHttp2Stream, flags: number, raw: readonly string[]): void {
    // What an error means is read from the code at 'close'.
    stream.on('error', () => {});
    // It may have ended before this turn came.
    if (stream.destroyed) {
      this.#countReset();
      return;
    }
    const current = this.#world.current(this.listenerKey);
    // A stream of a connection that would not be let in today: its client may ask again over another (section 8.7).
    if (current === null || (this.#state === 'leaving' && !this.mayStay(current.server))) {
      stream.close(NGHTTP2_REFUSED_STREAM);
      return;
    }
    if (this.#state !== 'leaving' && this.#state !== 'closing') {
      this.#state = 'busy';
      this.#world.wheel.disarm(this.#deadline);
    }
    this.useful();
    const request = new ClientStream(this.#world, this, current.server, stream);
    this.#streams.add(request);
    request.start(raw, flags, current.generation);
    this.#countRequest(current.server);
  }

  #countRequest({ options, row }: HttpServer): void {
    this.#requests += 1;
    if (this.#requests !== options.maxRequestsPerConnection) return;
    countLimit(this.#world, row, LIMIT_REQUESTS_PER_CONNECTION);
    this.#close();
  }

  /** The client, or we for it, did what the connection is for. */
  useful(): void {
    this.#controls.give();
  }

  /** `wasted`: it ended without its answer, and not because we said so. */
  left(stream: ClientStream, wasted: boolean): void {
    if (!this.#streams.delete(stream)) return;
    if (this.#streams.size === 0) this.#emptied();
    if (wasted) this.#countReset();
  }

  #emptied(): void {
    if (this.#state === 'closing') {
      this.#wait(CLOSE_MS);
    } else if (this.#state === 'busy') {
      this.#state = 'idle';
      this.#wait(this.#server.options.idleTimeoutMs);
    }
  }

  #countReset(): void {
    if (!this.#resets.take(this.#world.wheel.now)) this.#calm();
  }

  #onControl(): void {
    if (!this.#controls.take(this.#world.wheel.now)) this.#calm();
  }

  /** It costs more than it is worth. */
  #calm(): void {
    if (this.#session.destroyed) return;
    countLimit(this.#world, this.#server.row, LIMIT_HTTP2_FLOOD);
    this.#state = 'closing';
    this.#wait(CLOSE_MS);
    this.#session.destroy(undefined, NGHTTP2_ENHANCE_YOUR_CALM);
  }

  // --- what the worker asks -----------------------------------------------------------------------

  retire(idleMs: number): void {
    if (this.#state === 'leaving' || this.#state === 'closing' || this.#session.destroyed) return;
    this.#state = 'leaving';
    // Two GOAWAYs (section 6.8): requests that cross with the first one are still answered.
    this.#session.goaway(NGHTTP2_NO_ERROR, LAST_STREAM);
    this.#wait(idleMs > 0 ? idleMs : FAREWELL_MS);
  }

  abort(): void {
    for (const stream of [...this.#streams]) stream.abort();
    this.reset();
  }

  reset(): void {
    resetCarrier({ stream: this.socket, raw: this.raw, secured: this.tls !== null });
    if (!this.#session.destroyed) this.#session.destroy();
  }

  // --- ends ---------------------------------------------------------------------------------------

  onDeadline(): void {
    if (this.#state === 'closing') {
      this.reset();
    } else if (this.#state === 'first') {
      this.#world.servers.count(this.#server.row, SERVER_TIMEOUTS, 1);
      this.#close();
    } else {
      this.#close();
    }
  }

  /** No further streams; those that run end on their own. */
  #close(): void {
    this.#state = 'closing';
    if (this.#streams.size === 0) this.#wait(CLOSE_MS);
    else this.#world.wheel.disarm(this.#deadline);
    if (!this.#session.destroyed) this.#session.close();
  }

  #onClose(): void {
    this.#world.wheel.remove(this.#deadline);
    for (const stream of [...this.#streams]) stream.gone();
    this.#world.connectionClosed(this);
  }

  #wait(delayMs: number): void {
    this.#world.wheel.arm(this.#deadline, delayMs);
  }
}

function sessionOptions({ options, limits }: HttpServer): ServerSessionOptions {
  const maxStreams = options.streamsPerConnection ?? DEFAULT_STREAMS;
  // Node 24.21 knows the last ones, its types do not.
  const all: ServerSessionOptions & {
    maxSessionInvalidFrames: number;
    maxSessionRejectedStreams: number;
    strictSingleValueFields: boolean;
    streamResetBurst: number;
    streamResetRate: number;
  } = {
    settings: {
      enableConnectProtocol: true,
      initialWindowSize: STREAM_WINDOW_BYTES,
      maxConcurrentStreams: maxStreams,
      maxHeaderListSize: limits.maxBytes + limits.maxFields * FIELD_OVERHEAD_BYTES,
    },
    maxHeaderListPairs: limits.maxFields + SPARE_FIELDS,
    maxSendHeaderBlockLength: MAX_RESPONSE_HEAD_BYTES,
    maxSessionInvalidFrames: MAX_INVALID_FRAMES,
    maxSessionRejectedStreams: MAX_REJECTED_STREAMS,
    maxSessionMemory: MAX_SESSION_MEMORY_MB,
    streamResetBurst: NGHTTP2_RESET_BURST,
    streamResetRate: NGHTTP2_RESETS_PER_SECOND,
    // Repeated fields are passed on as they came.
    strictSingleValueFields: false,
  };
  return all;
}
