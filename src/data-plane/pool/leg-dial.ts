/**
 * A connection over TLS or for HTTP/2 in the making: TCP, then PROXY header, handshake and HTTP/2 preface, as far as
 * the leg has them. Requests wait for it, each with a deadline of its own; when the last one has left it is given up.
 */
import { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { dialOptions, joinHostPort } from '../../shared/net/address.ts';
import { describeTlsFault, startHandshake } from '../../shared/net/upstream-tls.ts';
import type { EndpointPlan, SectionHash, TransportPlan } from '../../shared/plan/types.ts';
import type { HeadLimits } from '../http1/limits.ts';
import { UpstreamSession, type SessionOwner } from '../http2/upstream-session.ts';
import type { Dial } from '../proxy/pool-tries.ts';
import type { UpstreamUser } from '../proxy/sides.ts';
import { Deadline, type Expirable } from '../wheel.ts';
import { resetCarrier, type Carrier } from './carrier.ts';
import type { OpenConnection, UpstreamContext } from './endpoints.ts';
import { KEEP_ALIVE_PROBE_MS } from './socket-plan.ts';
import type { Leg } from './leg.ts';

/** One request on its way to an endpoint. */
export interface LegRequest {
  readonly leg: Leg;
  readonly endpoint: EndpointPlan;
  readonly limits: HeadLimits;
  readonly options: TransportPlan;
  readonly timeoutMs: number;
  readonly user: UpstreamUser;
  /** A connection that nobody used before, or will after. */
  readonly fresh: boolean;
  /** PROXY header, latin1; '' = none. */
  readonly preface: string;
  /** Only HTTP/1.1 can carry it. */
  readonly needsHttp1: boolean;
}

export interface LegDialOwner {
  onHttp1(dial: LegDial, carrier: Carrier): void;
  onHttp2(dial: LegDial, session: UpstreamSession): void;
  /** Its socket is closed and it came to nothing. */
  onGone(dial: LegDial, code: string): void;
}

const HTTP1 = 'http/1.1';
const HTTP2 = 'h2';

export class LegDial implements OpenConnection, SessionOwner {
  readonly idleKey: string;
  readonly first: LegRequest;
  readonly waiters: Set<LegWaiter> = new Set();
  /** It may become a connection that carries several requests. */
  readonly shareable: boolean;
  retired = false;
  readonly #owner: LegDialOwner;
  readonly #context: UpstreamContext;
  readonly #socket: Socket;
  #tls: TLSSocket | null = null;
  #session: UpstreamSession | null = null;
  #code = '';
  #settled = false;

  constructor(owner: LegDialOwner, context: UpstreamContext, key: string, first: LegRequest) {
    this.#owner = owner;
    this.#context = context;
    this.idleKey = key;
    this.first = first;
    this.shareable = first.leg.http2 !== 'no' && !first.needsHttp1 && first.preface === '';
    this.#socket = new Socket({ allowHalfOpen: true });
  }

  get slot(): number {
    return this.first.endpoint.slot;
  }

  /** Others may wait for it, who go to the same address: a slot may have been given to another one meanwhile. */
  mayServe({ host, port }: EndpointPlan): boolean {
    const { endpoint } = this.first;
    return !this.retired && !this.#socket.destroyed && endpoint.host === host && endpoint.port === port;
  }

  start(): void {
    const { endpoint, options } = this.first;
    const socket = this.#socket;
    socket.on('error', (error: NodeJS.ErrnoException) => this.#note(error));
    socket.on('close', () => this.#onClose());
    socket.once('connect', () => this.#onConnect());
    socket.setNoDelay(true);
    const probeMs = options.keepAliveProbeMs ?? KEEP_ALIVE_PROBE_MS;
    socket.setKeepAlive(true, probeMs);
    socket.connect({
      ...dialOptions(endpoint.host, endpoint.port),
      ...(options.localAddress === undefined ? {} : { localAddress: options.localAddress }),
      autoSelectFamily: false,
    });
  }

  join(request: LegRequest): LegWaiter {
    const waiter = new LegWaiter(this, this.#context, request);
    this.waiters.add(waiter);
    return waiter;
  }

  /** Nobody waits for it any more: it ends, unless it is done. */
  left(): void {
    if (this.waiters.size === 0 && !this.#settled) this.#socket.destroy();
  }

  /** What comes of it serves those who wait, and nobody else. */
  retire(): void {
    this.retired = true;
  }

  cut(): void {
    this.#code = 'ECANCELED';
    this.#socket.destroy();
  }

  cutPool(pool: SectionHash): void {
    for (const waiter of [...this.waiters]) {
      const { user } = waiter.request;
      if (user.poolHash !== pool) continue;
      waiter.close();
      user.onDialFailed('ECANCELED');
    }
  }

  reset(): void {
    for (const waiter of [...this.waiters]) waiter.close();
    this.#socket.destroy();
  }

  #onConnect(): void {
    const { leg, preface } = this.first;
    if (preface !== '') this.#socket.write(preface, 'latin1');
    if (leg.tls === null) {
      this.#speak(leg.http2 === 'only' && !this.first.needsHttp1);
      return;
    }
    if (leg.tls.handshakeTimeoutMs > 0) {
      for (const waiter of this.waiters) waiter.waitFor(leg.tls.handshakeTimeoutMs);
    }
    this.#secure(leg);
  }

  #secure(leg: Leg): void {
    const { tls } = this.#context;
    const plan = leg.tls!;
    const handshake = startHandshake(this.#socket, {
      verify: plan.verify,
      serverName: leg.serverName,
      context: tls.contextOf(plan),
      alpn: this.#offered(leg),
      session: tls.sessionFor(this.idleKey),
    });
    this.#tls = handshake;
    handshake.on('error', (error: NodeJS.ErrnoException) => this.#noteTls(error, leg));
    handshake.on('session', (session) => tls.keepSession(this.idleKey, session));
    handshake.once('secureConnect', () => {
      const agreed = handshake.alpnProtocol === HTTP2;
      if (leg.http2 === 'only' && !agreed && !this.first.needsHttp1) {
        this.#report(`${this.where} does not speak HTTP/2 over TLS: write versions 1.1`);
        this.#code = 'ERR_HTTP2_NOT_AGREED';
        this.#socket.destroy();
        return;
      }
      this.#speak(agreed);
    });
  }

  #offered(leg: Leg): readonly string[] {
    if (leg.http2 === 'no' || this.first.needsHttp1) return [HTTP1];
    return leg.http2 === 'only' ? [HTTP2] : [HTTP2, HTTP1];
  }

  /** The way is free. */
  #speak(http2: boolean): void {
    const carrier = this.#carrier;
    if (!http2) {
      this.#settled = true;
      this.#owner.onHttp1(this, carrier);
      return;
    }
    // HTTP/2 ends streams, never half a connection: a FIN is the end, and Node's session waits for it.
    carrier.raw.allowHalfOpen = false;
    carrier.stream.allowHalfOpen = false;
    const { endpoint, limits, options, preface } = this.first;
    const idleMs = preface !== '' || options.maxIdlePerEndpoint === 0 ? 0 : options.keepAliveIdleMs;
    this.#session = new UpstreamSession(this, this.#context, endpoint, this.idleKey, carrier, limits, idleMs);
  }

  onSessionReady(session: UpstreamSession): void {
    this.#settled = true;
    this.#owner.onHttp2(this, session);
  }

  onStreamEnded(): void {}

  onSessionClosed(_session: UpstreamSession, _wasReady: boolean, fault: string): void {
    if (this.#settled || this.#code !== '') return;
    this.#code = 'ERR_HTTP2_NOT_SPOKEN';
    this.#report(`${this.where} did not answer in HTTP/2 (${fault}): write http:// or https:// in front of it`);
    resetCarrier(this.#carrier);
  }

  #note(error: NodeJS.ErrnoException): void {
    this.#code ||= error.code ?? error.message;
  }

  #noteTls(error: NodeJS.ErrnoException, leg: Leg): void {
    if (this.#settled || this.#code !== '') return;
    this.#context.tls.forgetSession(this.idleKey);
    this.#note(error);
    this.#report(describeTlsFault(error, this.where, leg.serverName));
    this.#socket.destroy();
  }

  get #carrier(): Carrier {
    return { stream: this.#tls ?? this.#socket, raw: this.#socket, secured: this.#tls !== null };
  }

  /** Address that is dialled, for people. */
  get where(): string {
    return joinHostPort(this.first.endpoint.host, this.first.endpoint.port);
  }

  #report(detail: string): void {
    this.#context.legFailed(this.slot, detail);
  }

  #onClose(): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#session?.close();
    this.#tls?.destroy();
    this.#owner.onGone(this, this.#code === '' ? 'ECONNABORTED' : this.#code);
  }
}

/** One request that waits for a dial. */
export class LegWaiter implements Dial, Expirable {
  readonly request: LegRequest;
  readonly #dial: LegDial;
  readonly #context: UpstreamContext;
  readonly #deadline = new Deadline(this);
  /** The dial it waits for now, when it had to go on to another one. */
  #next: Dial | null = null;

  constructor(dial: LegDial, context: UpstreamContext, request: LegRequest) {
    this.#dial = dial;
    this.#context = context;
    this.request = request;
    this.waitFor(request.timeoutMs);
  }

  /** What is left of its time; at least one millisecond. */
  get leftMs(): number {
    return Math.max(1, this.#deadline.at - this.#context.wheel.now);
  }

  waitFor(ms: number): void {
    this.#context.wheel.arm(this.#deadline, ms);
  }

  /** It waits no longer: it got what it wanted, or goes on to `next`. */
  done(next: Dial | null = null): void {
    this.#dial.waiters.delete(this);
    this.#context.wheel.remove(this.#deadline);
    this.#next = next;
  }

  close(): void {
    this.#next?.close();
    this.done();
    this.#dial.left();
  }

  onDeadline(): void {
    this.close();
    this.request.user.onDialFailed('ETIMEDOUT');
  }
}
