/** What is legal in a policy with affinity and still likely to disappoint. */
import type { CookieConfig, IpHashConfig } from '../config/schema/selection-policy.ts';
import { MAGLEV_SLOTS } from '../../data-plane/select/maglev-slots.ts';
import type { Compilation } from './compilation.ts';

const MIN_SECRET_BYTES = 32;

/** Secrets that stand in guides and examples, lower case: whoever reads one of those can make our cookies. */
const PUBLISHED_SECRETS: readonly string[] = Object.freeze([
  'production-secret-key-must-be-long',
  'changeme',
  'change-me',
  'change_me',
  'your-secret',
  'my-secret',
  'mysecret',
  'supersecret',
  's3cret',
  'example',
]);

const PUBLISHED_WORDS: readonly string[] = Object.freeze(['secret', 'password', 'test']);

/**
 * FNV-1a multiplies by an odd prime: modulo an even N, the parity of the address bytes decides the
 * parity of the index.
 */
export function warnParity(run: Compilation, path: string, config: IpHashConfig, size: number): void {
  if (size < 2 || size % 2 !== 0 || config.mapping !== 'modulo' || config.seed !== null) return;
  run.warn(
    path,
    'lb_policy',
    `with an even number of upstreams (${size}) ip_hash depends on whether the address bytes are odd or even: ` +
      'clients that all have even addresses reach only half of the upstreams. ' +
      'Add mapping rendezvous or seed <n> if yours are like that',
  );
}

/** With fewer than 100 places each, shares of a Maglev table are off by more than a percent. */
export function warnTableSize(run: Compilation, path: string, policy: string, size: number): void {
  const most = Math.floor(MAGLEV_SLOTS / 100);
  if (size <= most) return;
  run.warn(
    path,
    'lb_policy',
    `${policy} shares ${MAGLEV_SLOTS} places among the upstreams: with ${size} of them, more than ${most}, shares are uneven`,
  );
}

export function warnSecret(run: Compilation, path: string, secret: string): void {
  const lower = secret.toLowerCase();
  if (PUBLISHED_WORDS.includes(lower) || PUBLISHED_SECRETS.some((known) => lower.includes(known))) {
    run.warn(path, 'lb_policy', `the cookie secret stands in published examples: replace it, ${HOW_TO_MAKE_ONE}`);
  } else if (Buffer.byteLength(secret) < MIN_SECRET_BYTES) {
    run.warn(
      path,
      'lb_policy',
      `the cookie secret is shorter than ${MIN_SECRET_BYTES} bytes: replace it, ${HOW_TO_MAKE_ONE}`,
    );
  }
}

const HOW_TO_MAKE_ONE = 'for example by the output of openssl rand -base64 32';

/** Combinations that browsers drop without telling anybody (RFC 6265bis section 5.7). */
export function warnCookieAttributes(run: Compilation, path: string, config: CookieConfig): void {
  const dropped = (why: string): void => {
    run.warn(path, 'lb_policy', `browsers drop the cookie ${config.name}: ${why}`);
  };
  if (config.secure === false && config.same_site === 'None') dropped('same_site none needs secure');
  if (config.secure === false && config.partitioned) dropped('partitioned needs secure');
  if (config.secure === false && /^__(Secure|Host)-/i.test(config.name)) dropped('its name demands secure');
  const hostOnly = config.path === '/' && config.domain === '';
  if (/^__Host-/i.test(config.name) && !hostOnly) dropped('its name demands path / and no domain');
}
