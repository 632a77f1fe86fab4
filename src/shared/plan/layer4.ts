/**
 * Layer 4 in a plan: servers that balance TCP connections and UDP sessions. Pools are those of HTTP
 * (`PoolSection`): the same policies, hash, members and checks.
 */
import type { TlsPolicyPlan } from './tls.ts';
import type { ConnectionLimits, SectionHash, ServerIndex } from './types.ts';

export interface Layer4ServerPlan {
  /** Name in `apps.layer4.servers`. */
  readonly name: string;
  readonly row: ServerIndex;
  readonly network: 'tcp' | 'udp';
  /** Keys of its listeners, see `ListenerSpec.key`. */
  readonly listeners: readonly string[];
  /** Its `Layer4Section`. */
  readonly section: SectionHash;
  readonly options: Layer4Options;
}

export interface Layer4Options {
  /** A connection or session without a byte in either direction ends. Default 900 000 for TCP, 20 000 for UDP. */
  readonly idleTimeoutMs: number;
  /** Until the first bytes let a route be chosen. Default 3000. */
  readonly matchingTimeoutMs: number;
  /** TCP connections or UDP sessions at the same time; null = any number (TCP). */
  readonly limits: ConnectionLimits | null;
  /** New connections or sessions a second, all workers together; 0 = any number (default). */
  readonly newPerSecond: number;
  /** UDP only. */
  readonly udp: UdpOptions | null;
}

export interface UdpOptions {
  /** one (default): one worker owns the listener. all: every worker has a socket of its own (`workers all`). */
  readonly workers: 'one' | 'all';
  /** Sessions of one listener at the same time; beyond it one that was silent long makes room. Default 65 536. */
  readonly maxSessions: number;
  /** SO_RCVBUF asked for. Default 4 MiB. */
  readonly receiveBufferBytes: number;
  /** A session ends when each datagram of its client has been answered by so many (DNS: 1); 0 = any number (default). */
  readonly responses: number;
}

/** What a layer-4 server does with a connection or session. */
export interface Layer4Section {
  readonly kind: 'layer4';
  readonly hash: SectionHash;
  readonly routes: readonly Layer4RoutePlan[];
  /** Hashes of the pools its `proxy` handlers name. */
  readonly pools: readonly SectionHash[];
}

/** The first route of which a matcher set holds (or that has none) handles the connection. */
export interface Layer4RoutePlan {
  /** OR of ANDs. Empty = always. */
  readonly match: readonly Layer4MatcherSetPlan[];
  /** Run in order; the last one ends the route (`proxy`, `close`, `echo`, `subroute`). */
  readonly handle: readonly Layer4HandlerPlan[];
}

export type Layer4MatcherSetPlan = readonly Layer4MatcherPlan[];

export type Layer4MatcherPlan =
  /** Of the client: after a PROXY header its address, else the peer. */
  | { readonly kind: 'remote_ip'; readonly ranges: readonly string[] }
  /** The first bytes are a TLS ClientHello; names may hold `*` for one label. Empty lists = any. */
  | { readonly kind: 'tls'; readonly sni: readonly string[]; readonly alpn: readonly string[] }
  /** The first bytes are the head of an HTTP/1 request (or an HTTP/2 preface); hosts may hold wildcards. */
  | {
      readonly kind: 'http';
      readonly hosts: readonly string[];
      readonly paths: readonly string[];
      readonly methods: readonly string[];
    }
  /** The first bytes are `SSH-`. */
  | { readonly kind: 'ssh' }
  | { readonly kind: 'not'; readonly sets: readonly Layer4MatcherSetPlan[] };

export type Layer4HandlerPlan =
  | Layer4ProxyPlan
  | Layer4TlsPlan
  /** The connection begins with a PROXY header (v1 or v2), if the peer is one of `allow`. */
  | Layer4ProxyProtocolPlan
  | { readonly handler: 'subroute'; readonly routes: readonly Layer4RoutePlan[] }
  | { readonly handler: 'close' }
  | { readonly handler: 'echo' };

/** Ends TLS; what follows sees the bytes inside. */
export interface Layer4TlsPlan {
  readonly handler: 'tls';
  /** The first one whose names match the ClientHello decides. At least one. */
  readonly policies: readonly TlsPolicyPlan[];
  /** Until the end of the handshake. Default 10 000. */
  readonly handshakeTimeoutMs: number;
  /** As in `TlsPlan`. */
  readonly asks?: 'challenges' | 'all';
}

export interface Layer4ProxyPlan {
  readonly handler: 'proxy';
  readonly pool: SectionHash;
  /** UDP: PROXY v2 goes in front of every datagram (default) or of the first one. */
  readonly proxyHeaderOn: 'each' | 'first';
  /** TCP: what the PROXY v2 header says besides addresses; absent = nothing. */
  readonly proxyTlvs?: readonly ProxyTlvPlan[];
}

export type ProxyTlvPlan =
  /**
   * A checksum; the name that the client's ClientHello asks for, if it is known; an id of the connection's own; the TLS
   * that was ended here.
   */
  | { readonly kind: 'crc32c' | 'authority' | 'unique_id' | 'ssl' }
  /** `type` 1 … 255; `value` latin1. */
  | { readonly kind: 'fixed'; readonly type: number; readonly value: string };

interface Layer4ProxyProtocolPlan {
  readonly handler: 'proxy_protocol';
  /** CIDR prefixes that send a header; empty = every peer. */
  readonly allow: readonly string[];
  /** Until the whole header is here. Default 5000. */
  readonly timeoutMs: number;
}
