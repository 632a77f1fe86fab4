/**
 * Caddy's affinity value: lower-case hex of HMAC-SHA-256(secret, dial address). It is accepted always and
 * written with `format caddy`, so that a site can move here, or back, without losing sessions.
 */
import { createHmac } from 'node:crypto';
import { joinHostPort, splitHostPort } from '../../shared/net/address.ts';

/** Hex digits of a value. */
export const CADDY_LENGTH = 64;
const DEFAULT_PORT = 80;

export function caddyValue(secret: string, dial: string): string {
  return createHmac('sha256', secret).update(dial).digest('hex');
}

/** The address Caddy dials for an identity: the identity has lost a default port, Caddy's text has it. */
export function caddyDial(identity: string): string {
  const parts = splitHostPort(identity);
  return parts === null || parts.port !== null ? identity : joinHostPort(parts.host, DEFAULT_PORT);
}

/**
 * Every value that is valid for this pool, and whose it is. Made once per pool: looking for a value among the
 * members by computing one HMAC each would let a client buy a lot of our time with a made-up cookie.
 * A lookup compares whole strings under a randomly seeded hash, so its time tells nothing about prefixes.
 */
export function caddyPositions(secrets: readonly string[], identities: readonly string[]): ReadonlyMap<string, number> {
  const positions = new Map<string, number>();
  for (const secret of secrets) {
    identities.forEach((identity, position) => {
      const value = caddyValue(secret, caddyDial(identity));
      if (!positions.has(value)) positions.set(value, position);
    });
  }
  return positions;
}
