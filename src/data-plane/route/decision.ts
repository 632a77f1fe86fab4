/** What routing a request comes to. */
import type { PrefixSet } from '../../shared/net/cidr.ts';
import type { CompiledHeaderOps } from './header-ops.ts';
import type { CompiledRetryMatch } from './retry-match.ts';
import type { CompiledResponseOps, LeftForResponse } from './response-ops.ts';

export type Decision<Pool> = CompiledProxy<Pool> | RespondDecision | ErrorDecision | AbortDecision;

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
  /** `headersUp` reads `{http.reverse_proxy.…}`: apply it again for each try. */
  readonly usesProxyValues: boolean;
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

/** Let the error routes of the server answer; without any, a plain response with this status. */
export interface ErrorDecision {
  readonly kind: 'error';
  readonly status: number;
  /** Bytes. */
  readonly message: string;
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

/** What the handlers a request passed leave behind. The caller owns it and may use it again: `route` empties it. */
export interface RouteState extends LeftForResponse {
  /** Fields set before there is a response, see `LeftForResponse`. */
  readonly responseFields: string[];
  readonly responseOps: CompiledResponseOps[];
  /** Bytes of request body that may go upstream. */
  maxBodyBytes: number;
}

export function createRouteState(): RouteState {
  return { responseFields: [], responseOps: [], maxBodyBytes: Infinity };
}

export function clearRouteState(state: RouteState): void {
  empty(state.responseFields);
  empty(state.responseOps);
  state.maxBodyBytes = Infinity;
}

/** HOT. Writing a length costs more than the rest of a short route, and the list is nearly always empty. */
function empty(list: unknown[]): void {
  if (list.length > 0) list.length = 0;
}
