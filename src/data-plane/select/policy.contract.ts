/** The suite every policy passes, and the pool and request it is run with. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ipFromBytes, parseIp } from '../../shared/net/ip.ts';
import type { CookiePlan, IpHashPlan, PolicyPlan, SourceHashPlan } from '../../shared/plan/types.ts';
import { seededRandom } from '../../shared/random.ts';
import { MEMBER_ELIGIBLE } from '../../shared/state-table/layout.ts';
import { buildPolicy } from './index.ts';
import type { PickRequest, Policy, PoolView } from './policy.ts';

export const IP_HASH: IpHashPlan = {
  policy: 'ip_hash',
  onFailure: 'home',
  mapping: 'modulo',
  seed: null,
  ipv4Prefix: 32,
  ipv6Prefix: 64,
  nat64: [],
  balanceFactor: null,
};

export const SOURCE_HASH: SourceHashPlan = {
  policy: 'source_hash',
  seed: null,
  ipv4Prefix: 32,
  ipv6Prefix: 64,
  nat64: [],
};

export const COOKIE: CookiePlan = {
  policy: 'cookie',
  name: 'lb',
  secrets: ['a secret of thirty-two bytes or more'],
  maxAgeSeconds: 0,
  sameSite: null,
  secure: null,
  httpOnly: true,
  partitioned: false,
  path: '/',
  domain: '',
  format: 'v1',
  fallback: { policy: 'random' },
};

/** A pool whose words a test can change. */
export interface TestPool extends PoolView {
  readonly states: number[];
  readonly loads: number[];
  readonly weights: number[];
  tickets: number;
}

export function makePool(size: number): TestPool {
  return {
    size,
    states: Array.from({ length: size }, () => MEMBER_ELIGIBLE),
    loads: Array.from({ length: size }, () => 0),
    weights: Array.from({ length: size }, () => 1),
    tickets: 0,
    state(position) {
      return this.states[position]!;
    },
    load(position) {
      return this.loads[position]!;
    },
    weight(position) {
      return this.weights[position]!;
    },
    weightTable() {
      return { values: [...this.weights], max: Math.max(0, ...this.weights) };
    },
    nextTicket() {
      const ticket = this.tickets >>> 0;
      this.tickets += 1;
      return ticket;
    },
    identity: identityOf,
  };
}

export function identitiesOf(size: number): string[] {
  return Array.from({ length: size }, (_, position) => identityOf(position));
}

function identityOf(position: number): string {
  return `app-${position + 1}:3000`;
}

export function makeRequest(changes: Partial<PickRequest> = {}): PickRequest {
  return {
    client: parseIp('203.0.113.5'),
    flow: null,
    cookies: '',
    secure: false,
    target: '/',
    headerValue: () => '',
    queryValue: () => '',
    wallMs: Date.UTC(2030, 0, 1),
    random: seededRandom(1),
    tried: [],
    affinity: '',
    stickyPosition: -1,
    stickyAction: 'keep',
    spilledFrom: -1,
    ...changes,
  };
}

/** Any pool of 0 … 9 members in any states, and any request to it. */
const situations = fc.record({
  states: fc.array(fc.constantFrom(0, 1, 1, 2, 3, 4, 7, 8), { maxLength: 9 }),
  loads: fc.array(fc.nat(5), { minLength: 9, maxLength: 9 }),
  weights: fc.array(fc.nat(3), { minLength: 9, maxLength: 9 }),
  tried: fc.array(fc.nat(8), { maxLength: 4 }),
  client: fc.option(fc.uint8Array({ minLength: 4, maxLength: 4 })),
  text: fc.constantFrom('', 'a', 'b', 'session-42'),
  cookies: fc.string(),
  seed: fc.nat(),
  tickets: fc.nat(20),
});
type Situation = typeof situations extends fc.Arbitrary<infer Value> ? Value : never;

function setUp(plan: PolicyPlan, situation: Situation): { policy: Policy; pool: TestPool; request: PickRequest } {
  const pool = makePool(situation.states.length);
  situation.states.forEach((state, position) => {
    pool.states[position] = state;
    pool.loads[position] = situation.loads[position]!;
    pool.weights[position] = situation.weights[position]!;
  });
  pool.tickets = situation.tickets;
  const policy = buildPolicy(plan, { identities: identitiesOf(pool.size) });
  const client = situation.client === null ? null : ipFromBytes(situation.client);
  const { tried, cookies, seed, text } = situation;
  const keys = { target: `/${text}`, headerValue: () => text, queryValue: () => text };
  return { policy, pool, request: makeRequest({ client, tried, cookies, random: seededRandom(seed), ...keys }) };
}

/**
 * Runs the suite. `deterministic`: without chance and rotation the same request must get the same member again.
 * `numRuns`: fewer for policies that are costly to build.
 */
export function policyContract(title: string, plan: PolicyPlan, deterministic: boolean, numRuns = 100): void {
  describe(`${title} keeps the contract of a policy:`, () => {
    test('it carries the name it is configured by', () => {
      assert.equal(buildPolicy(plan, { identities: [] }).name, plan.policy);
    });

    test('a pick is eligible and was not tried; −1 only when there is no such member', () => {
      fc.assert(
        fc.property(situations, (situation) => {
          const { policy, pool, request } = setUp(plan, situation);
          const usable = pool.states.flatMap((state, at) =>
            state === MEMBER_ELIGIBLE && !request.tried.includes(at) ? [at] : [],
          );
          const position = policy.pick(pool, request);
          if (usable.length === 0) assert.equal(position, -1);
          else assert.ok(usable.includes(position), `picked ${position} of ${usable.join()}`);
        }),
        { numRuns },
      );
    });

    test('with the same chance and rotation the same request gets the same member', () => {
      fc.assert(
        fc.property(situations, (situation) => {
          const one = setUp(plan, situation);
          const other = setUp(plan, situation);
          assert.equal(one.policy.pick(one.pool, one.request), other.policy.pick(other.pool, other.request));
        }),
        { numRuns },
      );
    });

    test('tries of one exchange reach every eligible member once, then none', () => {
      fc.assert(
        fc.property(situations, (situation) => {
          const { policy, pool, request } = setUp(plan, { ...situation, tried: [] });
          const tried: number[] = [];
          for (
            let position = policy.pick(pool, request);
            position >= 0;
            position = policy.pick(pool, { ...request, tried })
          ) {
            tried.push(position);
            assert.ok(tried.length <= pool.size);
          }
          const eligible = pool.states.filter((state) => state === MEMBER_ELIGIBLE).length;
          assert.equal(new Set(tried).size, eligible);
        }),
        { numRuns },
      );
    });

    test('explain never throws, says something, and its last sentence names the pick', () => {
      fc.assert(
        fc.property(situations, (situation) => {
          const explained = setUp(plan, situation);
          const picked = setUp(plan, situation);
          const sentences = explained.policy.explain(explained.pool, explained.request);
          const position = picked.policy.pick(picked.pool, picked.request);
          const expected =
            position < 0
              ? 'no upstream may be picked'
              : `picked upstream ${position} (${picked.pool.identity(position)})`;
          assert.ok(sentences.length >= 2);
          assert.equal(sentences.at(-1), expected);
        }),
        { numRuns },
      );
    });

    if (deterministic) {
      test('neither chance, load nor rotation moves a client', () => {
        fc.assert(
          fc.property(situations, fc.nat(), fc.nat(), (situation, seed, tickets) => {
            const one = setUp(plan, situation);
            const other = setUp(plan, { ...situation, seed, tickets, loads: situation.loads.toReversed() });
            assert.equal(one.policy.pick(one.pool, one.request), other.policy.pick(other.pool, other.request));
          }),
          { numRuns },
        );
      });
    }
  });
}
