import type { SourceHashPlan } from '../../shared/plan/types.ts';
import { compileClientKeys, describeClientKey } from './client-key.ts';
import { describeCandidates, describePick } from './describe.ts';
import { MaglevTable } from './maglev.ts';
import type { PickRequest, Policy, PoolView } from './policy.ts';

/**
 * A client address always goes to the same member, by the key of `ip_hash` and a Maglev table: weights count, and a
 * member more or less moves little more than its own share. Throws `ConfigError` for a bad NAT64 prefix.
 */
export function createSourceHash(plan: SourceHashPlan, identities: readonly string[]): Policy {
  const keys = compileClientKeys(plan);
  const table = new MaglevTable(identities);
  const pick = (pool: PoolView, request: PickRequest): number => {
    const hash = keys.hash(request.client);
    const position = table.pick(pool, request, hash);
    request.affinity = position < 0 ? '' : position === table.home(pool, hash) ? 'hit' : 'moved';
    return position;
  };
  return {
    name: 'source_hash',
    pick,
    answered: () => '',
    explain: (pool, request) => [
      describeClientKey(keys, request.client, plan.seed),
      describeCandidates(pool, request),
      ...table.describe(pool, request, keys.hash(request.client)),
      describePick(pool, pick(pool, request)),
    ],
  };
}
