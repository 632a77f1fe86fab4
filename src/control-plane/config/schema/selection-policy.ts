/** `load_balancing.selection_policy`: how one of the upstreams is picked. */
import { z } from 'zod';
import { moduleOf } from './module.ts';
import { hasPlaceholder, isFieldName, isIpRange } from './patterns.ts';
import { accept, duration, flag, list, object, oneOf, orNull, textLike, wholeNumber } from './primitives.ts';
import { MAX_WEIGHT } from './upstream.ts';

interface PlainPolicyConfig {
  readonly policy:
    | 'random'
    | 'least_conn'
    | 'weighted_least_conn'
    | 'round_robin'
    | 'first'
    | 'uri_hash'
    | 'tuple_hash'
    | 'quic_cid';
}

interface RandomChooseConfig {
  readonly policy: 'random_choose';
  readonly choose: number;
}

interface WeightedRoundRobinConfig {
  readonly policy: 'weighted_round_robin';
  /** One an upstream, in order; empty = those of the upstreams. */
  readonly weights: readonly number[];
}

interface HeaderPolicyConfig {
  readonly policy: 'header';
  readonly field: string;
  readonly fallback: SelectionPolicyConfig;
}

interface QueryPolicyConfig {
  readonly policy: 'query';
  readonly key: string;
  readonly fallback: SelectionPolicyConfig;
}

export interface IpHashConfig {
  /** The same here: both hash the derived client address. */
  readonly policy: 'ip_hash' | 'client_ip_hash';
  readonly on_failure: 'home' | 'all';
  readonly mapping: 'modulo' | 'rendezvous';
  readonly seed: number | null;
  readonly ipv4_prefix: number;
  readonly ipv6_prefix: number;
  readonly nat64: readonly string[];
  readonly balance_factor: number | null;
}

export interface SourceHashConfig extends Pick<IpHashConfig, 'seed' | 'ipv4_prefix' | 'ipv6_prefix' | 'nat64'> {
  readonly policy: 'source_hash';
}

export interface CookieConfig {
  readonly policy: 'cookie';
  readonly name: string;
  /** Caddy's field. Signs, before any of `secrets`. */
  readonly secret: string | null;
  readonly secrets: readonly string[];
  /** Milliseconds; 0 = a session cookie. */
  readonly max_age: number;
  readonly same_site: 'Lax' | 'Strict' | 'None' | null;
  readonly secure: boolean | null;
  readonly http_only: boolean;
  readonly partitioned: boolean;
  readonly path: string;
  readonly domain: string;
  readonly format: 'v1' | 'caddy';
  readonly fallback: SelectionPolicyConfig;
}

export type SelectionPolicyConfig =
  | PlainPolicyConfig
  | RandomChooseConfig
  | WeightedRoundRobinConfig
  | HeaderPolicyConfig
  | QueryPolicyConfig
  | IpHashConfig
  | SourceHashConfig
  | CookieConfig;

const TEN_YEARS_MS = 3650 * 86_400_000;

const clientKeyFields = {
  seed: orNull(wholeNumber(0, 0xffff_ffff)),
  ipv4_prefix: wholeNumber(1, 32).default(32),
  ipv6_prefix: wholeNumber(1, 128).default(64),
  nat64: list(nat64Prefix()).default([]),
};

const ipHashFields = {
  on_failure: oneOf(['home', 'all']).default('home'),
  mapping: oneOf(['modulo', 'rendezvous']).default('modulo'),
  ...clientKeyFields,
  balance_factor: orNull(balanceFactor()),
};

function ipHash(name: IpHashConfig['policy']): z.ZodType<IpHashConfig> {
  return object({ policy: z.literal(name), ...ipHashFields })
    .refine((config) => config.mapping === 'modulo' || config.on_failure === 'home', {
      error: "on_failure 'all' belongs to mapping 'modulo': rendezvous moves only the clients of a lost server",
    })
    .refine((config) => config.balance_factor === null || config.on_failure === 'home', {
      error: "balance_factor does not go with on_failure 'all': a server passed over would move clients of all others",
    });
}

const sourceHash: z.ZodType<SourceHashConfig> = object({ policy: z.literal('source_hash'), ...clientKeyFields });

function balanceFactor(): z.ZodType<number> {
  return accept('a number from 1 to 100', (value) => {
    return typeof value === 'number' && value >= 1 && value <= 100 ? value : undefined;
  });
}

function nat64Prefix(): z.ZodType<string> {
  return accept('an IPv6 prefix of length 96 such as 64:ff9b::/96', (value) => {
    return typeof value === 'string' && value.endsWith('/96') && isIpRange(value) ? value : undefined;
  });
}

/** Never shows what was found. */
function secret(): z.ZodType<string> {
  return z.unknown().transform((value, context) => {
    if (typeof value === 'string' && value !== '' && !hasPlaceholder(value)) return value;
    const message =
      typeof value === 'string' && value !== ''
        ? 'placeholders are not replaced in a secret: write {$NAME} in a Caddyfile to take it from the environment'
        : 'expected a secret (a text that is not empty)';
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

/** RFC 6265 section 4.1.1: neither controls nor a semicolon can stand in an attribute. */
const ATTRIBUTE = /^[^\x00-\x1f\x7f;]*$/;

const cookie: z.ZodType<CookieConfig> = object({
  policy: z.literal('cookie'),
  name: accept('a cookie name (letters, digits, - and _)', (value) => {
    return typeof value === 'string' && isFieldName(value) ? value : undefined;
  }).default('lb'),
  secret: orNull(secret()),
  secrets: list(secret()).default([]),
  max_age: duration(1000, TEN_YEARS_MS).default(0),
  same_site: orNull(oneOf(['Lax', 'Strict', 'None'])),
  secure: orNull(flag()),
  http_only: flag().default(true),
  partitioned: flag().default(false),
  path: textLike(/^\/[^\x00-\x1f\x7f;]*$/, 'a path beginning with /').default('/'),
  domain: textLike(ATTRIBUTE, 'a domain name').default(''),
  format: oneOf(['v1', 'caddy']).default('v1'),
  fallback: z.lazy(() => fallback).default({ policy: 'random' }),
});

function plain(name: PlainPolicyConfig['policy']): z.ZodType<PlainPolicyConfig> {
  return object({ policy: z.literal(name) });
}

const randomChoose: z.ZodType<RandomChooseConfig> = object({
  policy: z.literal('random_choose'),
  choose: wholeNumber(2, 65_535).default(2),
});

const weightedRoundRobin: z.ZodType<WeightedRoundRobinConfig> = object({
  policy: z.literal('weighted_round_robin'),
  weights: list(wholeNumber(0, MAX_WEIGHT))
    .default([])
    .refine((weights) => weights.length === 0 || weights.some((weight) => weight > 0), {
      error: 'at least one weight must be more than 0',
    }),
});

const header: z.ZodType<HeaderPolicyConfig> = object({
  policy: z.literal('header'),
  field: accept('a header field name', (value) => {
    return typeof value === 'string' && isFieldName(value) ? value : undefined;
  }),
  fallback: z.lazy(() => selectionPolicySchema).default({ policy: 'random' }),
});

const query: z.ZodType<QueryPolicyConfig> = object({
  policy: z.literal('query'),
  key: textLike(/./s, 'a query key'),
  fallback: z.lazy(() => selectionPolicySchema).default({ policy: 'random' }),
});

export const selectionPolicySchema: z.ZodType<SelectionPolicyConfig> = moduleOf<SelectionPolicyConfig>({
  key: 'policy',
  noun: 'selection policy',
  modules: () => ({
    random: plain('random'),
    least_conn: plain('least_conn'),
    weighted_least_conn: plain('weighted_least_conn'),
    round_robin: plain('round_robin'),
    first: plain('first'),
    uri_hash: plain('uri_hash'),
    random_choose: randomChoose,
    weighted_round_robin: weightedRoundRobin,
    header,
    query,
    ip_hash: ipHash('ip_hash'),
    client_ip_hash: ipHash('client_ip_hash'),
    source_hash: sourceHash,
    tuple_hash: plain('tuple_hash'),
    quic_cid: plain('quic_cid'),
    cookie,
  }),
  notYet: [],
});

const fallback: z.ZodType<SelectionPolicyConfig> = selectionPolicySchema.refine((value) => !hasCookie(value), {
  error: "a cookie policy cannot be the fallback of another: name a policy without a cookie, such as 'ip_hash'",
});

/** Itself, or anywhere below it. */
function hasCookie(policy: SelectionPolicyConfig): boolean {
  if (policy.policy === 'header' || policy.policy === 'query') return hasCookie(policy.fallback);
  return policy.policy === 'cookie';
}
