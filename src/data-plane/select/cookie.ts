/** cookie: the client carries its server's name, sealed. */
import type { CookiePlan } from '../../shared/plan/types.ts';
import {
  MEMBER_BACKUP,
  MEMBER_DRAIN,
  MEMBER_ELIGIBLE,
  MEMBER_FULL,
  MEMBER_INITIAL,
  MEMBER_STRUCK,
  MEMBER_WAIT,
} from '../../shared/state-table/layout.ts';
import { createCookieCodec, type CookieCodec, type NonceSource, type ReadToken } from './cookie-codec.ts';
import { findCookie } from './cookie-header.ts';
import { describeMember, describePick, describeState } from './describe.ts';
import type { PickRequest, Policy, PoolView } from './policy.ts';
import { cookieAttributes } from './set-cookie.ts';

/**
 * `fallback` picks for clients without a valid cookie and for those whose server is gone.
 *
 * A server this exchange has tried in vain counts as gone even while its state word says eligible: nobody has
 * noticed yet that it died, and a cookie left alone would send every further request into the same
 * failed dial. That a single refused dial moves a client is the price; without it the client would pay
 * with a delay a request until the health check sees it.
 */
export function createCookie(
  plan: CookiePlan,
  identities: readonly string[],
  fallback: Policy,
  nonce: NonceSource,
): Policy {
  const codec = createCookieCodec(plan, identities, nonce);
  const plainAttributes = cookieAttributes(plan, false);
  const secureAttributes = cookieAttributes(plan, true);
  return {
    name: 'cookie',
    pick(pool, request) {
      const token = readToken(codec, plan.name, request);
      const home = homeOf(pool, request, token);
      const position = home < 0 ? fallback.pick(pool, request) : home;
      writeOutcome(pool, request, token, home);
      return position;
    },
    answered(_pool, request, position) {
      if (request.stickyAction === 'keep') return '';
      const attributes = request.secure ? secureAttributes : plainAttributes;
      return `${plan.name}=${codec.write(position, request.wallMs)}${attributes}`;
    },
    explain(pool, request) {
      const token = readToken(codec, plan.name, request);
      const home = homeOf(pool, request, token);
      const rest =
        home < 0
          ? [`the fallback ${fallback.name} picks`, ...fallback.explain(pool, request)]
          : [describePick(pool, home)];
      writeOutcome(pool, request, token, home);
      return [describeToken(pool, request, plan.name, token), ...rest];
    },
  };
}

function readToken(codec: CookieCodec, name: string, request: PickRequest): ReadToken | null {
  const value = findCookie(request.cookies, name);
  return value === '' ? null : codec.read(value, request.wallMs);
}

/** States in which a member takes its own clients. A full one lets them wait in its queue. */
const OPEN_TO_OWN: readonly number[] = Object.freeze([MEMBER_ELIGIBLE, MEMBER_DRAIN, MEMBER_BACKUP, MEMBER_WAIT]);
/** States in which it takes nobody now but will take the next request. */
const PASSING: readonly number[] = Object.freeze([MEMBER_INITIAL, MEMBER_STRUCK, MEMBER_FULL]);

/** Place of the member the token names if it takes this exchange, else −1. A draining one still takes its own clients. */
function homeOf(pool: PoolView, request: PickRequest, token: ReadToken | null): number {
  if (token === null || token.position < 0 || request.tried.includes(token.position)) return -1;
  return OPEN_TO_OWN.includes(pool.state(token.position)) ? token.position : -1;
}

/** Runs behind the fallback, which may have an opinion of its own on affinity. */
function writeOutcome(pool: PoolView, request: PickRequest, token: ReadToken | null, home: number): void {
  request.stickyPosition = token?.position ?? -1;
  if (token === null) {
    request.affinity = 'new';
    request.stickyAction = 'issue';
  } else if (home >= 0) {
    request.affinity = 'hit';
    request.stickyAction = token.ageing ? 'renew' : 'keep';
  } else {
    request.affinity = 'moved';
    request.stickyAction = isPassing(pool, request, token.position) ? 'keep' : 'issue';
  }
}

/** The member cannot take this exchange but will take the next ones: the cookie stays as it is. */
function isPassing(pool: PoolView, request: PickRequest, position: number): boolean {
  return position >= 0 && !request.tried.includes(position) && PASSING.includes(pool.state(position));
}

function describeToken(pool: PoolView, request: PickRequest, name: string, token: ReadToken | null): string {
  if (token === null) return `no valid cookie '${name}' came`;
  if (token.position < 0) return `the cookie '${name}' names an upstream that is not in the pool any more`;
  const state = describeState(pool, request, token.position);
  const age = token.ageing ? ', past half of its lifetime' : '';
  return `the cookie '${name}' names upstream ${describeMember(pool, token.position)}, ${state}${age}`;
}
