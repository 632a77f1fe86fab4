/** Policies by a text of the request: the same text always goes to the same member. */
import type { HeaderPolicyPlan, QueryPolicyPlan } from '../../shared/plan/types.ts';
import { describeCandidates, describeMember, describePick, describeState } from './describe.ts';
import { fnv1aText } from './hash.ts';
import type { PickRequest, Policy, PoolView } from './policy.ts';
import { identityHashesOf, pickRendezvous, rendezvousHome } from './rendezvous.ts';

/** By the target that goes upstream, path and query as they are. It is no client's, so there is no affinity outcome. */
export function createUriHash(identities: readonly string[]): Policy {
  const hashes = identityHashesOf(identities);
  return {
    name: 'uri_hash',
    pick: (pool, request) => pickRendezvous(pool, request, fnv1aText(request.target), hashes),
    answered: () => '',
    explain: (pool, request) => explainKey(pool, request, 'target', request.target, hashes),
  };
}

/** `fallback` picks for requests without the field. */
export function createHeaderPolicy(plan: HeaderPolicyPlan, identities: readonly string[], fallback: Policy): Policy {
  const name = plan.field.toLowerCase();
  return keyedPolicy('header', `header ${plan.field}`, (request) => request.headerValue(name), identities, fallback);
}

/** `fallback` picks for requests without the key. */
export function createQueryPolicy(plan: QueryPolicyPlan, identities: readonly string[], fallback: Policy): Policy {
  return keyedPolicy('query', `query ${plan.key}`, (request) => request.queryValue(plan.key), identities, fallback);
}

function keyedPolicy(
  name: string,
  what: string,
  keyOf: (request: PickRequest) => string,
  identities: readonly string[],
  fallback: Policy,
): Policy {
  const hashes = identityHashesOf(identities);
  const pickBy = (pool: PoolView, request: PickRequest, key: string): number => {
    const hash = fnv1aText(key);
    const position = pickRendezvous(pool, request, hash, hashes);
    request.affinity = position < 0 ? '' : position === rendezvousHome(pool, hash, hashes) ? 'hit' : 'moved';
    // A cookie of the fallback is no business of a request that has the key.
    request.stickyAction = 'keep';
    return position;
  };
  return {
    name,
    pick(pool, request) {
      const key = keyOf(request);
      return key === '' ? fallback.pick(pool, request) : pickBy(pool, request, key);
    },
    answered: (pool, request, position) => fallback.answered(pool, request, position),
    explain(pool, request) {
      const key = keyOf(request);
      if (key === '') {
        return [`no ${what} came: the fallback ${fallback.name} picks`, ...fallback.explain(pool, request)];
      }
      pickBy(pool, request, key);
      return explainKey(pool, request, what, key, hashes);
    },
  };
}

function explainKey(
  pool: PoolView,
  request: PickRequest,
  what: string,
  key: string,
  hashes: Uint32Array,
): readonly string[] {
  const hash = fnv1aText(key);
  const home = rendezvousHome(pool, hash, hashes);
  const score =
    home < 0
      ? 'rendezvous: every weight is 0'
      : `rendezvous: the highest of all scores is that of upstream ${describeMember(pool, home)}, ` +
        describeState(pool, request, home);
  return [
    `key ${JSON.stringify(key)} (${what}), hash ${hash}`,
    describeCandidates(pool, request),
    ...(pool.size === 0 ? [] : [score]),
    describePick(pool, pickRendezvous(pool, request, hash, hashes)),
  ];
}
