/** The only list of policies: from a plan to a policy. */
import { randomBytes } from 'node:crypto';
import { ConfigError } from '../../shared/config-error.ts';
import type { PolicyPlan } from '../../shared/plan/types.ts';
import { createCookie } from './cookie.ts';
import type { NonceSource } from './cookie-codec.ts';
import { NONCE_BYTES } from './cookie-token.ts';
import { firstPolicy } from './first.ts';
import { createIpHash } from './ip-hash.ts';
import { leastConnPolicy } from './least-conn.ts';
import type { Policy } from './policy.ts';
import { createQuicCid } from './quic-cid.ts';
import { createRandomChoose } from './random-choose.ts';
import { randomPolicy } from './random.ts';
import { roundRobinPolicy } from './round-robin.ts';
import { createSourceHash } from './source-hash.ts';
import { createHeaderPolicy, createQueryPolicy, createUriHash } from './text-key.ts';
import { createTupleHash } from './tuple-hash.ts';
import { weightedLeastConnPolicy } from './weighted-least-conn.ts';
import { createWeightedRoundRobin } from './weighted-round-robin.ts';

export interface PolicyContext {
  /** `MemberPlan.identity` of every member, in configured order. */
  readonly identities: readonly string[];
  /** 12 fresh bytes for every token. Default: the system's cryptographic source. */
  readonly nonce?: NonceSource;
}

/**
 * Builds a policy for one pool. It may keep caches, so it belongs to that pool and that thread.
 * Throws `ConfigError` for a plan that cannot work (a bad NAT64 prefix, cookie anywhere below cookie).
 */
export function buildPolicy(plan: PolicyPlan, context: PolicyContext): Policy {
  switch (plan.policy) {
    case 'random':
      return randomPolicy;
    case 'least_conn':
      return leastConnPolicy;
    case 'weighted_least_conn':
      return weightedLeastConnPolicy;
    case 'round_robin':
      return roundRobinPolicy;
    case 'first':
      return firstPolicy;
    case 'random_choose':
      return createRandomChoose(plan.choose);
    case 'weighted_round_robin':
      return createWeightedRoundRobin();
    case 'uri_hash':
      return createUriHash(context.identities);
    case 'header':
      return createHeaderPolicy(plan, context.identities, buildPolicy(plan.fallback, context));
    case 'query':
      return createQueryPolicy(plan, context.identities, buildPolicy(plan.fallback, context));
    case 'ip_hash':
      return createIpHash(plan, context.identities);
    case 'source_hash':
      return createSourceHash(plan, context.identities);
    case 'tuple_hash':
      return createTupleHash(context.identities);
    case 'quic_cid':
      return createQuicCid(context.identities);
    case 'cookie':
      if (hasCookie(plan.fallback)) {
        throw new ConfigError("'cookie' cannot stand below 'cookie': name another policy, like ip_hash");
      }
      return createCookie(plan, context.identities, buildPolicy(plan.fallback, context), context.nonce ?? systemNonce);
  }
}

/** Two cookies in one chain would each undo what the other has set. */
function hasCookie(plan: PolicyPlan): boolean {
  if (plan.policy === 'header' || plan.policy === 'query') return hasCookie(plan.fallback);
  return plan.policy === 'cookie';
}

function systemNonce(): Uint8Array {
  return randomBytes(NONCE_BYTES);
}
