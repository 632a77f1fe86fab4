/** What an explanation says. Plain JSON: `POST /explain` and `explain --json` show it as it is. */
import type { HopVerdict } from '../../data-plane/client-ip/derive.ts';

export interface Explanation extends WalkExplanation {
  readonly request: { readonly method: string; readonly host: string; readonly target: string };
  readonly server: { readonly name: string; readonly listener: string; readonly note: string };
  readonly client: ClientExplanation;
}

/** The way through the routes. */
export interface WalkExplanation {
  /** Routes whose handlers ran, outer ones first; none: no site takes the request. */
  readonly routes: readonly RouteExplanation[];
  /** What could not be looked at and was taken for granted: sentences. */
  readonly assumed: readonly string[];
  /** What handlers on the way do to bodies: sentences. */
  readonly effects: readonly string[];
  readonly outcome: Outcome;
  /** What the error routes make of an error, or of a pool where nobody may be picked; null = neither, or there are none. */
  readonly onError: ErrorExplanation | null;
}

export interface ErrorExplanation extends Omit<WalkExplanation, 'onError'> {
  readonly status: number;
  readonly message: string;
}

/** The same for a connection or session of layer 4. */
export interface FlowExplanation {
  /** `address` as asked: `[host]:port`. */
  readonly flow: { readonly network: 'tcp' | 'udp'; readonly address: string };
  readonly server: { readonly name: string; readonly listener: string };
  readonly client: { readonly address: string; readonly port: number };
  /** Routes that were asked, in that order: the last one takes it if it says yes. */
  readonly routes: readonly FlowRouteExplanation[];
  /** What could not be looked at and was taken for granted: sentences. */
  readonly assumed: readonly string[];
  readonly outcome: FlowOutcome;
}

export interface FlowRouteExplanation {
  /** Where the route was written. */
  readonly place: string;
  /** Its conditions in words; 'always' without any. */
  readonly matched: string;
  /** open: with the bytes there are it cannot be said. */
  readonly answer: 'yes' | 'no' | 'open';
}

export type FlowOutcome =
  | { readonly kind: 'proxy'; readonly proxy: ProxyExplanation }
  | { readonly kind: 'close' | 'echo' }
  /** No route takes it: a connection is reset, a datagram dropped. */
  | { readonly kind: 'none' };

export interface ClientExplanation {
  readonly peer: string;
  /** The derived client address. */
  readonly address: string;
  /** The peer is a trusted proxy of the server. */
  readonly trusted: boolean;
  /** The header that names the client; '' when none of `client_ip_headers` came. */
  readonly header: string;
  /** Entries of it that were looked at, the right-most first. */
  readonly hops: readonly HopVerdict[];
  readonly why: string;
}

export interface RouteExplanation {
  /** Where the site was written (`Caddyfile:7`), '' for a route inside it. */
  readonly place: string;
  /** Its conditions in words; 'always' without any. */
  readonly matched: string;
}

export type Outcome =
  | { readonly kind: 'proxy'; readonly proxy: ProxyExplanation }
  /** An answer of our own. */
  | { readonly kind: 'respond'; readonly status: number; readonly fields: readonly string[]; readonly body: string }
  /** `onError` says what the error routes of the server answer; without any, a plain response. */
  | { readonly kind: 'error'; readonly status: number; readonly message: string }
  /** The control plane answers with the metrics. */
  | { readonly kind: 'metrics' }
  /** The connection is dropped. */
  | { readonly kind: 'abort' }
  /** No handler answers: 200 with nothing in it. */
  | { readonly kind: 'empty' };

export interface ProxyExplanation {
  /** Short hash of the pool, as `GET /upstreams` shows it. */
  readonly pool: string;
  readonly policy: string;
  /** Members of the pool. */
  readonly size: number;
  /** How the policy came to its pick. */
  readonly steps: readonly string[];
  /** The first members of the pool, in configured order. */
  readonly members: readonly MemberExplanation[];
  /** null: nobody may be picked, the client gets a 503. */
  readonly picked: MemberExplanation | null;
  /** Address that is dialled, '' while its name is not resolved. */
  readonly endpoint: string;
  /** `hit`, `new`, `moved` or '' as in the access log. */
  readonly affinity: string;
  /** Upstreams in the order they would be tried after the picked one failed to answer the dial. */
  readonly next: readonly string[];
  /** What goes upstream: the request line, then header lines. */
  readonly sent: readonly string[];
  /** Set-Cookie of the affinity cookie, its value left out; '' = none is set. */
  readonly cookie: string;
}

export interface MemberExplanation {
  readonly position: number;
  readonly upstream: string;
  /** `eligible`, `down`, `not proven yet`, `draining`, `in maintenance`. */
  readonly state: string;
  /** Why it is not eligible; ''. */
  readonly why: string;
  /** Of a pool found in DNS: found there, and not in the config. Absent for other pools. */
  readonly found?: boolean;
}
