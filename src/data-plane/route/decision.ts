/** What routing a request comes to. */
import type { PrefixSet } from '../../shared/net/cidr.ts';
import type { StreamPlan } from '../../shared/plan/streams.ts';
import type { CompiledEncoding } from './encode.ts';
import type { CompiledHeaderOps } from './header-ops.ts';
import type { CompiledRetryMatch } from './retry-match.ts';
import type { CompiledHandleResponse, Resume, UpstreamAnswer } from './handle-response.ts';
import type { CompiledResponseOps, LeftForResponse } from './response-ops.ts';
import type { RequestView } from './request-view.ts';
import type { Rewrite } from './rewrite.ts';
import type { Errand, ErrandResult } from './wait.ts';

export type Decision<Pool> =
  | CompiledProxy<Pool>
  | RespondDecision
  | CopyDecision
  | ErrorDecision
  | AbortDecision
  | WaitDecision;

/** Hand the request to an upstream of `pool`. The same object for every request of the handler. */
export interface CompiledProxy<Pool> {
  readonly kind: 'proxy';
  readonly pool: Pool;
  /** Run on what goes upstream. */
  readonly headersUp: CompiledHeaderOps | null;
  /** Passed to `finishProxiedFields`. */
  readonly headersDown: CompiledResponseOps | null;
  /** Peers whose X-Forwarded-* this handler believes besides the server's trusted proxies; null = none. */
  readonly trusted: PrefixSet | null;
  /** Replaces the default rules for tries that failed; null = those. */
  readonly retryOn: CompiledRetryMatch | null;
  /** Bytes of a request body that are read before an upstream is asked, and kept; 0 = none. */
  readonly requestBufferBytes: number;
  /** Bytes of a response body that are read before the client gets its head; 0 = none. */
  readonly responseBufferBytes: number;
  /** `handle_response`, `replace_status`; null = responses go to the client as they are. */
  readonly handleResponse: CompiledHandleResponse<Pool> | null;
  /** Changes the request line that goes upstream; null = nothing does. */
  readonly rewrite: Rewrite | null;
  /** Bytes that may wait for either side of a tunnel besides what its socket takes. */
  readonly streamBufferBytes: number;
  /** Limits for tunnels; null = none. */
  readonly streams: CompiledStreams | null;
  /** `headersUp` reads `{http.reverse_proxy.…}`: apply it again for each try. */
  readonly usesProxyValues: boolean;
}

export interface CompiledStreams extends StreamPlan {
  /** What the handler is, in full: a generation that has one with the same key keeps its tunnels. */
  readonly key: string;
}

/** Answer it ourselves. Finish the fields with `finishOwnFields`. */
export interface RespondDecision {
  readonly kind: 'respond';
  readonly status: number;
  /** Alternating names and values (bytes). */
  readonly fields: readonly string[];
  /** Text, to be sent as UTF-8. */
  readonly body: string;
  /** Close the connection afterwards. */
  readonly close: boolean;
}

/** `copy_response`: the client gets the response of the upstream. Only made while there is one. */
export interface CopyDecision {
  readonly kind: 'copy';
  /** 0 = that of the upstream. */
  readonly status: number;
}

/** Let the error routes of the server answer; without any, a plain response with this status. */
export interface ErrorDecision {
  readonly kind: 'error';
  readonly status: number;
  /** Bytes. */
  readonly message: string;
}

/** Do the errand, then call `resumeRoutes`. Another object for each request. */
export interface WaitDecision {
  readonly kind: 'wait';
  readonly errand: Errand;
  /** What the handler makes of the result; null = go on with what stands behind it. */
  finish(
    result: ErrandResult,
    request: RequestView,
    state: RouteState,
  ): RespondDecision | ErrorDecision | CompiledProxy<never> | null;
}

/** Drop the connection without a response. */
export interface AbortDecision {
  readonly kind: 'abort';
}

export const ABORT: AbortDecision = Object.freeze({ kind: 'abort' });

/** What a request that no handler answers gets, as in Caddy: 200 and nothing. */
export const EMPTY_RESPONSE: RespondDecision = Object.freeze({
  kind: 'respond',
  status: 200,
  fields: Object.freeze([]),
  body: '',
  close: false,
});

/** Milliseconds; 0 = as the server has it. */
export interface ClientTimes {
  /** For the whole request body, counted from now. */
  readonly readMs: number;
  /** For the whole response, counted from its head. */
  readonly writeMs: number;
}

/** What the handlers a request passed leave behind. The caller owns it and may use it again: `route` empties it. */
export interface RouteState extends LeftForResponse {
  /** Fields set before there is a response, see `LeftForResponse`. */
  readonly responseFields: string[];
  readonly responseOps: CompiledResponseOps[];
  /** Bytes of request body that may go upstream. */
  maxBodyBytes: number;
  /** What goes upstream in the place of the client's body (bytes); null = that. */
  body: string | null;
  /** Times the client has for the body and for the response; null = those of the server. */
  times: ClientTimes | null;
  /** How the response is compressed where that makes sense; null = not at all. */
  encoding: CompiledEncoding | null;
  /** What runs behind a `reverse_proxy` with `handle_response` or a handler that waits, innermost list first; null = nothing was left out. */
  resume: Resume[] | null;
  /** The response `handle_response` is about; null outside of it. */
  answer: UpstreamAnswer | null;
}

export function createRouteState(): RouteState {
  return {
    responseFields: [],
    responseOps: [],
    maxBodyBytes: Infinity,
    body: null,
    times: null,
    encoding: null,
    resume: null,
    answer: null,
  };
}

export function clearRouteState(state: RouteState): void {
  empty(state.responseFields);
  empty(state.responseOps);
  state.maxBodyBytes = Infinity;
  state.body = null;
  state.times = null;
  state.encoding = null;
  state.resume = null;
  state.answer = null;
}

/** HOT. Writing a length costs more than the rest of a short route, and the list is nearly always empty. */
function empty(list: unknown[]): void {
  if (list.length > 0) list.length = 0;
}
