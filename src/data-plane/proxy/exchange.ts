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
  FACT_REQUESTS,
  FACT_TIMEOUTS,
  LIMIT_REQUEST_BODY,
  SERVER_BYTES_IN,
  SERVER_LIMITS,
  SERVER_NO_UPSTREAM,
} from '../../shared/state-table/layout.ts';
import { proxyHeader } from '../../shared/net/proxy-header.ts';
import { isTrustedPeer } from '../client-ip/derive.ts';
import { BODY_LENGTH, BODY_NONE, FIELD_UPGRADE, type Head } from '../http1/head.ts';
import { reasonOf } from '../http1/reasons.ts';
import type { Pool } from '../pool/pool.ts';
import {
  createRouteState,
  EMPTY_RESPONSE,
  type CompiledProxy,
  type Decision,
  type RouteState,
} from '../route/decision.ts';
import type { CompiledHeaderOps } from '../route/header-ops.ts';
import type { CompiledHandleResponse, UpstreamAnswer } from '../route/handle-response.ts';
import type { LeftForResponse } from '../route/response-ops.ts';
import type { Rewrite } from '../route/rewrite.ts';
import { emptiesBody, upstreamRequest, type UpstreamRequest } from '../route/upstream-request.ts';
import type { Generation, HttpServer } from '../server.ts';
import type { World } from '../world.ts';
import { countFailure, countResponse, exchangeBegan, exchangeLeft, type ExchangeOutcome } from './counting.ts';
import { errorSentence } from './error-response.ts';
import { routeError } from './error-route.ts';
import { plainError, respondedWith, type OwnResponse } from './own-response.ts';
import { proxyValue } from './proxy-values.ts';
import { accessRecord } from './access-record.ts';
import { frameForOwnMethod } from './own-method.ts';
import { RequestBody } from './request-body.ts';
import { RequestFacts, type ConnectionFacts } from './request-facts.ts';
import { requestLines, wantedUpgrade } from './request-lines.ts';
import { responseLines } from './response-lines.ts';
import { HeldBody } from './held-body.ts';
import { idleTimeMs } from './idle-time.ts';
import { NO_RETRY_FACTS, RetryRules } from './retry-rules.ts';
import { isIdempotent, isSafe } from './retry.ts';
import type { ClientSide, UpstreamFailure, UpstreamSide } from './sides.ts';
import { Tries, type TryUser } from './tries.ts';
import { limitTunnel } from './streams.ts';
import { switchFault, Tunnel } from './tunnel.ts';
import { answerOf, answerValue, reasonFor, replaceStatus } from './upstream-answer.ts';

const NO_OPS: readonly CompiledHeaderOps[] = Object.freeze([]);
const NO_FIELDS: readonly string[] = Object.freeze([]);
const NO_OUTPUT: readonly AccessOutput[] = Object.freeze([]);
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
  /** What `header` handlers left for the response; null = nothing. */
  #left: LeftForResponse | null = null;
  /** What the routes left for `handle_response`; null without one. */
  #routeState: RouteState | null = null;
  /** The last response that `handle_response` was asked about. */
  #answer: UpstreamAnswer | null = null;
  #upstream: UpstreamSide | null = null;
  #rerouted = false;
  /** `lb_retry_match`; null = the default rules. */
  #retryRules: RetryRules | null = null;

  #requestComplete: boolean;
  #requestTrailers = '';
  /** What waits for an upstream, or is kept for further tries; null = nothing. */
  #body: RequestBody | null = null;
  /** The body is read before an upstream is asked. */
  #buffering = false;
  #bodySent = false;
  #bodyBytes = 0;
  #maxBodyBytes = Infinity;
  /** The rest of the request body will not come, or is not wanted. */
  #bodyBroken = false;
  /** What goes upstream when that is not what was routed; null = it is. */
  #sent: UpstreamRequest | null = null;
  /** The client sends a body that goes nowhere. */
  #dropsRequestBody = false;
  /** The body waits for what stands behind `handle_response`; null = it does not. */
  #held: HeldBody | null = null;

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
    const answered = this.#answer === null ? undefined : answerValue(name, this.#answer);
    if (answered !== undefined) return answered;
    return proxyValue(name, {
      upstream: this.#tries?.upstream ?? '',
      endpoint: this.#tries?.endpoint ?? null,
      affinity: this.affinity,
      attempts: this.#tries?.attempts ?? 0,
      status: this.#status,
      durationMs: this.#world.clock.now() - this.#startedAt,
      retry: this.#retryRules ?? NO_RETRY_FACTS,
    });
  }

  protected believesPeer(): boolean {
    return this.trusted || isTrustedPeer(this.peer, this.#proxy?.trusted ?? null);
  }

  // --- start --------------------------------------------------------------------------------------

  start(): void {
    const state = createRouteState();
    const decision = this.#server.router.route(this, state) ?? EMPTY_RESPONSE;
    this.#starting = true;
    this.#follow(decision, state);
    this.#starting = false;
  }

  #follow(decision: Decision<Pool>, state: RouteState): void {
    if (state.responseOps.length > 0 || state.responseFields.length > 0) this.#left = state;
    if (decision.kind === 'proxy') {
      this.#maxBodyBytes = Math.min(this.#maxBodyBytes, state.maxBodyBytes);
      if (this.head.contentLength > this.#maxBodyBytes) {
        this.#refuseBody();
        return;
      }
      this.#proxy = decision;
      this.#routeState = decision.handleResponse === null ? null : state;
      this.#sent = decision.rewrite === null ? null : this.#rewrite(decision.rewrite);
      this.#retryRules = decision.retryOn === null ? null : new RetryRules(decision.retryOn);
      this.#tries = new Tries(this.#world, decision.pool.current, this, this, this.#startedAt);
      if (!this.#buffer(decision.requestBufferBytes)) this.#tries.next();
    } else if (decision.kind === 'respond') {
      if (decision.close) this.#clientSide.closeAfter();
      this.#send(respondedWith(decision, this.#left, this));
    } else if (decision.kind === 'error') {
      this.#answerError(decision.status, decision.message);
    } else {
      this.#clientSide.reset();
      this.#finish('aborted', STATUS_CLIENT_GONE);
    }
  }

  #rewrite(rewrite: Rewrite): UpstreamRequest {
    const sent = upstreamRequest(this, rewrite);
    const held = new HeldBody(this.head, this.#requestComplete);
    if (!emptiesBody(this.head, this.method, sent.method)) return sent;
    this.#requestComplete = true;
    if (this.#routeState !== null) {
      this.#held = held;
    } else {
      // Nobody else can be given the body either.
      this.#dropsRequestBody = true;
      this.#bodyBroken = true;
    }
    return sent;
  }

  #releaseBody(held: HeldBody): void {
    held.restore(this.head);
    this.#requestComplete = held.complete;
    this.#held = null;
  }

  get #sentMethod(): string {
    return this.#sent === null ? this.method : this.#sent.method;
  }

  /** A failure of ours or of the upstreams, before any byte of a response. */
  #answerError(status: number, message: string = errorSentence(status)): void {
    const { errorRouter } = this.#server;
    // What goes wrong on the way to an error page is answered plainly.
    const isFirst = (this.notes?.error ?? null) === null;
    const fields = this.#left?.responseFields ?? NO_FIELDS;
    const answer = errorRouter !== null && isFirst ? routeError(errorRouter, this, { status, message }, fields) : null;
    if (answer !== null && !(answer.decision.kind === 'proxy' && this.#bodyLost)) {
      this.#follow(answer.decision, answer.state);
      return;
    }
    const plain = isFirst ? (this.notes?.error?.status ?? status) : status;
    this.#send(plainError(plain, this.#left, this.#world.clock.wall(), this));
  }

  #send({ status, lines, body }: OwnResponse): void {
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
    const nobody = status === 503 && this.#tries!.attempts === 0;
    if (nobody) this.#world.servers.count(this.#server.row, SERVER_NO_UPSTREAM, 1);
    this.#answerError(status);
  }

  /** Whether no upstream is asked before the body is here. A client that waits for a 100 gets it now then. */
  #buffer(bytes: number): boolean {
    if (bytes === 0 || this.#requestComplete || this.#body !== null || this.head.contentLength > bytes) return false;
    this.#body = new RequestBody(bytes);
    this.#buffering = true;
    if (this.head.expectContinue) this.#clientSide.sendInterim(100, 'Continue', '');
    return true;
  }

  #endBuffering(): void {
    this.#buffering = false;
    this.#tries!.next();
  }

  // --- request ------------------------------------------------------------------------------------

  onRequestBody(buffer: Buffer, start: number, end: number): void {
    if (this.over || start === end) return;
    this.#world.servers.count(this.#server.row, SERVER_BYTES_IN, end - start);
    this.#bodyBytes += end - start;
    if (this.#bodyBytes > this.#maxBodyBytes) {
      this.#refuseBody();
      return;
    }
    if (this.#dropsRequestBody) return;
    if (this.#upstream !== null && this.#held === null) {
      this.#bodySent = true;
      this.#world.facts.count(this.#tries!.endpoint!.slot, FACT_BYTES_SENT, end - start);
      if (!this.#upstream.sendBody(buffer, start, end, true)) this.#clientSide.pause();
      return;
    }
    const body = (this.#body ??= new RequestBody(0));
    body.add(buffer, start, end);
    if (this.#buffering && body.overflows) this.#endBuffering();
    if (!this.#buffering && !this.over && body.full) this.#clientSide.pause();
  }

  onRequestEnd(trailers: string): void {
    if (this.over || this.#dropsRequestBody) return;
    this.#requestComplete = true;
    this.#requestTrailers = trailers;
    if (this.#held !== null) {
      this.#held.complete = true;
    } else if (this.#buffering) {
      this.#body!.whole = true;
      this.#endBuffering();
    } else if (this.#upstream !== null) {
      this.#finishRequest(this.#upstream);
    }
  }

  /** The bytes of one read of the client were handed over. */
  onRequestTurn(): void {
    this.#upstream?.flush();
  }

  #refuseBody(): void {
    this.#world.servers.count(this.#server.row, SERVER_LIMITS + LIMIT_REQUEST_BODY, 1);
    this.onRequestFailed(413);
  }

  /** The request body is broken (400), does not come (408), is too large (413) or is not taken by the upstream (504). */
  onRequestFailed(status: number): void {
    if (this.over) return;
    const upstream = this.#upstream;
    if (status === 504 && upstream !== null) {
      this.#world.facts.count(this.#tries!.endpoint!.slot, FACT_TIMEOUTS, 1);
      this.#tries!.watch?.failed();
    }
    this.#buffering = false;
    this.#bodyBroken = true;
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
    this.#tries!.watch?.sent();
    upstream.sendEnd(this.#requestTrailers);
    upstream.expectHead(this.#proxy!.pool.section.transport.responseHeaderTimeoutMs);
  }

  // --- upstream -----------------------------------------------------------------------------------

  onConnected(upstream: UpstreamSide): void {
    const proxy = this.#proxy!;
    this.#upstream = upstream;
    this.#tries!.connected();
    this.#world.facts.count(this.#tries!.endpoint!.slot, FACT_REQUESTS, 1);
    const ops = proxy.headersUp === null ? NO_OPS : [proxy.headersUp];
    const lines = requestLines(this, this.believesPeer(), this.#tries!.pool.identity(this.#tries!.position), ops);
    const chunked = this.head.body !== BODY_NONE && this.head.body !== BODY_LENGTH;
    const { method, target } = this.#sent ?? this;
    const { proxyProtocol } = this.#tries!.pool.section.transport;
    const preface = proxyProtocol === undefined ? '' : proxyHeader(proxyProtocol, this);
    upstream.sendHead(`${preface}${method} ${target} HTTP/1.1`, lines, method, chunked);
    this.#sendWaiting(upstream);
    if (this.#requestComplete) this.#finishRequest(upstream);
    else if (!this.#starting) upstream.flush();
  }

  #sendWaiting(upstream: UpstreamSide): void {
    const body = this.#body;
    if (body === null || body.bytes === 0 || this.#held !== null) return;
    this.#world.facts.count(this.#tries!.endpoint!.slot, FACT_BYTES_SENT, body.bytes);
    this.#bodySent = true;
    let open = true;
    for (const chunk of body.take()) open = upstream.sendBody(chunk, 0, chunk.length, true);
    if (open) this.#clientSide.resume();
    else this.#clientSide.pause();
  }

  onDialFailed(code: string): void {
    this.#tries!.dialFailed(code);
  }

  onResponseHead(head: Head): void {
    this.#status = head.status;
    if (head.status === 101) {
      this.#switchProtocols(head);
    } else if (head.status < 200) {
      this.#status = 0;
      if (head.status === 100 && (!this.head.expectContinue || this.#body?.isKept === true)) return;
      this.#clientSide.sendInterim(head.status, reasonFor(head, null), responseLines(this, head, null, null, ''));
    } else {
      this.#answer = null;
      this.#tries!.watch?.answered(head.status);
      if (this.#retryRules?.readsResponses === true && this.#retriesResponse(this.#retryRules, head)) return;
      this.#idleMs = idleTimeMs(this.#proxy!.pool.section.transport, head);
      const { handleResponse } = this.#proxy!;
      if (handleResponse !== null && this.#handlesResponse(handleResponse, head)) return;
      this.#responded = true;
      const method = this.#sentMethod;
      if (method !== this.head.method) this.#dropsBody = frameForOwnMethod(head, method, this.head.method);
      if (head.status !== this.#status && replaceStatus(head, this.#status, this.head.method)) this.#dropsBody = true;
      const reason = reasonFor(head, this.#answer);
      this.#clientSide.sendHead(head.status, reason, this.#responseLines(head), head.body);
    }
  }

  /** `handle_response`: true when something else than this response answers. The status may have been replaced. */
  #handlesResponse(handling: CompiledHandleResponse<Pool>, head: Head): boolean {
    const state = this.#routeState!;
    this.#answer = answerOf(head);
    const decision = handling.decide(this, state, this.#answer) ?? EMPTY_RESPONSE;
    if (decision.kind === 'pass' || decision.kind === 'copy') {
      if (state.responseOps.length > 0 || state.responseFields.length > 0) this.#left = state;
      if (decision.status !== 0) this.#status = decision.status;
      return false;
    }
    this.#dropResponse(head.status);
    if (this.#held !== null) this.#releaseBody(this.#held);
    if (decision.kind === 'proxy') this.forgetPicks();
    if (decision.kind === 'proxy' && this.#bodyLost) this.#answerError(502);
    else this.#follow(decision, state);
    return true;
  }

  #dropResponse(status: number): void {
    const upstream = this.#upstream!;
    countResponse(this.#world, this.#tries!.endpoint!.slot, status, '');
    this.#status = 0;
    this.#leaveUpstream();
    if (this.#requestComplete) upstream.discard(this.#idleMs, this.#proxy!.pool.section.transport.maxIdlePerEndpoint);
    else upstream.reset();
  }

  #responseLines(head: Head): string {
    const { headersDown } = this.#proxy!;
    const { pool } = this.#tries!;
    return responseLines(this, head, headersDown, this.#left, pool.policy.answered(pool, this, this.#tries!.position));
  }

  /** `lb_retry_match`: the response is dropped for another try, as long as there can be one. */
  #retriesResponse(rules: RetryRules, head: Head): boolean {
    if (!this.#isReplayable || !this.#tries!.mayGoOn() || !rules.matchesResponse(this, head)) return false;
    const upstream = this.#upstream!;
    const { slot } = this.#tries!.endpoint!;
    const { status } = head;
    countResponse(this.#world, slot, status, '');
    this.#status = 0;
    this.#leaveUpstream();
    upstream.reset();
    this.#tries!.reroute(slot, status);
    return true;
  }

  onResponseBody(buffer: Buffer, start: number, end: number): void {
    if (this.#dropsBody) return;
    this.#sentBytes += end - start;
    if (!this.#clientSide.sendBody(buffer, start, end, false)) this.#upstream?.pause();
  }

  onResponseEnd(trailers: string, reusable: boolean): void {
    const upstream = this.#upstream!;
    const status = this.#answer?.status ?? this.#status;
    countResponse(this.#world, this.#tries!.endpoint!.slot, status, this.affinity);
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
    if (this.#isReplayable && (isIdempotent(this.#sentMethod) || this.#retryRules?.matchesFailure(this) === true))
      this.#tries!.replay(endpoint);
    else this.#answerError(502);
  }

  /** No upstream can be given the whole request any more. */
  get #bodyLost(): boolean {
    return this.#bodyBroken || this.#held !== null || (this.#bodySent && !this.#isReplayable);
  }

  /** Another upstream can be given the whole request: it has no body, or all of it is kept. */
  get #isReplayable(): boolean {
    if (this.#held !== null) return true;
    return this.#requestComplete && (this.#body === null ? !this.#bodySent : this.#body.whole);
  }

  #upstreamBroke(failure: UpstreamFailure, slot: number, detail: string): void {
    if (failure !== 'cut') this.#tries!.watch?.failed();
    const status = countFailure(this.#world, failure, slot, this.#tries!.upstream, detail);
    const byDefault = failure === 'closed' || failure === 'cut';
    this.#reroute(slot, status, byDefault && !this.#rerouted && isSafe(this.#sentMethod));
  }

  /**
   * A request that can be sent again goes elsewhere if `lb_retry_match` says so. Without it: once per exchange, a safe
   * one whose connection broke before the response (`byDefault`).
   */
  #reroute(slot: number, status: number, byDefault: boolean): void {
    this.#status = 0;
    const wanted = this.#retryRules === null ? byDefault : this.#retryRules.matchesFailure(this);
    if (!wanted || !this.#isReplayable) {
      this.#answerError(status);
      return;
    }
    this.#rerouted = true;
    this.#tries!.reroute(slot, status);
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
    this.#tries!.watch?.answered(101);
    countResponse(this.#world, slot, 101, this.affinity);
    const tunnel = new Tunnel(this.#clientSide, upstream, () => {
      stream?.end();
      this.#tunnelOver(tunnel, slot);
    });
    const stream = limitTunnel(this.#world, this.#proxy!.streams, tunnel, agreed);
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
    const outputs = this.logSkipped ? NO_OUTPUT : this.#server.accessOutputs(this.receivedHost);
    if (outputs.length > 0) {
      const record = accessRecord(this, this.#tries, status, this.#sentBytes, durationMs);
      for (const output of outputs) this.#world.accessLog.write(output, record);
    }
    this.#body = null;
    this.#world.giveHead(this.head);
  }
}
