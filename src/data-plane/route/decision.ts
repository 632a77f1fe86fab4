/** What routing a request comes to. */
import type { PrefixSet } from '../../shared/net/cidr.ts';
import type { CompiledHeaderOps, CompiledResponseOps } from './header-ops.ts';

export type Decision<Pool> = CompiledProxy<Pool> | RespondDecision | AbortDecision;

/** Hand the request to an upstream of `pool`. The same object for every request of the handler. */
export interface CompiledProxy<Pool> {
  readonly kind: 'proxy';
  readonly pool: Pool;
  /** Run on what goes upstream, behind `RouteState.requestOps`. */
  readonly headersUp: CompiledHeaderOps | null;
  /** Run on the upstream's response, before `RouteState.responseOps`. */
  readonly headersDown: CompiledResponseOps | null;
  /** Peers whose X-Forwarded-* this handler believes besides the server's trusted proxies; null = none. */
  readonly trusted: PrefixSet | null;
  /** `headersUp` reads `{http.reverse_proxy.…}`: apply it again for each try. */
  readonly usesProxyValues: boolean;
}

/** Answer it ourselves. Made for one request: the caller may change `fields`. */
export interface RespondDecision {
  readonly kind: 'respond';
  readonly status: number;
  /** Alternating names and values (bytes). `RouteState.responseOps` are still to run. */
  readonly fields: string[];
  /** Text, to be sent as UTF-8. */
  readonly body: string;
  /** Close the connection afterwards. */
  readonly close: boolean;
}

/** Drop the connection without a response. */
export interface AbortDecision {
  readonly kind: 'abort';
}

export const ABORT: AbortDecision = Object.freeze({ kind: 'abort' });

/** What the handlers a request passed leave behind. The caller owns it and may use it again: `route` empties it. */
export interface RouteState {
  /** Operations on what goes upstream, in the order they are to run. */
  readonly requestOps: CompiledHeaderOps[];
  /** Operations on the response, whoever makes it, in the order they are to run. */
  readonly responseOps: CompiledResponseOps[];
  /** Scratch of `route`: fields set before there is a response. */
  earlyFields?: string[];
}
