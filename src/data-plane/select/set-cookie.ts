/** The Set-Cookie line around an affinity token (RFC 6265bis section 4.1). */
import type { CookiePlan } from '../../shared/plan/types.ts';

/**
 * Everything behind the value, for one kind of connection. `secure` = the client side is TLS; a configured
 * `secure` wins over it.
 *
 * `Path=/` always stands there: without it a browser keeps one cookie a directory (RFC 6265 section 5.1.4).
 * `SameSite=None` and `Partitioned` are void without Secure, browsers drop such a cookie whole; on a plain
 * connection they become `Lax` and nothing.
 */
export function cookieAttributes(plan: CookiePlan, secure: boolean): string {
  const isSecure = plan.secure ?? secure;
  const attributes = [
    `Path=${plan.path}`,
    plan.domain === '' ? '' : `Domain=${plan.domain}`,
    plan.maxAgeSeconds === 0 ? '' : `Max-Age=${plan.maxAgeSeconds}`,
    plan.httpOnly ? 'HttpOnly' : '',
    isSecure ? 'Secure' : '',
    `SameSite=${sameSite(plan, isSecure)}`,
    plan.partitioned && isSecure ? 'Partitioned' : '',
  ];
  return attributes.map((attribute) => (attribute === '' ? '' : `; ${attribute}`)).join('');
}

function sameSite(plan: CookiePlan, isSecure: boolean): string {
  if (!isSecure && plan.sameSite === 'None') return 'Lax';
  return plan.sameSite ?? (isSecure ? 'None' : 'Lax');
}
