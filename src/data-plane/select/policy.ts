/**
 * What a selection policy is. PURE: no I/O, no clock, no chance except as arguments, so that the
 * control plane can call the very same functions for `explain` and `simulate`.
 *
 * A policy answers `pick` (which member), `answered` (what to tell the client once a member has
 * answered) and `explain` (why). In-flight counting belongs to the exchange, which adds to and
 * takes from the facts row of the endpoint it uses.
 */
import type { IpAddress } from '../../shared/net/ip.ts';
import type { Random } from '../../shared/random.ts';

/** The pool a policy picks from. Positions are places in the configured order, 0 … size − 1. */
export interface PoolView {
  readonly size: number;
  /** One of the MEMBER_* states of `state-table/layout.ts`. */
  state(position: number): number;
  /** Exchanges and tunnels running on the member, all workers together. */
  load(position: number): number;
  weight(position: number): number;
  /** All weights at once; another object as soon as one of them may have changed. */
  weightTable(): WeightTable;
  /** Takes the next ticket of the pool's shared rotation (uint32, wraps). */
  nextTicket(): number;
  /** Configured text without scheme and default port: what affinity is bound to. */
  identity(position: number): string;
}

export interface WeightTable {
  /** By position, relative to each other. */
  readonly values: readonly number[];
  /** The largest of them; 0 for an empty pool. At most 1: nobody is preferred. */
  readonly max: number;
}

/** What became of the client's affinity in this exchange; '' when the policy has none. */
export type Affinity = '' | 'hit' | 'new' | 'moved';

/** A connection or session of layer 4, beyond its client's address. */
export interface FlowFacts {
  readonly peerPort: number;
  /** Where it came in; '' = a Unix socket. */
  readonly localAddress: string;
  readonly localPort: number;
  /** Hash of the connection id that a QUIC client made up for a new connection, −1 = its first datagram has none. */
  readonly connectionHash: number;
  /** The member that the first datagram's connection id was given out by, −1 = it is not known. */
  readonly knownPosition: number;
}

/** One exchange, as a policy sees it. Lives as long as the exchange; `pick` may be called again for a retry. */
export interface PickRequest {
  /** The derived client address; null when the peer has none. */
  readonly client: IpAddress | null;
  /** null for a request. */
  readonly flow: FlowFacts | null;
  /** All Cookie lines joined with '; ', '' when there is none. */
  readonly cookies: string;
  /** The client side is TLS: our own, or by a trusted proxy's X-Forwarded-Proto. */
  readonly secure: boolean;
  /** Request target as it goes upstream. */
  readonly target: string;
  /** Value of the first line of a field (lower-case name), the authority for `host`; '' when there is none. */
  headerValue(name: string): string;
  /** Decoded values of a query key of the target, joined with commas; '' when there is none. */
  queryValue(key: string): string;
  /** Wall-clock milliseconds. */
  readonly wallMs: number;
  readonly random: Random;
  /** Positions already tried in this exchange: never picked again by it. Empty on the first try. */
  readonly tried: readonly number[];
  /** Written by policies with affinity. */
  affinity: Affinity;
  /** Scratch of the policy between `pick` and `answered`: the position the client's token named, −1 = none. */
  stickyPosition: number;
  /** Scratch: what `answered` has to do with the token. */
  stickyAction: StickyAction;
  /** Written by `pick`: the member that would have been picked without `balance_factor`, −1 = that same one. */
  spilledFrom: number;
}

/** keep: say nothing. issue: hand out a token for whoever answers. renew: same member, fresh token. */
export type StickyAction = 'keep' | 'issue' | 'renew';

export interface Policy {
  readonly name: string;
  /** The position to use, or −1 when no member is eligible. */
  pick(pool: PoolView, request: PickRequest): number;
  /** The Set-Cookie value to add to the response of the member that finally answered, '' for none. */
  answered(pool: PoolView, request: PickRequest, position: number): string;
  /** Human sentences: key, hash, candidates, choice. */
  explain(pool: PoolView, request: PickRequest): readonly string[];
}
