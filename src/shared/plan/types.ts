/**
 * The plan: what a worker runs. It is made by the control plane from a finished config, frozen, and
 * structured-cloned to every worker. It holds only plain data; workers compile it to functions.
 *
 * A plan is a small manifest plus *sections* keyed by the hash of their content. A section with the
 * same hash in two generations is an unchanged route: its streams, pools and counters go on.
 */

import type { Layer4Section, Layer4ServerPlan } from './layer4.ts';
import type { ProxyHeaderPlan } from './proxy-header.ts';
import type { StreamPlan } from './streams.ts';
import type { TlsPlan } from './tls.ts';
import type { UpstreamTlsPlan } from './upstream-tls.ts';

/** Row numbers in the state table. */
export type SlotIndex = number;
type CheckIndex = number;
type MemberIndex = number;
type PoolIndex = number;
export type ServerIndex = number;

/** Hex SHA-256 (first 32 digits) over the canonical JSON of a section's content. */
export type SectionHash = string;

export interface PlanManifest {
  readonly generation: number;
  readonly servers: readonly ServerPlan[];
  readonly layer4: readonly Layer4ServerPlan[];
  /** Every section this generation names. */
  readonly sections: readonly SectionHash[];
}

export interface ServerPlan {
  /** Caddy's server name: `srv0`, … */
  readonly name: string;
  readonly row: ServerIndex;
  /** Keys of the listeners whose connections this server takes, see `ListenerSpec.key`. */
  readonly listeners: readonly string[];
  /** Hashes of the site sections, in routing order. */
  readonly sites: readonly SectionHash[];
  /** Hashes of the site sections that answer errors (`handle_errors`), in routing order. */
  readonly errorSites: readonly SectionHash[];
  readonly options: HttpServerOptions;
  /** absent = all its listeners are plain HTTP. */
  readonly tls?: TlsPlan;
}

export interface HttpServerOptions {
  /** CIDR prefixes whose forwarding headers are believed (`trusted_proxies static …`). */
  readonly trustedProxies: readonly string[];
  /** Header names searched for the client address, in order. Default `X-Forwarded-For`. */
  readonly clientIpHeaders: readonly string[];
  /** From the first byte of a request to the end of its head. Default 60 000. */
  readonly readHeaderTimeoutMs: number;
  /** Keep-alive connection without a request. Default 300 000. */
  readonly idleTimeoutMs: number;
  /** A request body that stands still. Default 60 000. */
  readonly readBodyIdleTimeoutMs: number;
  /** A response the client does not read. Default 60 000. */
  readonly writeIdleTimeoutMs: number;
  /** Total time for a request body; 0 = no limit (default). */
  readonly readBodyTimeoutMs: number;
  /** Total time for writing a response; 0 = no limit (default). */
  readonly writeTimeoutMs: number;
  /** Bytes of the request head, request line included. Default 16 384. */
  readonly maxHeaderBytes: number;
  /** Field lines of a request head. Default 200. */
  readonly maxHeaderFields: number;
  /** The connection ends after this many requests; 0 = no limit (default). */
  readonly maxRequestsPerConnection: number;
  /** HTTP/2 requests at the same time on a connection; absent = 250. */
  readonly streamsPerConnection?: number;
  /** HTTP/2 without TLS is taken too; absent = it is not. */
  readonly h2c?: true;
  /** PROXY headers of clients; absent = none are looked for. */
  readonly proxyHeader?: ProxyHeaderPlan;
  /** null = any number of connections. */
  readonly connectionLimits: ConnectionLimits | null;
  /** Which requests of this server leave access lines, and where; null when no site logs. */
  readonly accessLog: AccessLogPlan | null;
}

/** 0 = no limit. */
export interface ConnectionLimits {
  /** All workers together. */
  readonly total: number;
  /** From one IPv4 address or IPv6 /64, in each worker. */
  readonly perSource: number;
}

/** Where lines are written: `stderr`, `stdout`, `file/<path>` or `net/<address>`. */
export type AccessSink = string;

/** What one logger does with access lines. */
export interface AccessOutput {
  readonly sink: AccessSink;
  readonly format: 'json' | 'console';
  /** Run in order. */
  readonly filters: readonly AccessFilterPlan[];
  /** Only requests with a status of 500 or more leave a line. */
  readonly errorsOnly: boolean;
  /** null = every line is written. */
  readonly sampling: SamplingPlan | null;
}

/** A change to one field of an access line. */
export type AccessFilterPlan =
  | { readonly field: string; readonly filter: 'delete' | 'hash' }
  | { readonly field: string; readonly filter: 'replace'; readonly value: string }
  | { readonly field: string; readonly filter: 'rename'; readonly name: string }
  /** Prefix lengths that stay. */
  | { readonly field: string; readonly filter: 'ip_mask'; readonly ipv4: number; readonly ipv6: number }
  /** RE2 syntax. */
  | { readonly field: string; readonly filter: 'regexp'; readonly regexp: string; readonly value: string }
  | { readonly field: string; readonly filter: 'query'; readonly actions: readonly QueryActionPlan[] }
  /** A field more. */
  | { readonly field: string; readonly filter: 'append'; readonly value: string | number | boolean };

/** What is done to one parameter of a query. */
export interface QueryActionPlan {
  readonly type: 'replace' | 'hash' | 'delete';
  readonly parameter: string;
  /** With `replace`. */
  readonly value: string;
}

export interface SamplingPlan {
  readonly intervalMs: number;
  /** Lines of an interval that are written in any case. */
  readonly first: number;
  /** After them every so many-th; 0 = none. */
  readonly thereafter: number;
}

export interface AccessLogPlan {
  /** Outputs by host (lower case, no port); an empty list: requests of that host leave no line. */
  readonly hosts: Readonly<Record<string, readonly AccessOutput[]>>;
  /** Outputs for every other host. */
  readonly others: readonly AccessOutput[];
}

export type Section = PoolSection | SiteSection | Layer4Section;

/** One site: an outer route (hosts) and what stands inside it. */
export interface SiteSection {
  readonly kind: 'site';
  readonly hash: SectionHash;
  readonly route: RoutePlan;
  /** Hashes of the pools its `reverse_proxy` handlers name. */
  readonly pools: readonly SectionHash[];
}

/** A route: when one of `match` holds (or it is empty), `handle` runs in order. */
export interface RoutePlan {
  /** Matcher sets: OR of ANDs. Empty = always. */
  readonly match: readonly MatcherSetPlan[];
  readonly handle: readonly HandlerPlan[];
  /** Of the routes of one group in one list only the first that matches runs; '' = no group. */
  readonly group: string;
  /** No later route of the list runs when this one matched. */
  readonly terminal: boolean;
}

export type MatcherSetPlan = readonly MatcherPlan[];

export type MatcherPlan =
  | { readonly kind: 'host'; readonly hosts: readonly string[] }
  | { readonly kind: 'path'; readonly paths: readonly string[] }
  | { readonly kind: 'method'; readonly methods: readonly string[] }
  /** Key → accepted values; `*` = key present; null key list entry means absent. */
  | { readonly kind: 'query'; readonly query: Readonly<Record<string, readonly string[]>> }
  /** Field → accepted values with `*` wildcards; an empty list = present, null = absent. */
  | { readonly kind: 'header'; readonly header: Readonly<Record<string, readonly string[] | null>> }
  | { readonly kind: 'protocol'; readonly protocol: string }
  | { readonly kind: 'remote_ip'; readonly ranges: readonly string[] }
  | { readonly kind: 'client_ip'; readonly ranges: readonly string[] }
  /** A CEL expression (data-plane/cel). */
  | { readonly kind: 'expression'; readonly expression: string }
  | { readonly kind: 'path_regexp'; readonly regexp: RegexpPlan }
  /** Field → expression; every field must fit. */
  | { readonly kind: 'header_regexp'; readonly fields: Readonly<Record<string, RegexpPlan>> }
  /** Name of a variable, or a template in braces → accepted values (templates). */
  | { readonly kind: 'vars'; readonly vars: Readonly<Record<string, readonly string[]>> }
  | { readonly kind: 'vars_regexp'; readonly vars: Readonly<Record<string, RegexpPlan>> }
  /** In error routes: status codes, or classes as 1 to 9. */
  | { readonly kind: 'error_status'; readonly status: readonly number[] }
  | { readonly kind: 'not'; readonly sets: readonly MatcherSetPlan[] };

export interface RegexpPlan {
  /** Captures are read as `{http.regexp.<name>.<group>}`; '' = only as `{http.regexp.<group>}`. */
  readonly name: string;
  /** RE2 syntax. */
  readonly pattern: string;
}

export type HandlerPlan =
  | { readonly handler: 'subroute'; readonly routes: readonly RoutePlan[] }
  | StaticResponsePlan
  | HeadersPlan
  | RewritePlan
  | { readonly handler: 'vars'; readonly vars: Readonly<Record<string, string>> }
  | ErrorPlan
  | MapPlan
  | RequestBodyPlan
  | EncodePlan
  | CopyResponsePlan
  | CopyResponseHeadersPlan
  | AuthenticationPlan
  | MetricsPlan
  /** Answers challenges of ACME authorities. */
  | { readonly handler: 'acme_challenge' }
  | ReverseProxyPlan;

export interface StaticResponsePlan {
  readonly handler: 'static_response';
  /** A number or a template. '' (default): the status of the error in an error route, else 200. */
  readonly statusCode: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: string;
  /** Close the connection after the response. */
  readonly close: boolean;
  /** Drop the connection without a response. */
  readonly abort: boolean;
}

/** Leaves the routes; the error routes of the server answer. */
export interface ErrorPlan {
  readonly handler: 'error';
  /** Template; read as `{http.error.message}`. */
  readonly message: string;
  /** A number or a template. Default '500'. */
  readonly statusCode: string;
}

/** Placeholders of the config's own, whose values follow from that of `source`. */
export interface MapPlan {
  readonly handler: 'map';
  /** Template. */
  readonly source: string;
  /** Names without braces. */
  readonly destinations: readonly string[];
  /** The first that fits counts; a null output leaves the destination to the next ones. */
  readonly mappings: readonly MappingPlan[];
  /** Templates, one a destination; empty = none. */
  readonly defaults: readonly string[];
}

export interface MappingPlan {
  /** The whole value; not used when `inputRegexp` is there. */
  readonly input: string;
  /** RE2 syntax; '' when `input` counts. */
  readonly inputRegexp: string;
  readonly outputs: readonly (string | null)[];
}

export interface RequestBodyPlan {
  readonly handler: 'request_body';
  /** Bytes of a request body that goes upstream; 0 = any number. */
  readonly maxBytes: number;
  /** A template: what goes upstream in the place of the client's body; absent = that. */
  readonly body?: string;
  /** Milliseconds for the whole body, counted from here; absent = as the server has it. */
  readonly readTimeoutMs?: number;
  /** Milliseconds for the whole response, counted from its head; absent = as the server has it. */
  readonly writeTimeoutMs?: number;
}

/** `basic_auth`: only requests with a name and password of `accounts` go on. */
export interface AuthenticationPlan {
  readonly handler: 'authentication';
  /** Shown by browsers. Default `restricted`. */
  readonly realm: string;
  /** `hash`: bcrypt (`$2…`) or argon2id (`$argon2id$…`). */
  readonly accounts: readonly { readonly username: string; readonly hash: string }[];
  /** A password that was checked is remembered for a while. */
  readonly cache: boolean;
}

/** Answers with the metrics of the process. */
interface MetricsPlan {
  readonly handler: 'metrics';
}

/** In `handle_response`: the response of the upstream goes to the client. */
export interface CopyResponsePlan {
  readonly handler: 'copy_response';
  /** A number or a template; '' (default) = the status of the upstream. */
  readonly statusCode: string;
}

/** `encode`: responses are compressed for clients that say they take it. */
export interface EncodePlan {
  readonly handler: 'encode';
  /** Preferred first. */
  readonly formats: readonly EncodingPlan[];
  /** Bytes; a body known to be shorter goes as it is. */
  readonly minBytes: number;
  readonly match: ResponseRequirePlan;
}

export interface EncodingPlan {
  readonly name: 'gzip' | 'zstd' | 'br';
  /** gzip 1 to 9, zstd 1 to 19, br 0 to 11. */
  readonly level: number;
}

/** In `handle_response`: fields of the upstream's response join whatever answers. Both lists empty = all of them. */
export interface CopyResponseHeadersPlan {
  readonly handler: 'copy_response_headers';
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

export interface HeadersPlan {
  readonly handler: 'headers';
  readonly request: HeaderOpsPlan | null;
  readonly response: ResponseHeaderOpsPlan | null;
}

/** Executed in this order: wildcard-all delete, add, set, delete, replace (Caddy HeaderOps). Values are templates. */
export interface HeaderOpsPlan {
  readonly add: readonly (readonly [field: string, values: readonly string[]])[];
  readonly set: readonly (readonly [field: string, values: readonly string[]])[];
  /** Field names; a leading or trailing `*` is a wildcard. */
  readonly delete: readonly string[];
  readonly replace: readonly (readonly [field: string, rules: readonly HeaderReplacePlan[]])[];
}

export interface HeaderReplacePlan {
  /** Plain substring; '' when `searchRegexp` is used. */
  readonly search: string;
  /** RE2 syntax; '' when `search` is used. */
  readonly searchRegexp: string;
  readonly replace: string;
}

export interface ResponseHeaderOpsPlan extends HeaderOpsPlan {
  /** Applied when the response head is known, instead of before the next handler runs. */
  readonly deferred: boolean;
  /** Applied only when the response fits: status codes (or classes 1…5) and header values; null = always. */
  readonly require: ResponseRequirePlan | null;
}

export interface ResponseRequirePlan {
  readonly status: readonly number[];
  readonly headers: Readonly<Record<string, readonly string[] | null>>;
}

export interface RewritePlan extends RewriteSteps {
  readonly handler: 'rewrite';
}

export interface RewriteSteps {
  readonly method: string;
  /** Template of the new request target; '' = unchanged. */
  readonly uri: string;
  readonly stripPathPrefix: string;
  readonly stripPathSuffix: string;
  readonly uriSubstring: readonly { readonly find: string; readonly replace: string; readonly limit: number }[];
  /** `find` is RE2 syntax, matched against the path with its escapes. */
  readonly pathRegexp: readonly { readonly find: string; readonly replace: string }[];
  /** Absent = none. */
  readonly query?: QueryOpsPlan;
}

/** Executed in this order. Keys and values are templates. */
export interface QueryOpsPlan {
  /** `value` is the new key. */
  readonly rename: readonly QueryPairPlan[];
  readonly set: readonly QueryPairPlan[];
  readonly add: readonly QueryPairPlan[];
  readonly replace: readonly QueryReplacePlan[];
  readonly delete: readonly string[];
}

export interface QueryPairPlan {
  readonly key: string;
  readonly value: string;
}

export interface QueryReplacePlan extends HeaderReplacePlan {
  /** `*` = every key. */
  readonly key: string;
}

export interface ReverseProxyPlan {
  readonly handler: 'reverse_proxy';
  readonly pool: SectionHash;
  /** Templates of the addresses of upstreams that requests name; the pool has no members then. Absent = those of the pool. */
  readonly addresses?: readonly string[];
  /** CIDR prefixes believed for X-Forwarded-* by this handler only. */
  readonly trustedProxies: readonly string[];
  /** `lb_retry_match`: which failed tries and which responses go to another upstream (OR of ANDs); empty = the default rules. */
  readonly retryMatch: readonly MatcherSetPlan[];
  /** Request bodies up to this size are read before an upstream is asked, and kept for further tries; 0 = none. */
  readonly requestBufferBytes: number;
  /** `response_buffers`: bytes of a response body that are read before the client gets its head; absent = none. */
  readonly responseBufferBytes?: number;
  /** `stream_buffer_size`: bytes that may wait for either side of a tunnel besides what its socket takes; absent = none. */
  readonly streamBufferBytes?: number;
  /** Changes the request line that goes upstream and nothing else; absent = none. */
  readonly rewrite?: RewriteSteps;
  /** Limits for tunnels; absent = none. */
  readonly streams?: StreamPlan;
  readonly headersUp: HeaderOpsPlan | null;
  readonly headersDown: ResponseHeaderOpsPlan | null;
  /** Of these the first that fits the response of an upstream is used; empty (default) = it goes to the client. */
  readonly handleResponse: readonly HandleResponsePlan[];
}

export interface HandleResponsePlan {
  /** null = every response. */
  readonly match: ResponseRequirePlan | null;
  /** A number or a template: only the status changes. '' = `routes` answer. */
  readonly statusCode: string;
  readonly routes: readonly RoutePlan[];
}

/** The upstreams of one handler, how one is picked, and how it is spoken to. */
export interface PoolSection {
  readonly kind: 'pool';
  readonly hash: SectionHash;
  readonly policy: PolicyPlan;
  readonly members: readonly MemberPlan[];
  readonly retry: RetryPlan;
  /** null = no passive checks. */
  readonly passive: PassivePlan | null;
  /** `lb_queue`; null = a request that finds a server full does not wait for it. */
  readonly queue: QueuePlan | null;
  readonly transport: TransportPlan;
  /** Its tunnels are followed, so that `drain` can end them with a close frame; absent = they are not. */
  readonly saysGoodbye?: true;
}

export interface MemberPlan {
  /** The configured text, as metrics and logs show it: `backend-1:3000`. */
  readonly upstream: string;
  /** What affinity is bound to: the configured text without scheme and default port. */
  readonly identity: string;
  /** Exchanges and tunnels at the same time, all workers together; absent = any number. */
  readonly maxRequests?: number;
}

export interface QueuePlan {
  /** Requests that may wait for one member, all workers together. */
  readonly limit: number;
  /** How long one waits before it is answered with 503. Default 10 000. */
  readonly timeoutMs: number;
}

export interface RetryPlan {
  /** Tries after the first; null = failover without options (each upstream once), 0 = off. */
  readonly retries: number | null;
  /** All tries together; null = one dial timeout more than a single try. */
  readonly tryDurationMs: number | null;
  /** Pause before an upstream is tried a second time. Default 250. */
  readonly tryIntervalMs: number;
}

/** Passive checks: what the traffic itself tells about a member. */
export interface PassivePlan {
  /** How long a member that failed stays away before a request tests it; older failures do not count. */
  readonly failDurationMs: number;
  /** Failures in a row that take a member away. Default 1. */
  readonly maxFails: number;
  /** Status codes, or 1 … 5 for a class, that count as failures besides broken tries. */
  readonly unhealthyStatus: readonly number[];
  /** A response head that takes this long counts as a failure; 0 = never. */
  readonly unhealthyLatencyMs: number;
  /** Share of failed requests in a window of `failDurationMs` that takes a member away, instead of `maxFails`; 0 = not used. */
  readonly failRatio: number;
  /** Requests a window must have before its share counts. */
  readonly minRequests: number;
  /** Layer 4: a server that was sent something and says nothing for so long has failed; absent = it may be silent. */
  readonly firstByteTimeoutMs?: number;
}

export interface TransportPlan {
  /** Default 3000. */
  readonly dialTimeoutMs: number;
  /** From the last byte of the request to the response head; 0 = none (default). */
  readonly responseHeaderTimeoutMs: number;
  /** Idle upstream connections are closed after this long. Default 120 000. */
  readonly keepAliveIdleMs: number;
  /** Idle connections kept per endpoint and worker; 0 = keep-alive off. Default 1024. */
  readonly maxIdlePerEndpoint: number;
  /** Bytes of a response head. Default 65 536. */
  readonly maxResponseHeaderBytes: number;
  /** Connections begin with a PROXY header of this version and carry one request; absent = none. */
  readonly proxyProtocol?: 'v1' | 'v2';
  /** IP address that connections are made from; absent = what the system picks. */
  readonly localAddress?: string;
  /** Open connections to one address, idle ones included, all workers together; absent = any number. */
  readonly maxConnections?: number;
  /** Longest silence of an upstream that owes a response, or the rest of one; absent = any. */
  readonly readTimeoutMs?: number;
  /** How long an upstream may take no bytes of a request; absent = any time. */
  readonly writeTimeoutMs?: number;
  /** Absent = in the clear. */
  readonly tls?: UpstreamTlsPlan;
  /** With `tls`. offer: HTTP/2 where the upstream agrees (ALPN), else HTTP/1.1. only: nothing else. Absent = HTTP/1.1. */
  readonly http2?: 'offer' | 'only';
  /** Without TLS upstreams are spoken to in HTTP/2 from the first byte; absent = HTTP/1.1. */
  readonly h2c?: true;
  /** Time between keep-alive probes of TCP, and before the first one; absent = 15 000. */
  readonly keepAliveProbeMs?: number;
}

/** Selection, as configured. `fallback` is another policy. */
export type PolicyPlan =
  | { readonly policy: 'random' | 'least_conn' | 'round_robin' | 'weighted_round_robin' | 'first' | 'uri_hash' }
  /** `tuple_hash` is for layer 4, `quic_cid` for UDP. */
  | { readonly policy: 'weighted_least_conn' | 'tuple_hash' | 'quic_cid' }
  | { readonly policy: 'random_choose'; readonly choose: number }
  | HeaderPolicyPlan
  | QueryPolicyPlan
  | IpHashPlan
  | SourceHashPlan
  | CookiePlan;

/** By the first value of a request field. */
export interface HeaderPolicyPlan {
  readonly policy: 'header';
  /** `Host` in any letter case is the authority of the request. */
  readonly field: string;
  /** Picks for requests without the field, or with an empty one. */
  readonly fallback: PolicyPlan;
}

/** By the values of a query key, joined with commas. */
export interface QueryPolicyPlan {
  readonly policy: 'query';
  readonly key: string;
  /** Picks for requests without the key, or with an empty value. */
  readonly fallback: PolicyPlan;
}

/** The key of ip_hash in a Maglev table. */
export interface SourceHashPlan extends Pick<IpHashPlan, 'seed' | 'ipv4Prefix' | 'ipv6Prefix' | 'nat64'> {
  readonly policy: 'source_hash';
}

export interface IpHashPlan {
  readonly policy: 'ip_hash';
  /** `home` (default): a client moves only when its own server goes; `all`: hash mod number of eligible members. */
  readonly onFailure: 'home' | 'all';
  readonly mapping: 'modulo' | 'rendezvous';
  /** Mixed into the hash through fmix32; null = none (default). */
  readonly seed: number | null;
  /** Prefix lengths the key is masked to. Defaults 32 and 64. */
  readonly ipv4Prefix: number;
  readonly ipv6Prefix: number;
  /** NAT64 prefixes (/96) besides 64:ff9b::/96. */
  readonly nat64: readonly string[];
  /** No member's load above this multiple of the mean; null = no bound (default). */
  readonly balanceFactor: number | null;
}

export interface CookiePlan {
  readonly policy: 'cookie';
  readonly name: string;
  /** The first signs, all verify. Never empty here: a missing one was generated by the control plane. */
  readonly secrets: readonly string[];
  /** Seconds; 0 = a session cookie. */
  readonly maxAgeSeconds: number;
  /** null = by the connection: `None` with Secure, else `Lax`. */
  readonly sameSite: 'Lax' | 'Strict' | 'None' | null;
  /** null = when the client side is TLS. */
  readonly secure: boolean | null;
  readonly httpOnly: boolean;
  readonly partitioned: boolean;
  readonly path: string;
  readonly domain: string;
  readonly format: 'v1' | 'caddy';
  readonly fallback: PolicyPlan;
}

/** Rows the control plane gave a pool, and where its members live now. */
export interface PoolRows {
  readonly pool: PoolIndex;
  readonly members: readonly MemberRows[];
  /** The members of a pool that is found in DNS (its section has none), one for each of `members`; absent = those of the section. */
  readonly found?: readonly MemberPlan[];
}

export interface MemberRows {
  readonly member: MemberIndex;
  /** Sorted; the first eligible one is dialled. Empty while the name does not resolve. */
  readonly endpoints: readonly EndpointPlan[];
}

export interface EndpointPlan {
  readonly slot: SlotIndex;
  /** Row of the verdict; -1 when the pool has no active check. */
  readonly check: CheckIndex;
  /** An IP address. */
  readonly host: string;
  readonly port: number;
}
