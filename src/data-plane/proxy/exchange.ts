/**
 * One request and its response: routed, answered by ourselves or by an upstream, counted once.
 *
 * It knows the client only through the narrow seam of sides.ts, and upstreams through the pass that asks them.
 */
import type { ServerIndex } from '../../shared/plan/types.ts';
import { LIMIT_REQUEST_BODY, SERVER_BYTES_IN, SERVER_LIMITS } from '../../shared/state-table/layout.ts';
import { describeRule, faultName } from '../http1/errors.ts';
import type { Head } from '../http1/head.ts';
import type { Pool } from '../pool/pool.ts';
import {
  createRouteState,
  EMPTY_RESPONSE,
  type CompiledProxy,
  type Decision,
  type RouteState,
  type WaitDecision,
} from '../route/decision.ts';
import type { CompiledEncoding } from '../route/encode.ts';
import { announceBody } from '../route/request-body.ts';
import type { LeftForResponse } from '../route/response-ops.ts';
import { resumeRoutes } from '../route/wait.ts';
import type { Generation, HttpServer } from '../server.ts';
import type { World } from '../world.ts';
import { writeAccessLines } from './access-record.ts';
import { exchangeBegan, exchangeLeft, type ExchangeOutcome } from './counting.ts';
import { errorSentence } from './error-response.ts';
import { routeError } from './error-route.ts';
import { plainError, respondedWith, type OwnResponse } from './own-response.ts';
import { ProxyPass, type PassUser } from './proxy-pass.ts';
import { proxyValue } from './proxy-values.ts';
import { RequestFacts, type ConnectionFacts } from './request-facts.ts';
import { RequestRelay } from './request-relay.ts';
import { ResponseRelay, type RelayUser } from './response-relay.ts';
import { NO_RETRY_FACTS } from './retry-rules.ts';
import type { ClientSide } from './sides.ts';
import { answerValue } from './upstream-answer.ts';

/** Status of the log for a client that went away before its response began; never sent. */
const STATUS_CLIENT_GONE = 499;
const NO_FIELDS: readonly string[] = Object.freeze([]);

export class Exchange extends RequestFacts implements PassUser, RelayUser {
  over = false;
  starting = false;
  left: LeftForResponse | null = null;
  encoding: CompiledEncoding | null = null;
  readonly clientSide: ClientSide;
  readonly body: RequestRelay;
  readonly response: ResponseRelay;
  readonly startedAt: number;
  readonly #world: World;
  readonly #server: HttpServer;
  readonly #generation: Generation;
  /** The one that runs, or ran last; null for a request we answer ourselves. */
  #pass: ProxyPass | null = null;
  /** What the routes wait for; null = nothing. */
  #wait: WaitDecision | null = null;

  constructor(
    world: World,
    client: ClientSide & ConnectionFacts,
    server: HttpServer,
    generation: Generation,
    head: Head,
  ) {
    super(world, client, server, head);
    this.#world = world;
    this.clientSide = client;
    this.#server = server;
    this.#generation = generation;
    this.startedAt = world.clock.now();
    this.body = new RequestRelay(head);
    this.response = new ResponseRelay(client, this);
    exchangeBegan(world, server, generation);
  }

  get serverRow(): ServerIndex {
    return this.#server.row;
  }

  proxyValue(name: string): string | undefined {
    const pass = this.#pass;
    const answer = pass?.answer ?? null;
    const answered = answer === null ? undefined : answerValue(name, answer);
    if (answered !== undefined) return answered;
    return proxyValue(name, {
      upstream: pass?.tries.upstream ?? '',
      endpoint: pass?.tries.endpoint ?? null,
      affinity: this.affinity,
      attempts: pass?.tries.attempts ?? 0,
      status: this.response.status,
      durationMs: this.#world.clock.now() - this.startedAt,
      retry: pass?.retryRules ?? NO_RETRY_FACTS,
    });
  }

  protected believesPeer(): boolean {
    return this.#pass === null ? this.trusted : this.#pass.believesPeer;
  }

  // --- answers ------------------------------------------------------------------------------------

  start(): void {
    const state = createRouteState();
    const decision = this.#server.router.route(this, state) ?? EMPTY_RESPONSE;
    this.starting = true;
    this.follow(decision, state);
    this.starting = false;
  }

  follow(decision: Decision<Pool>, state: RouteState): void {
    if (state.responseOps.length > 0 || state.responseFields.length > 0) this.left = state;
    this.encoding = state.encoding;
    if (state.times !== null) {
      this.clientSide.limitTimes(state.times);
      // Routes that go on later must not begin to count again.
      state.times = null;
    }
    if (decision.kind === 'proxy') {
      this.#proxy(decision, state);
    } else if (decision.kind === 'respond') {
      if (decision.close) this.clientSide.closeAfter();
      this.#send(respondedWith(decision, this.left, this, this.encoding));
    } else if (decision.kind === 'error') {
      this.answerError(decision.status, decision.message);
    } else if (decision.kind === 'wait') {
      this.#await(decision, state);
    } else {
      this.clientSide.reset();
      this.finish('aborted', STATUS_CLIENT_GONE);
    }
  }

  /** The routes go on when the result is there, unless the client has gone or was answered meanwhile. */
  #await(wait: WaitDecision, state: RouteState): void {
    this.#wait = wait;
    this.#world.errands.run(wait.errand, (result) => {
      if (this.over || this.#wait !== wait) return;
      this.#wait = null;
      if (this.body.isFull) this.clientSide.resume();
      const decision = resumeRoutes<Pool>(wait, result, this, state) ?? EMPTY_RESPONSE;
      // Error routes that fail themselves: their error counts.
      if (decision.kind === 'error' && this.notes !== null && this.notes.error !== null) this.notes.error = decision;
      if (decision.kind === 'proxy' && this.body.isLost) this.answerError(502);
      else this.follow(decision, state);
    });
  }

  #proxy(proxy: CompiledProxy<Pool>, state: RouteState): void {
    this.body.maxBytes = Math.min(this.body.maxBytes, state.maxBodyBytes);
    const isTooLarge = this.head.contentLength > this.body.maxBytes || !this.body.admits(0);
    // One that goes nowhere is not limited, nor is what `set` put in its place.
    if (isTooLarge && !this.body.dropped) {
      this.#refuseBody();
      return;
    }
    if (state.body !== null) this.#replaceBody(Buffer.from(state.body, 'latin1'));
    state.body = null;
    this.#pass = new ProxyPass(this.#world, this, this, proxy, state, this.#pass);
    this.#pass.start();
  }

  #replaceBody(body: Buffer): void {
    announceBody(this, body.length);
    this.body.replace(this.head, body);
  }

  /** `sentence`: what the client reads when no route answers. */
  answerError(status: number, message: string = errorSentence(status), sentence: string = errorSentence(status)): void {
    const { errorRouter } = this.#server;
    // What goes wrong on the way to an error page is answered plainly.
    const isFirst = (this.notes?.error ?? null) === null;
    const fields = this.left?.responseFields ?? NO_FIELDS;
    const answer = errorRouter !== null && isFirst ? routeError(errorRouter, this, { status, message }, fields) : null;
    if (answer !== null && !(answer.decision.kind === 'proxy' && this.body.isLost)) {
      this.follow(answer.decision, answer.state);
      return;
    }
    const plain = isFirst ? (this.notes?.error?.status ?? status) : status;
    const text = plain === status ? sentence : errorSentence(plain);
    this.#send(plainError(plain, this.left, this.#world.clock.wall(), this, text));
  }

  #send(own: OwnResponse): void {
    this.response.own(own, this.head.method);
  }

  // --- client -------------------------------------------------------------------------------------

  onRequestBody(buffer: Buffer, start: number, end: number): void {
    if (this.over || start === end) return;
    this.#world.servers.count(this.#server.row, SERVER_BYTES_IN, end - start);
    if (this.response.ending) return;
    if (!this.body.admits(end - start)) this.#refuseBody();
    else if (this.body.dropped) return;
    else if (this.#pass !== null) this.#pass.onRequestBody(buffer, start, end);
    else if (this.#wait !== null) this.#keepBody(buffer, start, end);
  }

  #keepBody(buffer: Buffer, start: number, end: number): void {
    this.body.keep(buffer, start, end);
    if (this.body.isFull) this.clientSide.pause();
  }

  onRequestEnd(trailers: string): void {
    if (this.over || this.body.dropped) return;
    this.body.ended(trailers);
    this.#pass?.onRequestEnd();
  }

  /** The bytes of one read of the client were handed over. */
  onRequestTurn(): void {
    this.#pass?.onRequestTurn();
  }

  #refuseBody(): void {
    this.#world.servers.count(this.#server.row, SERVER_LIMITS + LIMIT_REQUEST_BODY, 1);
    this.onRequestFailed(413);
  }

  /** The request body is broken (400), does not come (408), is too large (413) or is not taken by the upstream (504). */
  onRequestFailed(status: number, fault: number = 0): void {
    // A response that is only on its way out goes on: the connection ends behind it.
    if (this.over || this.response.ending) return;
    if (status === 504) this.#pass?.notTaken();
    this.body.buffering = false;
    this.body.broken = true;
    this.#wait = null;
    this.#pass?.abandon();
    if (!this.response.begun) {
      const sentence = errorSentence(status, fault === 0 ? '' : describeRule(fault));
      this.fault = fault === 0 ? '' : faultName(fault);
      this.answerError(status, sentence, sentence);
      return;
    }
    this.clientSide.reset();
    this.finish('aborted', this.response.status);
  }

  onClientDrain(): void {
    this.response.onClientDrain();
  }

  onClientGone(): void {
    if (this.over) return;
    this.#pass?.abandon();
    this.finish('aborted', this.response.begun ? this.response.status : STATUS_CLIENT_GONE);
  }

  // --- response -----------------------------------------------------------------------------------

  onResponseDrain(): void {
    this.#pass?.resume();
  }

  onResponseSent(trailers: string): void {
    if (this.over) return;
    this.finish('answered', this.response.status);
    this.clientSide.sendEnd(trailers);
  }

  onResponseBroken(): void {
    if (this.over) return;
    this.#pass?.abandon();
    this.clientSide.reset();
    this.finish('cut', this.response.status);
  }

  // --- end ----------------------------------------------------------------------------------------

  finish(outcome: ExchangeOutcome, status: number): void {
    if (this.over) return;
    this.over = true;
    const { sentBytes } = this.response;
    const durationMs = this.#world.clock.now() - this.startedAt;
    exchangeLeft(this.#world, this.#server, this.#generation, outcome, status, durationMs, sentBytes);
    if (!this.logSkipped) {
      const tries = this.#pass?.tries ?? null;
      writeAccessLines(this.#world, this.#server, this, tries, status, sentBytes, durationMs);
    }
    this.body.forget();
    this.response.close();
    this.#world.giveHead(this.head);
  }
}
