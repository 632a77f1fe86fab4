/**
 * The gate of the admin API: a web page in the operator's browser must not be able to command it,
 * neither by a rebound name (Host), nor by a cross-site request (Origin, Fetch Metadata). Whatever is
 * checked is checked against the fixed allow list, never one header against another: a page
 * chooses both.
 */
import type { AllowList } from './allow-list.ts';
import { hostOf } from './allow-list.ts';

/** What the filter looks at. Nothing here was trusted by anyone before. */
export interface FilterInput {
  readonly method: string;
  /** Request target as received; its authority counts when it has one. */
  readonly target: string;
  /** `1.0` or `1.1`. */
  readonly httpVersion: string;
  /** Names and values in turn, as received. */
  readonly rawHeaders: readonly string[];
  /** Authority of the local end of the connection, `192.0.2.1:2019` or `[2001:db8::1]:2019`. */
  readonly localAuthority: string;
}

export type FilterVerdict =
  /** `origin` is to be echoed in the CORS headers; '' = the request names none. */
  | { readonly allowed: true; readonly origin: string }
  | { readonly allowed: false; readonly status: number; readonly message: string };

export function filterRequest(input: FilterInput, list: AllowList): FilterVerdict {
  return checkHost(input, list) ?? checkFetch(input, list) ?? checkOrigin(input, list);
}

const HEALTH_TARGETS: readonly string[] = Object.freeze(['/health/live', '/health/ready']);

type Refusal = Extract<FilterVerdict, { allowed: false }>;

function refuse(status: number, message: string): Refusal {
  return { allowed: false, status, message };
}

/** All values of a field, in order. */
function valuesOf(input: FilterInput, name: string): string[] {
  return input.rawHeaders.filter((_, at) => at % 2 === 1 && input.rawHeaders[at - 1]?.toLowerCase() === name);
}

function firstOf(input: FilterInput, name: string): string {
  return valuesOf(input, name)[0] ?? '';
}

/** RFC 9112 section 3.2: one Host line, except that HTTP/1.0 may have none. Here that is refused too, but for health checks. */
function checkHost(input: FilterInput, list: AllowList): Refusal | null {
  const lines = valuesOf(input, 'host');
  if (lines.length > 1) return refuse(400, 'more than one Host header');
  // RFC 9112 section 3.2.2: the authority of an absolute-form target replaces Host.
  const absolute = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(input.target);
  const authority = (absolute ? absolute[1]! : (lines[0] ?? '')).trim().toLowerCase();
  if (authority === '') {
    if (lines.length === 0 && isHealthCheck(input)) return null;
    return input.httpVersion === '1.0' ? refuse(403, 'host not allowed: none given') : refuse(400, 'no Host header');
  }
  if (isAllowedHost(authority, input, list)) return null;
  return refuse(403, `host not allowed: ${authority}`);
}

/** What balancers ask before they send us traffic, many of them in HTTP/1.0 without Host, which no browser does. */
function isHealthCheck({ method, target, httpVersion }: FilterInput): boolean {
  return httpVersion === '1.0' && (method === 'GET' || method === 'HEAD') && HEALTH_TARGETS.includes(target);
}

function isAllowedHost(authority: string, input: FilterInput, list: AllowList): boolean {
  if (list.authorities.has(authority)) return true;
  if (list.ownAddress && authority === input.localAuthority.toLowerCase()) return true;
  return list.loopbackHosts.has(hostOf(authority));
}

/** Requests no tool of ours sends, and browsers send on behalf of other sites. */
function checkFetch(input: FilterInput, list: AllowList): Refusal | null {
  if (/websocket/i.test(valuesOf(input, 'upgrade').join(',')))
    return refuse(400, 'websocket connections are not allowed');
  const origin = firstOf(input, 'origin');
  if (origin.toLowerCase() === 'null') return refuse(400, "invalid origin: 'null'");
  if (isForeignSite(input) && !isAllowedOrigin(origin, input, list)) {
    return refuse(403, 'cross-site requests are not allowed');
  }
  if (firstOf(input, 'sec-fetch-mode').toLowerCase() === 'no-cors') {
    return refuse(400, "requests with Sec-Fetch-Mode 'no-cors' are not allowed");
  }
  return null;
}

/** A link to the dashboard on another site is fine: it reads only, and that site sees nothing of the answer. */
function isForeignSite(input: FilterInput): boolean {
  const site = firstOf(input, 'sec-fetch-site').toLowerCase();
  if (site === '' || site === 'same-origin' || site === 'none') return false;
  const isLink =
    (input.method === 'GET' || input.method === 'HEAD') &&
    firstOf(input, 'sec-fetch-mode').toLowerCase() === 'navigate' &&
    firstOf(input, 'sec-fetch-dest').toLowerCase() === 'document';
  return !isLink;
}

function checkOrigin(input: FilterInput, list: AllowList): FilterVerdict {
  const given = valuesOf(input, 'origin');
  if (given.length > 1) return refuse(400, 'more than one Origin header');
  const origin = given[0] ?? '';
  if (origin !== '' || list.enforceOrigin || needsOrigin(input)) {
    const claimed = origin === '' ? originOf(firstOf(input, 'referer')) : origin;
    if (!isAllowedOrigin(claimed, input, list)) {
      return refuse(403, `client is not allowed to access from origin ${JSON.stringify(claimed)}`);
    }
  }
  return { allowed: true, origin };
}

/**
 * A browser that tells the mode but not the site: the page it names as Referer must be allowed. All
 * browsers send both, but `fetch` of Node sends the mode alone, and is a tool like curl.
 */
function needsOrigin(input: FilterInput): boolean {
  const isBrowser = firstOf(input, 'sec-fetch-mode') !== '' && firstOf(input, 'referer') !== '';
  return isBrowser && firstOf(input, 'sec-fetch-site') === '';
}

/**
 * Ports of loopback origins matter: a page served on another port of this machine is another
 * program. Only when the browser itself says `same-origin` (page script cannot set that) may it be any port.
 */
function isAllowedOrigin(origin: string, input: FilterInput, list: AllowList): boolean {
  const text = origin.toLowerCase();
  if (list.origins.has(text)) return true;
  const authority = /^https?:\/\/([^/?#]+)$/.exec(text)?.[1] ?? '';
  if (list.ownAddress && authority !== '' && authority === input.localAuthority.toLowerCase()) return true;
  return firstOf(input, 'sec-fetch-site').toLowerCase() === 'same-origin' && list.loopbackHosts.has(hostOf(authority));
}

function originOf(referer: string): string {
  return /^https?:\/\/[^/?#]+/i.exec(referer)?.[0] ?? '';
}
