/**
 * The plan: what a worker runs. It is made by the control plane from a finished config, frozen, and
 * structured-cloned to every worker. It holds only plain data; workers compile it to functions.
 *
 * A plan is a small manifest plus *sections* keyed by the hash of their content. A section with the
 * same hash in two generations is an unchanged route: its streams, pools and counters go on.
 */

/** Row numbers in the state table. */
export type SlotIndex = number;
export type CheckIndex = number;
export type MemberIndex = number;
export type PoolIndex = number;
export type ServerIndex = number;

/** Hex SHA-256 (first 32 digits) over the canonical JSON of a section's content. */
export type SectionHash = string;

export interface PlanManifest {
  readonly generation: number;
  readonly servers: readonly ServerPlan[];
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
  readonly options: HttpServerOptions;
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
  /** Which requests of this server leave access lines, and where; null when no site logs. */
  readonly accessLog: AccessLogPlan | null;
}

export type AccessOutput = 'stderr' | 'stdout';

export interface AccessLogPlan {
  /** Outputs by host (lower case, no port); an empty list: requests of that host leave no line. */
  readonly hosts: Readonly<Record<string, readonly AccessOutput[]>>;
  /** Outputs for every other host. */
  readonly others: readonly AccessOutput[];
}

export type Section = PoolSection | SiteSection;

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
  | { readonly kind: 'not'; readonly sets: readonly MatcherSetPlan[] };

export type HandlerPlan =
  | { readonly handler: 'subroute'; readonly routes: readonly RoutePlan[] }
  | StaticResponsePlan
  | HeadersPlan
  | RewritePlan
  | { readonly handler: 'vars'; readonly vars: Readonly<Record<string, string>> }
  | ReverseProxyPlan;

export interface StaticResponsePlan {
  readonly handler: 'static_response';
  /** A number or a template. Default '200'. */
  readonly statusCode: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: string;
  /** Close the connection after the response. */
  readonly close: boolean;
  /** Drop the connection without a response. */
  readonly abort: boolean;
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

export interface RewritePlan {
  readonly handler: 'rewrite';
  readonly method: string;
  /** Template of the new request target; '' = unchanged. */
  readonly uri: string;
  readonly stripPathPrefix: string;
  readonly stripPathSuffix: string;
  readonly uriSubstring: readonly { readonly find: string; readonly replace: string; readonly limit: number }[];
}

export interface ReverseProxyPlan {
  readonly handler: 'reverse_proxy';
  readonly pool: SectionHash;
  /** CIDR prefixes believed for X-Forwarded-* by this handler only. */
  readonly trustedProxies: readonly string[];
  readonly headersUp: HeaderOpsPlan | null;
  readonly headersDown: ResponseHeaderOpsPlan | null;
}

/** The upstreams of one handler, how one is picked, and how it is spoken to. */
export interface PoolSection {
  readonly kind: 'pool';
  readonly hash: SectionHash;
  readonly policy: PolicyPlan;
  readonly members: readonly MemberPlan[];
  readonly retry: RetryPlan;
  readonly transport: TransportPlan;
}

export interface MemberPlan {
  /** The configured text, as metrics and logs show it: `backend-1:3000`. */
  readonly upstream: string;
  /** What affinity is bound to: the configured text without scheme and default port. */
  readonly identity: string;
}

export interface RetryPlan {
  /** Tries after the first; null = failover without options (each upstream once), 0 = off. */
  readonly retries: number | null;
  /** All tries together; null = one dial timeout more than a single try. */
  readonly tryDurationMs: number | null;
  /** Pause before an upstream is tried a second time. Default 250. */
  readonly tryIntervalMs: number;
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
}

/** Selection, as configured. `fallback` of the cookie policy is another policy. */
export type PolicyPlan =
  | { readonly policy: 'random' | 'least_conn' | 'round_robin' | 'first' }
  | IpHashPlan
  | CookiePlan;

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
