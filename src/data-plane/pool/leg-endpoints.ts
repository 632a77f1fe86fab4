/**
 * Connections over TLS and HTTP/2: which one a request goes over, and who waits for those in the making. Where HTTP/2
 * is spoken or may be, requests that come while a connection is made wait for it instead of making one each.
 */
import { FACT_CONNECTIONS, FACT_REUSES } from '../../shared/state-table/layout.ts';
import { UpstreamConnection } from '../http1/upstream-connection.ts';
import type { UpstreamSession } from '../http2/upstream-session.ts';
import type { Dial } from '../proxy/pool-tries.ts';
import type { UpstreamUser } from '../proxy/sides.ts';
import type { Carrier } from './carrier.ts';
import type { Endpoints, UpstreamContext } from './endpoints.ts';
import type { GatedRequest } from './gated-request.ts';
import { LegDial, type LegDialOwner, type LegRequest, type LegWaiter } from './leg-dial.ts';

/** Requests that wait for one dial: as many as a server that says nothing else will hardly refuse. */
const MAX_WAITERS = 100;
/** Servers that are known to speak HTTP/1.1; what is forgotten is learned again by the next dial. */
const MAX_LEARNED = 4096;

export class LegEndpoints implements LegDialOwner {
  readonly #endpoints: Endpoints;
  readonly #context: UpstreamContext;
  /** HTTP/2 connections by key, the newest last. */
  readonly #sessions = new Map<string, UpstreamSession[]>();
  /** Dials that further requests may wait for. */
  readonly #dials = new Map<string, LegDial>();
  /** Keys of servers that were offered HTTP/2 and chose HTTP/1.1: no request waits for another there. */
  readonly #http1 = new Set<string>();

  constructor(endpoints: Endpoints, context: UpstreamContext) {
    this.#endpoints = endpoints;
    this.#context = context;
  }

  /**
   * Hands a connection to the user by `onConnected` before it returns null, or returns a dial that ends in
   * `onConnected` or `onDialFailed`.
   */
  connect(request: LegRequest): Dial | null {
    const { maxConnections } = request.options;
    if (maxConnections !== undefined) return this.#endpoints.gate.connect(new Limited(this, request, maxConnections));
    const shared = this.share(request);
    if (shared !== undefined) return shared;
    this.#context.facts.add(request.endpoint.slot, FACT_CONNECTIONS, 1);
    return this.dialCounted(request);
  }

  /** On a connection that is there or in the making: null = connected already, undefined = there is none. */
  share(request: LegRequest): Dial | null | undefined {
    if (request.preface !== '') return undefined;
    const key = keyOf(request);
    if (this.#reuse(request, key)) return null;
    const pending = request.needsHttp1 ? undefined : this.#dials.get(key);
    if (pending === undefined || !pending.mayServe(request.endpoint)) return undefined;
    return pending.waiters.size < MAX_WAITERS ? pending.join(request) : undefined;
  }

  #reuse(request: LegRequest, key: string): boolean {
    const { endpoint, user, limits, options } = request;
    if (!request.needsHttp1) {
      const session = this.#sessions.get(key)?.findLast((open) => open.hasRoom && open.goesTo(endpoint));
      if (session !== undefined) {
        this.#context.facts.count(endpoint.slot, FACT_REUSES, 1);
        session.open(user, limits, options);
        return true;
      }
    }
    const idle = request.fresh ? undefined : this.#endpoints.takeIdle(endpoint, http1Key(key));
    if (idle === undefined) return false;
    this.#context.facts.count(endpoint.slot, FACT_REUSES, 1);
    idle.adopt(user, limits, options);
    return true;
  }

  /** Dials; the caller has counted it as a connection. */
  dialCounted(request: LegRequest): Dial {
    const key = keyOf(request);
    const dial = new LegDial(this, this.#context, key, request);
    this.#endpoints.opening(dial);
    if (dial.shareable && !this.#http1.has(key)) this.#dials.set(key, dial);
    const waiter = dial.join(request);
    dial.start();
    return waiter;
  }

  onHttp1(dial: LegDial, carrier: Carrier): void {
    const { leg, endpoint, limits, options } = dial.first;
    if (leg.http2 === 'offer' && dial.shareable) this.#learn(dial.idleKey);
    this.#forget(dial);
    const [waiter, ...others] = dial.waiters;
    if (waiter === undefined) {
      this.#endpoints.closed(dial);
      carrier.raw.destroy();
    } else {
      waiter.done();
      const { user } = waiter.request;
      const key = http1Key(dial.idleKey);
      const connection = new UpstreamConnection(this.#endpoints, this.#context, endpoint, user, limits, options, key);
      this.#endpoints.opened(dial, connection);
      connection.carry(carrier);
      if (dial.retired) connection.retire();
    }
    this.#goOn(others);
  }

  onHttp2(dial: LegDial, session: UpstreamSession): void {
    const key = dial.idleKey;
    this.#forget(dial);
    this.#http1.delete(key);
    this.#endpoints.opened(dial, session);
    session.owner = this;
    const shared = dial.first.preface === '';
    if (shared) {
      const sessions = this.#sessions.get(key) ?? [];
      this.#sessions.set(key, sessions);
      sessions.push(session);
    }
    const left: LegWaiter[] = [];
    const waiters = [...dial.waiters];
    for (const waiter of waiters) {
      if (!session.hasRoom) {
        left.push(waiter);
        continue;
      }
      waiter.done();
      const { user, limits, options } = waiter.request;
      session.open(user, limits, options);
    }
    const isUseless = left.length > 0 && left.length === waiters.length;
    if (dial.retired || isUseless) session.retire();
    else session.settle();
    if (isUseless) this.#refuse(dial, left);
    else this.#goOn(left);
  }

  /** The server takes no streams, and would tell the next connection the same: dialling on would flood it. */
  #refuse(dial: LegDial, waiters: readonly LegWaiter[]): void {
    this.#context.legFailed(dial.slot, `${dial.where} takes no HTTP/2 streams: its SETTINGS allow none`);
    for (const waiter of waiters) {
      // What the one before was told may have ended this one.
      if (!dial.waiters.has(waiter)) continue;
      waiter.done();
      waiter.request.user.onDialFailed('ERR_HTTP2_NO_STREAMS');
    }
  }

  onGone(dial: LegDial, code: string): void {
    this.#forget(dial);
    this.#endpoints.closed(dial);
    for (const waiter of [...dial.waiters]) {
      waiter.done();
      waiter.request.user.onDialFailed(code);
    }
  }

  /** Ends a session to the slot that carries nothing. False: there is none. */
  closeIdle(slot: number): boolean {
    const idle = this.#sessionsTo(slot).find((session) => session.isIdle);
    idle?.retire();
    return idle !== undefined;
  }

  /** Takes no new streams on one session to the slot for a while; when its streams end in that time, so does it. */
  rest(slot: number, ms: number): void {
    this.#sessionsTo(slot)[0]?.rest(ms);
  }

  #sessionsTo(slot: number): UpstreamSession[] {
    return [...this.#sessions.values()].flatMap((open) => open.filter((session) => session.slot === slot));
  }

  onSessionReady(): void {}

  onStreamEnded(session: UpstreamSession): void {
    this.#endpoints.freed(session.slot);
  }

  onSessionClosed(session: UpstreamSession): void {
    this.#endpoints.closed(session);
    const sessions = this.#sessions.get(session.idleKey);
    const at = sessions?.indexOf(session) ?? -1;
    if (at >= 0) sessions!.splice(at, 1);
    if (sessions?.length === 0) this.#sessions.delete(session.idleKey);
  }

  /** The connection came, but not for them. */
  #goOn(waiters: readonly LegWaiter[]): void {
    for (const waiter of waiters) {
      const request = { ...waiter.request, timeoutMs: waiter.leftMs };
      waiter.done();
      waiter.done(this.connect(request));
    }
  }

  #learn(key: string): void {
    if (this.#http1.size >= MAX_LEARNED) this.#http1.clear();
    this.#http1.add(key);
  }

  #forget(dial: LegDial): void {
    if (this.#dials.get(dial.idleKey) === dial) this.#dials.delete(dial.idleKey);
  }
}

/** A request to an address that takes only so many connections. */
class Limited implements GatedRequest {
  readonly slot: number;
  readonly timeoutMs: number;
  readonly maxConnections: number;
  readonly user: UpstreamUser;
  readonly #legs: LegEndpoints;
  readonly #request: LegRequest;

  constructor(legs: LegEndpoints, request: LegRequest, maxConnections: number) {
    this.#legs = legs;
    this.#request = request;
    this.slot = request.endpoint.slot;
    this.timeoutMs = request.timeoutMs;
    this.maxConnections = maxConnections;
    this.user = request.user;
  }

  share(): Dial | null | undefined {
    return this.#legs.share(this.#request);
  }

  dial(): Dial {
    return this.#legs.dialCounted(this.#request);
  }
}

function keyOf({ endpoint, leg, options }: LegRequest): string {
  return `${endpoint.slot} ${options.localAddress ?? ''} ${leg.key}`;
}

/** An HTTP/1.1 connection never stands in for one of HTTP/2, though both were dialled alike. */
function http1Key(key: string): string {
  return `1 ${key}`;
}
