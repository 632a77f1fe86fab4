/**
 * One request and its response: routed, sent to a member of a pool, retried where that is safe,
 * relayed in both directions with backpressure, counted once.
 *
 * It knows the client and the upstream only through the narrow seam of sides.ts. An upstream is tried
 * until the first byte of a final response head; from then on a failure can only cut the client off.
 */
import type { AccessOutput, EndpointPlan } from '../../shared/plan/types.ts';
import {
  FACT_BROKEN,
  FACT_BYTES_RECEIVED,
  FACT_BYTES_SENT,
  FACT_INVALID_RESPONSES,
  FACT_REQUESTS,
  FACT_TIMEOUTS,
  SERVER_BYTES_IN,
  SERVER_NO_UPSTREAM,
} from '../../shared/state-table/layout.ts';
import { isTrustedPeer } from '../client-ip/derive.ts';
import { BODY_CLOSE, BODY_LENGTH, BODY_NONE, FIELD_UPGRADE, type Head } from '../http1/head.ts';
import { keepAliveHint } from '../http1/upstream-connection.ts';
import type { Pool } from '../pool/pool.ts';
import { createRouteState, EMPTY_RESPONSE, type CompiledProxy, type RespondDecision } from '../route/decision.ts';
import type { CompiledHeaderOps } from '../route/header-ops.ts';
import { finishOwnFields, type LeftForResponse } from '../route/response-ops.ts';
import type { Generation, HttpServer } from '../server.ts';
import type { World } from '../world.ts';
import { countResponse, exchangeBegan, exchangeLeft, type ExchangeOutcome } from './counting.ts';
import { errorText, reasonOf } from './error-response.ts';
import { linesOf } from './hop-fields.ts';
import { proxyValue } from './proxy-values.ts';
import { RequestFacts, type ConnectionFacts } from './request-facts.ts';
import { requestLines, wantedUpgrade } from './request-lines.ts';
import { responseLines } from './response-lines.ts';
import { isIdempotent, isSafe } from './retry.ts';
import type { ClientSide, UpstreamFailure, UpstreamSide } from './sides.ts';
import { Tries, type TryUser } from './tries.ts';
import { switchFault, Tunnel } from './tunnel.ts';

/** Body bytes kept while no upstream is connected; then the client is paused. */
const MAX_WAITING_BYTES = 65_536;
/** … and pieces of it: chunks of one byte cost a hundred times their size. */
const MAX_WAITING_PIECES = 1024;
const NO_OPS: readonly CompiledHeaderOps[] = Object.freeze([]);
const NOTHING_LEFT: LeftForResponse = Object.freeze({ responseFields: [], responseOps: [] });
/** Status of the log for a client that went away before its response began; never sent. */
const STATUS_CLIENT_GONE = 499;

export class Exchange extends RequestFacts implements TryUser {
  over = false;
  readonly #world: World;
  readonly #clientSide: ClientSide;
  readonly #server: HttpServer;
  readonly #generation: Generation;
  readonly #startedAt: number;
  #starting = false;

  #proxy: CompiledProxy<Pool> | null = null;
  /** The tries of a request that is proxied; null for one we answer ourselves. */
  #tries: Tries | null = null;
  #requestOps: readonly CompiledHeaderOps[] = NO_OPS;
  /** What `header` handlers left for the response; null = nothing. */
  #left: LeftForResponse | null = null;
  #upstream: UpstreamSide | null = null;
  #rerouted = false;

  #requestComplete: boolean;
  #requestTrailers = '';
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #bodySent = false;

  #responded = false;
  #status = 0;
  #sentBytes = 0;
  #idleMs = 0;
  /** The upstream sends a body to a client that sent HEAD. */
  #dropsBody = false;

  constructor(
    world: World,
    client: ClientSide & ConnectionFacts,
    server: HttpServer,
    generation: Generation,
    head: Head,
  ) {
    super(world, client, server, head);
    this.#world = world;
    this.#clientSide = client;
    this.#server = server;
    this.#generation = generation;
    this.#startedAt = world.clock.now();
    this.#requestComplete = !head.hasBody;
    exchangeBegan(world, server, generation);
  }

  proxyValue(name: string): string | undefined {
    return proxyValue(name, {
      upstream: this.#tries?.upstream ?? '',
      endpoint: this.#tries?.endpoint ?? null,
      affinity: this.affinity,
      attempts: this.#tries?.attempts ?? 0,
      status: this.#status,
      durationMs: this.#world.clock.now() - this.#startedAt,
    });
  }

  protected believesPeer(): boolean {
    return this.trusted || isTrustedPeer(this.peer, this.#proxy?.trusted ?? null);
  }

  // --- start --------------------------------------------------------------------------------------

  start(): void {
    const state = createRouteState();
    const decision = this.#server.router.route(this, state) ?? EMPTY_RESPONSE;
    if (state.requestOps.length > 0) this.#requestOps = state.requestOps;
    if (state.responseOps.length > 0 || state.responseFields.length > 0) this.#left = state;
    if (decision.kind === 'proxy') {
      this.#proxy = decision;
      this.#tries = new Tries(this.#world, decision.pool, this, this, this.#startedAt);
      this.#starting = true;
      this.#tries.next();
      this.#starting = false;
    } else if (decision.kind === 'respond') {
      this.#answer(decision);
    } else {
      this.#clientSide.reset();
      this.#finish('aborted', STATUS_CLIENT_GONE);
    }
  }

  /** A response of our own, made by a `respond` or `redir`. */
  #answer(decision: RespondDecision): void {
    const body = Buffer.from(decision.body, 'utf8');
    const own = [...decision.fields, 'Date', new Date(this.wallMs).toUTCString(), 'Server', 'holdfast'];
    const fields = finishOwnFields(own, decision.status, this.#left ?? NOTHING_LEFT, this);
    const bodyless = decision.status === 204 || decision.status === 304;
    if (!bodyless) fields.push('Content-Length', String(body.length));
    if (decision.close) this.#clientSide.closeAfter();
    this.#send(decision.status, linesOf(fields), body);
  }

  /** A failure of ours or of the upstreams, before any byte of a response. */
  #answerError(status: number): void {
    const { lines, body } = errorText(status, this.#world.clock.wall());
    this.#send(status, lines, Buffer.from(body, 'latin1'));
  }

  #send(status: number, lines: string, body: Buffer): void {
    // `head.method` is the client's own, whatever a rewrite made of it.
    const bodyless = this.head.method === 'HEAD' || status === 204 || status === 304;
    this.#responded = true;
    this.#clientSide.sendHead(status, reasonOf(status), lines, bodyless ? BODY_NONE : BODY_LENGTH);
    if (!bodyless) {
      this.#sentBytes = body.length;
      this.#clientSide.sendBody(body, 0, body.length, true);
    }
    this.#finish('answered', status);
    this.#clientSide.sendEnd('');
  }

  onTriesEnded(status: number): void {
    if (status === 503) this.#world.servers.count(this.#server.row, SERVER_NO_UPSTREAM, 1);
    this.#answerError(status);
  }

  // --- request ------------------------------------------------------------------------------------

  onRequestBody(buffer: Buffer, start: number, end: number): void {
    if (this.over || start === end) return;
    this.#world.servers.count(this.#server.row, SERVER_BYTES_IN, end - start);
    if (this.#upstream !== null) {
      this.#bodySent = true;
      this.#world.facts.count(this.#tries!.endpoint!.slot, FACT_BYTES_SENT, end - start);
      if (!this.#upstream.sendBody(buffer, start, end, true)) this.#clientSide.pause();
      return;
    }
    this.#waiting.push(buffer.subarray(start, end));
    this.#waitingBytes += end - start;
    const full = this.#waitingBytes >= MAX_WAITING_BYTES || this.#waiting.length >= MAX_WAITING_PIECES;
    if (full) this.#clientSide.pause();
  }

  onRequestEnd(trailers: string): void {
    if (this.over) return;
    this.#requestComplete = true;
    this.#requestTrailers = trailers;
    if (this.#upstream !== null) this.#finishRequest(this.#upstream);
  }

  /** The bytes of one read of the client were handed over. */
  onRequestTurn(): void {
    this.#upstream?.flush();
  }

  /** The request body is broken (400), does not come (408) or is not taken by the upstream (504). */
  onRequestFailed(status: number): void {
    if (this.over) return;
    const upstream = this.#upstream;
    if (status === 504 && upstream !== null) this.#world.facts.count(this.#tries!.endpoint!.slot, FACT_TIMEOUTS, 1);
    this.#leaveUpstream();
    upstream?.reset();
    if (!this.#responded) {
      this.#answerError(status);
      return;
    }
    this.#clientSide.reset();
    this.#finish('aborted', this.#status);
  }

  onClientDrain(): void {
    this.#upstream?.resume();
  }

  onClientGone(): void {
    if (this.over) return;
    const upstream = this.#upstream;
    this.#leaveUpstream();
    upstream?.reset();
    this.#finish('aborted', this.#responded ? this.#status : STATUS_CLIENT_GONE);
  }

  #finishRequest(upstream: UpstreamSide): void {
    upstream.sendEnd(this.#requestTrailers);
    upstream.expectHead(this.#proxy!.pool.section.transport.responseHeaderTimeoutMs);
  }

  // --- upstream -----------------------------------------------------------------------------------

  onConnected(upstream: UpstreamSide): void {
    const proxy = this.#proxy!;
    this.#upstream = upstream;
    this.#tries!.connected();
    this.#world.facts.count(this.#tries!.endpoint!.slot, FACT_REQUESTS, 1);
    const ops = proxy.headersUp === null ? this.#requestOps : [...this.#requestOps, proxy.headersUp];
    const lines = requestLines(this, this.believesPeer(), proxy.pool.identity(this.#tries!.position), ops);
    const chunked = this.head.body !== BODY_NONE && this.head.body !== BODY_LENGTH;
    upstream.sendHead(`${this.method} ${this.target} HTTP/1.1`, lines, this.method, chunked);
    this.#sendWaiting(upstream);
    if (this.#requestComplete) this.#finishRequest(upstream);
    else if (!this.#starting) upstream.flush();
  }

  #sendWaiting(upstream: UpstreamSide): void {
    if (this.#waitingBytes === 0) return;
    const chunks = this.#waiting;
    this.#world.facts.count(this.#tries!.endpoint!.slot, FACT_BYTES_SENT, this.#waitingBytes);
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#bodySent = true;
    let open = true;
    for (const chunk of chunks) open = upstream.sendBody(chunk, 0, chunk.length, true);
    if (open) this.#clientSide.resume();
    else this.#clientSide.pause();
  }

  onDialFailed(): void {
    this.#tries!.dialFailed();
  }

  onResponseHead(head: Head): void {
    this.#status = head.status;
    if (head.status === 101) {
      this.#switchProtocols(head);
    } else if (head.status < 200) {
      this.#status = 0;
      if (head.status === 100 && !this.head.expectContinue) return;
      this.#clientSide.sendInterim(head.status, reasonText(head), responseLines(this, head, null, null, ''));
    } else {
      this.#responded = true;
      this.#idleMs = this.#idleFor(head);
      if (this.method !== this.head.method) this.#reframe(head);
      this.#clientSide.sendHead(head.status, reasonText(head), this.#responseLines(head), head.body);
    }
  }

  /** The method was rewritten, but the client reads its answer as one to its own (RFC 9112 section 6.3). */
  #reframe(head: Head): void {
    if (this.head.method === 'HEAD') {
      head.body = BODY_NONE;
      this.#dropsBody = true;
    } else if (this.method === 'HEAD' && head.body === BODY_NONE && head.status !== 204 && head.status !== 304) {
      // The length it announces belongs to a body that will not come.
      head.body = BODY_CLOSE;
    }
  }

  #responseLines(head: Head): string {
    const { pool, headersDown } = this.#proxy!;
    return responseLines(this, head, headersDown, this.#left, pool.policy.answered(pool, this, this.#tries!.position));
  }

  /** How long the connection may idle: below what the upstream announces, or the next request races its close. */
  #idleFor(head: Head): number {
    const { keepAliveIdleMs } = this.#proxy!.pool.section.transport;
    const hint = keepAliveHint(head);
    return hint < 0 ? keepAliveIdleMs : Math.min(keepAliveIdleMs, Math.max(0, hint * 1000 - 1000));
  }

  onResponseBody(buffer: Buffer, start: number, end: number): void {
    if (this.#dropsBody) return;
    this.#sentBytes += end - start;
    if (!this.#clientSide.sendBody(buffer, start, end, false)) this.#upstream?.pause();
  }

  onResponseEnd(trailers: string, reusable: boolean): void {
    const upstream = this.#upstream!;
    countResponse(this.#world, this.#tries!.endpoint!.slot, this.#status, this.affinity);
    const keep = reusable && this.#requestComplete;
    this.#leaveUpstream();
    upstream.release(keep ? this.#idleMs : 0, this.#proxy!.pool.section.transport.maxIdlePerEndpoint);
    this.#finish('answered', this.#status);
    this.#clientSide.sendEnd(trailers);
  }

  onResponseTurn(): void {
    if (!this.over) this.#clientSide.flush();
  }

  onUpstreamDrain(): void {
    this.#clientSide.resume();
  }

  onUpstreamFailed(failure: UpstreamFailure, detail: string): void {
    if (this.over) return;
    const endpoint = this.#tries!.endpoint!;
    const reused = this.#upstream?.reused ?? false;
    this.#leaveUpstream();
    if (this.#responded) {
      if (failure !== 'cut') this.#world.facts.count(endpoint.slot, FACT_BROKEN, 1);
      this.#clientSide.reset();
      this.#finish('cut', this.#status);
    } else if (failure === 'closed' && reused) {
      this.#idleEnded(endpoint);
    } else {
      this.#upstreamBroke(failure, endpoint.slot, detail);
    }
  }

  /** Its idle time was over just as it was used again: no fault of the server's (RFC 9112 section 9.3.1). */
  #idleEnded(endpoint: EndpointPlan): void {
    if (!isIdempotent(this.method) || !this.#hasNoBody()) {
      this.#answerError(502);
      return;
    }
    this.#tries!.replay(endpoint);
  }

  #hasNoBody(): boolean {
    return this.#requestComplete && !this.#bodySent && this.#waitingBytes === 0;
  }

  #upstreamBroke(failure: UpstreamFailure, slot: number, detail: string): void {
    const { facts } = this.#world;
    if (failure === 'timeout') {
      facts.count(slot, FACT_TIMEOUTS, 1);
      this.#answerError(504);
    } else if (failure === 'invalid') {
      facts.count(slot, FACT_INVALID_RESPONSES, 1);
      this.#world.upstreamInvalid(slot, this.#tries!.upstream, detail);
      this.#answerError(502);
    } else {
      if (failure === 'closed') facts.count(slot, FACT_BROKEN, 1);
      this.#reroute(slot);
    }
  }

  /** Once per exchange, a safe request without a body whose connection broke before the response goes elsewhere. */
  #reroute(slot: number): void {
    if (this.#rerouted || !isSafe(this.method) || !this.#hasNoBody()) {
      this.#answerError(502);
      return;
    }
    this.#rerouted = true;
    this.#tries!.reroute(slot);
  }

  // --- tunnel -------------------------------------------------------------------------------------

  #switchProtocols(head: Head): void {
    const wanted = wantedUpgrade(this.head);
    const agreed = head.joined(FIELD_UPGRADE, ', ').toLowerCase();
    const upstream = this.#upstream!;
    if (wanted === '' || agreed !== wanted || !this.#requestComplete) {
      const { slot } = this.#tries!.endpoint!;
      this.#leaveUpstream();
      upstream.reset();
      this.#upstreamBroke('invalid', slot, switchFault(agreed, wanted));
      return;
    }
    const { slot } = this.#tries!.endpoint!;
    const lines = `${this.#responseLines(head)}Connection: Upgrade\r\nUpgrade: ${head.known(FIELD_UPGRADE)}\r\n`;
    this.#responded = true;
    countResponse(this.#world, slot, 101, this.affinity);
    const tunnel = new Tunnel(this.#clientSide, upstream, () => this.#tunnelOver(tunnel, slot));
    this.#world.tunnelStarted();
    upstream.beginTunnel(tunnel.fromUpstream);
    this.#clientSide.beginTunnel(lines, tunnel.fromClient);
  }

  #tunnelOver(tunnel: Tunnel, slot: number): void {
    this.#world.servers.count(this.#server.row, SERVER_BYTES_IN, tunnel.fromClient.bytes);
    this.#world.facts.count(slot, FACT_BYTES_SENT, tunnel.fromClient.bytes);
    this.#sentBytes = tunnel.fromUpstream.bytes;
    this.#world.tunnelEnded();
    this.#leaveUpstream();
    this.#finish('tunnel', 101);
  }

  // --- end ----------------------------------------------------------------------------------------

  #leaveUpstream(): void {
    if (this.#upstream !== null) {
      // Until now all that the client got came from this one: an own answer begins after this.
      this.#world.facts.count(this.#tries!.endpoint!.slot, FACT_BYTES_RECEIVED, this.#sentBytes);
      this.#upstream = null;
    }
    this.#tries?.leave();
  }

  #finish(outcome: ExchangeOutcome, status: number): void {
    if (this.over) return;
    this.over = true;
    const durationMs = this.#world.clock.now() - this.#startedAt;
    exchangeLeft(this.#world, this.#server, this.#generation, outcome, status, durationMs, this.#sentBytes);
    for (const output of this.#server.accessOutputs(this.host)) this.#log(output, status, durationMs);
    this.#waiting = [];
    this.#world.giveHead(this.head);
  }

  #log(output: AccessOutput, status: number, durationMs: number): void {
    this.#world.accessLog.write(output, {
      wallMs: this.wallMs,
      client: this.client?.text ?? '',
      peer: this.peer?.text ?? '',
      method: this.method,
      host: this.host,
      target: this.target,
      status,
      bytes: this.#sentBytes,
      durationMs,
      upstream: this.#tries?.upstream ?? '',
      attempts: this.#tries?.attempts ?? 0,
      affinity: this.affinity,
    });
  }
}

function reasonText(head: Head): string {
  return head.text.slice(head.reasonStart, head.reasonEnd);
}
