/**
 * A request under one `reverse_proxy`: sent to a member of its pool, retried where that is safe, its response relayed
 * with backpressure.
 *
 * An upstream is tried until the first byte of a final response head went to the client; from then on a failure can
 * only cut the client off.
 */
import type { EndpointPlan, SectionHash, ServerIndex } from '../../shared/plan/types.ts';
import {
  FACT_BROKEN,
  FACT_BYTES_RECEIVED,
  FACT_BYTES_SENT,
  FACT_REQUESTS,
  FACT_TIMEOUTS,
  SERVER_NO_UPSTREAM,
} from '../../shared/state-table/layout.ts';
import { isTrustedPeer } from '../client-ip/derive.ts';
import { BODY_LENGTH, BODY_NONE, FIELD_UPGRADE, type Head } from '../http1/head.ts';
import type { Pool } from '../pool/pool.ts';
import { EMPTY_RESPONSE, type CompiledProxy, type Decision, type RouteState } from '../route/decision.ts';
import type { CompiledEncoding } from '../route/encode.ts';
import type { CompiledHandleResponse, UpstreamAnswer } from '../route/handle-response.ts';
import type { CompiledHeaderOps } from '../route/header-ops.ts';
import type { LeftForResponse } from '../route/response-ops.ts';
import type { Rewrite } from '../route/rewrite.ts';
import { upstreamRequest, type UpstreamRequest } from '../route/upstream-request.ts';
import type { World } from '../world.ts';
import { countFailure, countResponse, type ExchangeOutcome } from './counting.ts';
import { idleTimeMs } from './idle-time.ts';
import type { RequestFacts } from './request-facts.ts';
import { requestLines, wantedUpgrade } from './request-lines.ts';
import type { RequestRelay } from './request-relay.ts';
import { encodedResponseLines, responseLines } from './response-lines.ts';
import type { ResponseRelay } from './response-relay.ts';
import { RetryRules } from './retry-rules.ts';
import { isIdempotent, isSafe } from './retry.ts';
import type { ClientSide, UpstreamFailure, UpstreamSide } from './sides.ts';
import { NO_LIMITS, type LimitedStream } from './streams.ts';
import { Tries, type TryUser } from './tries.ts';
import { switchFault } from './tunnel.ts';
import { beginTunnel } from './upgrade.ts';
import { answerOf, reasonFor } from './upstream-answer.ts';

/** Connections that may end under one request without a part of it being done. */
const MAX_LEAVING = 8;
const NO_OPS: readonly CompiledHeaderOps[] = Object.freeze([]);

/** The exchange, as its pass sees it. */
export interface PassUser {
  readonly clientSide: ClientSide;
  readonly body: RequestRelay;
  readonly response: ResponseRelay;
  readonly serverRow: ServerIndex;
  readonly startedAt: number;
  /** What `header` handlers left for the response; null = nothing. */
  left: LeftForResponse | null;
  /** How the response is compressed where that makes sense; null = not at all. */
  encoding: CompiledEncoding | null;
  /** The client has gone or was answered. */
  readonly over: boolean;
  /** Its input is still being read: what goes upstream is flushed when that is done. */
  readonly starting: boolean;
  follow(decision: Decision<Pool>, state: RouteState): void;
  /** A failure of ours or of the upstreams, before any byte of a response. */
  answerError(status: number): void;
  finish(outcome: ExchangeOutcome, status: number): void;
}

export class ProxyPass implements TryUser {
  readonly tries: Tries;
  /** `lb_retry_match`; null = the default rules. */
  readonly retryRules: RetryRules | null;
  /** The last response that `handle_response` was asked about, here or in the pass before. */
  answer: UpstreamAnswer | null;
  readonly #world: World;
  readonly #user: PassUser;
  readonly #client: ClientSide;
  readonly #body: RequestRelay;
  readonly #response: ResponseRelay;
  readonly #request: RequestFacts;
  readonly #proxy: CompiledProxy<Pool>;
  /** What the routes left for `handle_response`; null without one. */
  readonly #routeState: RouteState | null;
  /** What goes upstream when that is not what was routed; null = it is. */
  #sent: UpstreamRequest | null = null;
  #upstream: UpstreamSide | null = null;
  #rerouted: boolean;
  /** What ends its tunnel in an orderly way; null = it has none that can be. */
  #tunnel: LimitedStream | null = null;
  /** How often it came back without anything done with it. */
  #refusals = 0;
  #idleMs = 0;

  /** `previous`: the one whose `handle_response` or failure led here. */
  constructor(
    world: World,
    user: PassUser,
    request: RequestFacts,
    proxy: CompiledProxy<Pool>,
    state: RouteState,
    previous: ProxyPass | null,
  ) {
    this.#world = world;
    this.#user = user;
    this.#client = user.clientSide;
    this.#body = user.body;
    this.#response = user.response;
    this.#request = request;
    this.#proxy = proxy;
    this.#routeState = proxy.handleResponse === null ? null : state;
    this.#rerouted = previous !== null && previous.#rerouted;
    this.answer = previous === null ? null : previous.answer;
    this.retryRules = proxy.retryOn === null ? null : new RetryRules(proxy.retryOn);
    this.tries = new Tries(world, proxy.pool.current, request, this, user.startedAt);
  }

  get over(): boolean {
    return this.#user.over;
  }

  /** What the peer says in X-Forwarded-* counts. */
  get believesPeer(): boolean {
    return this.#request.trusted || isTrustedPeer(this.#request.peer, this.#proxy.trusted);
  }

  // --- request ------------------------------------------------------------------------------------

  start(): void {
    const { rewrite } = this.#proxy;
    if (rewrite !== null) this.#sent = this.#rewrite(rewrite);
    if (!this.#buffer(this.#proxy.requestBufferBytes)) this.tries.next();
  }

  #rewrite(rewrite: Rewrite): UpstreamRequest {
    const { method, head } = this.#request;
    const sent = upstreamRequest(this.#request, rewrite);
    this.#body.rewritten(head, method, sent.method, this.#routeState !== null);
    return sent;
  }

  get #sentMethod(): string {
    return this.#sent === null ? this.#request.method : this.#sent.method;
  }

  /** Whether no upstream is asked before the body is here. A client that waits for a 100 gets it now then. */
  #buffer(bytes: number): boolean {
    const { head } = this.#request;
    if (!this.#body.buffer(bytes, head.contentLength)) return false;
    if (head.expectContinue) this.#client.sendInterim(100, 'Continue', '');
    return true;
  }

  #endBuffering(): void {
    this.#body.buffering = false;
    this.tries.next();
  }

  onRequestBody(buffer: Buffer, start: number, end: number): void {
    const body = this.#body;
    if (this.#upstream !== null && !body.isHeld) {
      body.sent = true;
      this.#world.facts.count(this.tries.endpoint!.slot, FACT_BYTES_SENT, end - start);
      if (!this.#upstream.sendBody(buffer, start, end, true)) this.#client.pause();
      return;
    }
    if (body.keep(buffer, start, end)) this.#endBuffering();
    if (!body.buffering && !this.over && body.isFull) this.#client.pause();
  }

  onRequestEnd(): void {
    const body = this.#body;
    if (body.isHeld) return;
    if (body.buffering) this.#endBuffering();
    else if (this.#upstream !== null) this.#endRequest(this.#upstream);
  }

  onRequestTurn(): void {
    this.#upstream?.flush();
  }

  /** The client takes bytes again. */
  resume(): void {
    this.#upstream?.resume();
  }

  /** The upstream took no bytes of the request in time. */
  notTaken(): void {
    if (this.#upstream === null) return;
    this.#world.facts.count(this.tries.endpoint!.slot, FACT_TIMEOUTS, 1);
    this.tries.watch?.failed();
  }

  /** Nobody waits for an upstream any more. */
  abandon(): void {
    const upstream = this.#upstream;
    this.leave();
    upstream?.reset();
  }

  #endRequest(upstream: UpstreamSide): void {
    this.tries.watch?.sent();
    upstream.sendEnd(this.#body.trailers);
    upstream.expectHead(this.#proxy.pool.section.transport.responseHeaderTimeoutMs);
  }

  // --- upstream -----------------------------------------------------------------------------------

  onTriesEnded(status: number): void {
    const nobody = status === 503 && this.tries.attempts === 0;
    if (nobody) this.#world.servers.count(this.#user.serverRow, SERVER_NO_UPSTREAM, 1);
    this.#user.answerError(status);
  }

  onConnected(upstream: UpstreamSide): void {
    const proxy = this.#proxy;
    this.#upstream = upstream;
    this.tries.connected();
    this.#world.facts.count(this.tries.endpoint!.slot, FACT_REQUESTS, 1);
    const ops = proxy.headersUp === null ? NO_OPS : [proxy.headersUp];
    const { pool, position } = this.tries;
    const host = pool.hostSent(position);
    const lines = requestLines(this.#request, this.believesPeer, pool.identity(position), ops, host);
    const chunked = this.#request.head.body !== BODY_NONE && this.#request.head.body !== BODY_LENGTH;
    const { method, target } = this.#sent ?? this.#request;
    upstream.sendHead(`${this.tries.preface}${method} ${target} HTTP/1.1`, lines, method, chunked);
    this.#sendWaiting(upstream);
    if (this.#body.complete) this.#endRequest(upstream);
    else if (!this.#user.starting) upstream.flush();
  }

  #sendWaiting(upstream: UpstreamSide): void {
    const bytes = this.#body.waitingBytes;
    if (bytes === 0) return;
    this.#world.facts.count(this.tries.endpoint!.slot, FACT_BYTES_SENT, bytes);
    let open = true;
    for (const chunk of this.#body.take()) open = upstream.sendBody(chunk, 0, chunk.length, true);
    if (open) this.#client.resume();
    else this.#client.pause();
  }

  onDialFailed(code: string): void {
    this.tries.dialFailed(code);
  }

  onResponseHead(head: Head): void {
    this.#response.status = head.status;
    if (head.status === 101) {
      this.#switchProtocols(head);
    } else if (head.status < 200) {
      this.#response.status = 0;
      if (head.status === 100 && (!this.#request.head.expectContinue || this.#body.isKept)) return;
      const lines = responseLines(this.#request, head, null, null, '');
      this.#client.sendInterim(head.status, reasonFor(head, null), lines);
    } else {
      this.answer = null;
      this.tries.watch?.answered(head.status);
      if (this.retryRules?.readsResponses === true && this.#retriesResponse(this.retryRules, head)) return;
      this.#idleMs = idleTimeMs(this.#proxy.pool.section.transport, head);
      const { handleResponse } = this.#proxy;
      if (handleResponse !== null && this.#handlesResponse(handleResponse, head)) return;
      this.#response.frame(head, this.#sentMethod, this.#request.head.method);
      this.#beginResponse(head);
    }
  }

  #beginResponse(head: Head): void {
    const { encoding } = this.#user;
    const reason = reasonFor(head, this.answer);
    const { responseBufferBytes } = this.#proxy;
    if (encoding === null) {
      this.#response.begin(head, reason, this.#responseLines(head), responseBufferBytes, null);
      return;
    }
    const encoded = encodedResponseLines(
      this.#request,
      head,
      this.#proxy.headersDown,
      this.#user.left,
      this.#setCookie(),
      encoding,
    );
    this.#response.begin(head, reason, encoded.lines, responseBufferBytes, encoded.encoding);
  }

  /** `handle_response`: true when something else than this response answers. The status may have been replaced. */
  #handlesResponse(handling: CompiledHandleResponse<Pool>, head: Head): boolean {
    const state = this.#routeState!;
    this.answer = answerOf(head);
    const decision = handling.decide(this.#request, state, this.answer) ?? EMPTY_RESPONSE;
    if (decision.kind === 'pass' || decision.kind === 'copy') {
      if (state.responseOps.length > 0 || state.responseFields.length > 0) this.#user.left = state;
      this.#user.encoding = state.encoding;
      if (decision.status !== 0) this.#response.status = decision.status;
      return false;
    }
    this.#dropResponse(head.status);
    this.#body.release(this.#request.head);
    if (decision.kind === 'proxy') this.#request.forgetPicks();
    if (decision.kind === 'proxy' && this.#body.isLost) this.#user.answerError(502);
    else this.#user.follow(decision, state);
    return true;
  }

  #dropResponse(status: number): void {
    const upstream = this.#upstream!;
    countResponse(this.#world, this.tries.endpoint!.slot, status, '');
    this.#response.status = 0;
    this.leave();
    if (this.#body.complete) upstream.discard(this.#idleMs, this.#proxy.pool.section.transport.maxIdlePerEndpoint);
    else upstream.reset();
  }

  #responseLines(head: Head): string {
    return responseLines(this.#request, head, this.#proxy.headersDown, this.#user.left, this.#setCookie());
  }

  /** The cookie of the policy, '' = none. */
  #setCookie(): string {
    const { pool, position } = this.tries;
    return pool.policy.answered(pool, this.#request, position);
  }

  /** `lb_retry_match`: the response is dropped for another try, as long as there can be one. */
  #retriesResponse(rules: RetryRules, head: Head): boolean {
    if (!this.#body.isReplayable || !this.tries.mayGoOn() || !rules.matchesResponse(this.#request, head)) return false;
    const upstream = this.#upstream!;
    const { slot } = this.tries.endpoint!;
    const { status } = head;
    countResponse(this.#world, slot, status, '');
    this.#response.status = 0;
    this.leave();
    upstream.reset();
    this.tries.reroute(slot, status);
    return true;
  }

  onResponseBody(buffer: Buffer, start: number, end: number): void {
    if (!this.#response.body(buffer, start, end)) this.#upstream?.pause();
  }

  onResponseEnd(trailers: string, reusable: boolean): void {
    const upstream = this.#upstream!;
    const status = this.answer?.status ?? this.#response.status;
    countResponse(this.#world, this.tries.endpoint!.slot, status, this.#request.affinity);
    const keep = reusable && this.#body.complete;
    this.leave();
    upstream.release(keep ? this.#idleMs : 0, this.#proxy.pool.section.transport.maxIdlePerEndpoint);
    this.#response.end(trailers);
  }

  onResponseTurn(): void {
    if (!this.#user.over) this.#response.turn();
  }

  onUpstreamDrain(): void {
    this.#client.resume();
  }

  onUpstreamFailed(failure: UpstreamFailure, detail: string): void {
    if (this.#user.over) return;
    const endpoint = this.tries.endpoint!;
    const reused = this.#upstream?.reused ?? false;
    this.leave();
    if (this.#response.begun) {
      if (failure !== 'cut') this.#world.facts.count(endpoint.slot, FACT_BROKEN, 1);
      this.#client.reset();
      this.#user.finish('cut', this.#response.status);
    } else if (failure === 'closed' && reused) {
      this.#idleEnded(endpoint);
    } else if (this.#wasLeft(failure) && this.#body.isReplayable) {
      this.tries.replay(endpoint);
    } else {
      this.#upstreamBroke(failure, endpoint.slot, detail);
    }
  }

  /**
   * Nothing was done with it, whatever its method, so the same server may have it again (RFC 9113 section 8.7): once
   * when it has no room, some times when a connection ended under the request.
   */
  #wasLeft(failure: UpstreamFailure): boolean {
    this.#refusals += 1;
    return this.#refusals <= (failure === 'leaving' ? MAX_LEAVING : failure === 'refused' ? 1 : 0);
  }

  /** Its idle time was over just as it was used again: no fault of the server's (RFC 9112 section 9.3.1). */
  #idleEnded(endpoint: EndpointPlan): void {
    const wanted = isIdempotent(this.#sentMethod) || this.retryRules?.matchesFailure(this.#request) === true;
    if (wanted && this.#body.isReplayable) this.tries.replay(endpoint);
    else this.#user.answerError(502);
  }

  #upstreamBroke(failure: UpstreamFailure, slot: number, detail: string): void {
    if (failure !== 'cut') this.tries.watch?.failed();
    const status = countFailure(this.#world, failure, slot, this.tries.upstream, detail);
    const broke = failure === 'closed' || failure === 'cut';
    const byDefault = failure === 'refused' || failure === 'leaving' || (broke && isSafe(this.#sentMethod));
    this.#reroute(slot, status, byDefault && !this.#rerouted);
  }

  /**
   * A request that can be sent again goes elsewhere if `lb_retry_match` says so. Without it: once per exchange, a safe
   * one whose connection broke before the response (`byDefault`).
   */
  #reroute(slot: number, status: number, byDefault: boolean): void {
    this.#response.status = 0;
    const wanted = this.retryRules === null ? byDefault : this.retryRules.matchesFailure(this.#request);
    if (!wanted || !this.#body.isReplayable) {
      this.#user.answerError(status);
      return;
    }
    this.#rerouted = true;
    this.tries.reroute(slot, status);
  }

  get poolHash(): SectionHash {
    return this.tries.pool.section.hash;
  }

  sayGoodbye(): boolean {
    this.#tunnel?.close();
    return this.#tunnel !== null;
  }

  // --- tunnel -------------------------------------------------------------------------------------

  #switchProtocols(head: Head): void {
    const wanted = wantedUpgrade(this.#request.head);
    const protocol = head.joined(FIELD_UPGRADE, ', ').toLowerCase();
    const upstream = this.#upstream!;
    const { slot } = this.tries.endpoint!;
    if (wanted === '' || protocol !== wanted || !this.#body.complete) {
      this.leave();
      upstream.reset();
      this.#upstreamBroke('invalid', slot, switchFault(protocol, wanted));
      return;
    }
    const lines = `${this.#responseLines(head)}Connection: Upgrade\r\nUpgrade: ${head.known(FIELD_UPGRADE)}\r\n`;
    this.#response.begun = true;
    this.tries.watch?.answered(101);
    countResponse(this.#world, slot, 101, this.#request.affinity);
    const { serverRow } = this.#user;
    const { streamBufferBytes: bufferBytes } = this.#proxy;
    const limits = this.#proxy.streams ?? (this.tries.pool.section.saysGoodbye === true ? NO_LIMITS : null);
    const upgrade = { client: this.#client, upstream, protocol, lines, limits, bufferBytes, slot, serverRow };
    this.#tunnel = beginTunnel(this.#world, upgrade, (sentBytes) => {
      this.#response.sentBytes = sentBytes;
      this.#response.receivedBytes = sentBytes;
      this.leave();
      this.#user.finish('tunnel', 101);
    });
  }

  /** Done with the upstream, if there is one. */
  leave(): void {
    if (this.#upstream !== null) {
      // Until now all that the client got came from this one: an own answer begins after this.
      this.#world.facts.count(this.tries.endpoint!.slot, FACT_BYTES_RECEIVED, this.#response.receivedBytes);
      this.#response.receivedBytes = 0;
      this.#upstream = null;
    }
    this.tries.leave();
  }
}
