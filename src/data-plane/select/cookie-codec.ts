/** Affinity values of one pool, both formats: from a cookie's value to a member and back. */
import type { CookiePlan } from '../../shared/plan/types.ts';
import { CADDY_LENGTH, caddyDial, caddyPositions, caddyValue } from './cookie-caddy.ts';
import { TokenCache, type KnownToken } from './cookie-cache.ts';
import { deriveTokenKey, digestIdentity, openToken, sealToken, TOKEN_LENGTH } from './cookie-token.ts';

/** Valid tokens remembered per policy and worker, at least this many. */
const CACHED_TOKENS = 4096;
const MINUTE_MS = 60_000;

export type NonceSource = () => Uint8Array;

export interface CookieCodec {
  /** null = no valid value: absent, forged, damaged, of another secret or past its lifetime. */
  read(value: string, wallMs: number): ReadToken | null;
  /** A fresh value for the member at `position`. */
  write(position: number, wallMs: number): string;
}

export interface ReadToken {
  /** Place of the member it names, −1 when the pool has no such member any more. */
  readonly position: number;
  /** More than half of its lifetime is over. */
  readonly ageing: boolean;
}

/** `identities` are the members' configured texts by position; the first of equal ones counts. */
export function createCookieCodec(plan: CookiePlan, identities: readonly string[], nonce: NonceSource): CookieCodec {
  const digests = identities.map(digestIdentity);
  const open = createOpener(plan, digests);
  const caddyPosition = createCaddyLookup(plan, identities);
  return {
    read(value, wallMs) {
      if (value.length === CADDY_LENGTH) {
        // Caddy's values carry no time: only the browser knows when they end.
        const position = caddyPosition(value);
        return position === undefined ? null : { position, ageing: false };
      }
      const known = value.length === TOKEN_LENGTH ? open(value) : null;
      return known === null ? null : judgeAge(known, plan.maxAgeSeconds * 1000, wallMs);
    },
    write: plan.format === 'caddy' ? createCaddyWriter(plan, identities) : createWriter(plan, digests, nonce),
  };
}

/** v1 tokens, valid ones cached. */
function createOpener(plan: CookiePlan, digests: readonly string[]): (token: string) => KnownToken | null {
  const keys = plan.secrets.map(deriveTokenKey);
  const cache = new TokenCache(CACHED_TOKENS);
  const positions = new Map<string, number>();
  digests.forEach((digest, position) => {
    if (!positions.has(digest)) positions.set(digest, position);
  });
  return (token) => {
    const cached = cache.get(token);
    if (cached !== undefined) return cached;
    const content = openToken(keys, plan.name, token);
    if (content === null) return null;
    const known = { issuedMinutes: content.issuedMinutes, position: positions.get(content.digest) ?? -1 };
    // `token` is a slice of the request's head; the cache gets a copy that does not keep the head alive.
    cache.put(Buffer.from(token, 'latin1').toString('latin1'), known);
    return known;
  };
}

function createWriter(plan: CookiePlan, digests: readonly string[], nonce: NonceSource): CookieCodec['write'] {
  const key = deriveTokenKey(plan.secrets[0] ?? '');
  return (position, wallMs) => {
    const issuedMinutes = Math.floor(wallMs / MINUTE_MS);
    return sealToken(key, plan.name, { issuedMinutes, digest: digests[position]! }, nonce());
  };
}

/** One HMAC a member and secret, so the values are made when the first client comes with such a cookie. */
function createCaddyLookup(plan: CookiePlan, identities: readonly string[]): (value: string) => number | undefined {
  let positions: ReadonlyMap<string, number> | null = null;
  return (value) => {
    positions ??= caddyPositions(plan.secrets, identities);
    return positions.get(value);
  };
}

function createCaddyWriter(plan: CookiePlan, identities: readonly string[]): CookieCodec['write'] {
  return (position) => caddyValue(plan.secrets[0] ?? '', caddyDial(identities[position]!));
}

/**
 * The time in a token is rounded down to a minute. Doubt goes to the client: it may outlive its lifetime by
 * up to a minute (the browser's Max-Age is exact), and it is renewed early rather than late.
 * A session cookie (lifetime 0) does not age.
 */
function judgeAge(known: KnownToken, lifetimeMs: number, wallMs: number): ReadToken | null {
  if (lifetimeMs === 0) return { position: known.position, ageing: false };
  const longestMs = wallMs - known.issuedMinutes * MINUTE_MS;
  if (longestMs - MINUTE_MS >= lifetimeMs) return null;
  return { position: known.position, ageing: longestMs > lifetimeMs / 2 };
}
