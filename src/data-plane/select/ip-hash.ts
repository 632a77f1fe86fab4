/** ip_hash: a client address always goes to the same member. */
import type { IpHashPlan } from '../../shared/plan/types.ts';
import { BoundedPool } from './bounded-load.ts';
import { compileClientKeys, describeClientKey } from './client-key.ts';
import { describeCandidates, describeMember, describePick, describeState } from './describe.ts';
import { homeOf, secondHomeOf } from './hash.ts';
import { pickAmongUsable, pickHome } from './homes.ts';
import type { PickRequest, Policy, PoolView } from './policy.ts';
import { identityHashesOf, pickRendezvous, rendezvousHome } from './rendezvous.ts';

/** How a hash becomes a place. Chosen once, when the plan is compiled. */
interface Mapping {
  pick(pool: PoolView, request: PickRequest, hash: number): number;
  /** The client's place when everybody is well. */
  home(pool: PoolView, hash: number): number;
  describe(pool: PoolView, request: PickRequest, hash: number): readonly string[];
}

/**
 * `identities` are the members' configured texts by position. A client without an address (a Unix socket)
 * hashes as no bytes at all: all such clients share one member.
 * Throws `ConfigError` for a bad NAT64 prefix.
 */
export function createIpHash(plan: IpHashPlan, identities: readonly string[]): Policy {
  const keys = compileClientKeys(plan);
  const mapping = createMapping(plan, identities);
  const placeOf = plan.balanceFactor === null ? mapping.pick : boundedPick(mapping, plan.balanceFactor);
  const pick = (pool: PoolView, request: PickRequest): number => {
    const hash = keys.hash(request.client);
    const position = placeOf(pool, request, hash);
    request.affinity = position < 0 ? '' : position === mapping.home(pool, hash) ? 'hit' : 'moved';
    return position;
  };
  return {
    name: 'ip_hash',
    pick,
    answered: () => '',
    explain: (pool, request) => [
      describeClientKey(keys, request.client, plan.seed),
      describeCandidates(pool, request),
      ...(pool.size === 0 ? [] : mapping.describe(pool, request, keys.hash(request.client))),
      ...describeBound(pool, request, plan.balanceFactor),
      describePick(pool, pick(pool, request)),
    ],
  };
}

/** `balance_factor`: members with their share of the load are passed over like ones that are away. */
function boundedPick(mapping: Mapping, factor: number): Mapping['pick'] {
  let bounded: BoundedPool | null = null;
  return (pool, request, hash) => {
    bounded ??= new BoundedPool(factor, pool);
    const home = mapping.pick(pool, request, hash);
    const position = mapping.pick(bounded.look(pool, request), request, hash);
    request.spilledFrom = position === home || position < 0 ? -1 : home;
    return position < 0 ? home : position;
  };
}

function describeBound(pool: PoolView, request: PickRequest, factor: number | null): readonly string[] {
  if (factor === null) return [];
  const { bound } = new BoundedPool(factor, pool).look(pool, request);
  return [`balance_factor ${factor}: nobody may have more than ${bound} running, whoever has so many is passed over`];
}

function createMapping(plan: IpHashPlan, identities: readonly string[]): Mapping {
  if (plan.mapping === 'rendezvous') return rendezvousMapping(identities);
  return plan.onFailure === 'all' ? textbookMapping : homeMapping;
}

const homeMapping: Mapping = {
  pick: pickHome,
  home: (pool, hash) => homeOf(hash, pool.size),
  describe: (pool, request, hash) => {
    const home = homeOf(hash, pool.size);
    const sentences = [`home: ${describeModulo(pool, hash)}, ${describeState(pool, request, home)}`];
    if (pool.size < 2) return sentences;
    const second = secondHomeOf(hash, pool.size);
    const state = describeState(pool, request, second);
    return [...sentences, `second home: upstream ${describeMember(pool, second)}, ${state}`];
  },
};

const textbookMapping: Mapping = {
  pick: pickAmongUsable,
  home: (pool, hash) => homeOf(hash, pool.size),
  describe: (pool, _request, hash) => [
    `with every upstream eligible: ${describeModulo(pool, hash)}`,
    'on_failure all: the hash is taken modulo the number of upstreams that may be picked',
  ],
};

function rendezvousMapping(identities: readonly string[]): Mapping {
  const hashes = identityHashesOf(identities);
  return {
    pick: (pool, request, hash) => pickRendezvous(pool, request, hash, hashes),
    home: (pool, hash) => rendezvousHome(pool, hash, hashes),
    describe: (pool, request, hash) => {
      const home = rendezvousHome(pool, hash, hashes);
      if (home < 0) return ['rendezvous: every weight is 0'];
      const state = describeState(pool, request, home);
      return [`rendezvous: the highest of all scores is that of upstream ${describeMember(pool, home)}, ${state}`];
    },
  };
}

function describeModulo(pool: PoolView, hash: number): string {
  return `${hash} mod ${pool.size} = upstream ${describeMember(pool, homeOf(hash, pool.size))}`;
}
