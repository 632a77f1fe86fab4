/** `load_balancing.selection_policy`: how one of the upstreams is picked. */
import { z } from 'zod';
import { moduleOf } from './module.ts';
import { hasPlaceholder, isFieldName, isIpRange } from './patterns.ts';
import { accept, duration, flag, list, object, oneOf, orNull, textLike, wholeNumber } from './primitives.ts';

export interface PlainPolicyConfig {
  readonly policy: 'random' | 'least_conn' | 'round_robin' | 'first';
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

export type SelectionPolicyConfig = PlainPolicyConfig | IpHashConfig | CookieConfig;

const TEN_YEARS_MS = 3650 * 86_400_000;

const ipHashFields = {
  on_failure: oneOf(['home', 'all']).default('home'),
  mapping: oneOf(['modulo', 'rendezvous']).default('modulo'),
  seed: orNull(wholeNumber(0, 0xffff_ffff)),
  ipv4_prefix: wholeNumber(1, 32).default(32),
  ipv6_prefix: wholeNumber(1, 128).default(64),
  nat64: list(nat64Prefix()).default([]),
};

function ipHash(name: IpHashConfig['policy']): z.ZodType<IpHashConfig> {
  return object({ policy: z.literal(name), ...ipHashFields }).refine(
    (config) => config.mapping === 'modulo' || config.on_failure === 'home',
    { error: "on_failure 'all' belongs to mapping 'modulo': rendezvous moves only the clients of a lost server" },
  );
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

export const selectionPolicySchema: z.ZodType<SelectionPolicyConfig> = moduleOf<SelectionPolicyConfig>({
  key: 'policy',
  noun: 'selection policy',
  modules: () => ({
    random: plain('random'),
    least_conn: plain('least_conn'),
    round_robin: plain('round_robin'),
    first: plain('first'),
    ip_hash: ipHash('ip_hash'),
    client_ip_hash: ipHash('client_ip_hash'),
    cookie,
  }),
  notYet: ['random_choose', 'weighted_round_robin', 'uri_hash', 'header', 'query'],
});

const fallback: z.ZodType<SelectionPolicyConfig> = selectionPolicySchema.refine((value) => value.policy !== 'cookie', {
  error: "a cookie policy cannot be the fallback of another: name a policy without a cookie, such as 'ip_hash'",
});
