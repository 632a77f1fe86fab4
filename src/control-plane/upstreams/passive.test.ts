import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { config, poolSpec, UpstreamsWorld } from '../../../test/support/upstreams-world.ts';
import type { PassivePlan } from '../../shared/plan/types.ts';
import {
  MEMBER_DOWN,
  MEMBER_ELIGIBLE,
  MEMBER_HALF_OPEN,
  MEMBER_PASSIVE_FAILS,
  MEMBER_STATE,
  MEMBER_STRIKE,
  MEMBER_STRUCK,
} from '../../shared/state-table/layout.ts';

const PASSIVE: PassivePlan = {
  failDurationMs: 1000,
  maxFails: 1,
  unhealthyStatus: [],
  unhealthyLatencyMs: 0,
  failRatio: 0,
  minRequests: 10,
};

async function start(size: number): Promise<UpstreamsWorld> {
  const world = new UpstreamsWorld();
  const spec = poolSpec(
    'p',
    Array.from({ length: size }, (_, at) => `10.0.0.${at + 1}:80`),
  );
  await world.load(1, config({ ...spec, section: { ...spec.section, passive: PASSIVE } }));
  return world;
}

function rowOf(world: UpstreamsWorld, position: number): number {
  return world.rows('p').members[position]!.member;
}

function strikeOf(world: UpstreamsWorld, position: number): number {
  return world.table.members.load(rowOf(world, position), MEMBER_STRIKE);
}

function report(
  world: UpstreamsWorld,
  position: number,
  outcome: 'failed' | 'passed',
  strike = strikeOf(world, position),
): void {
  world.upstreams.passive('p', rowOf(world, position), outcome, strike);
}

/** As a worker does when it takes the test. */
function claim(world: UpstreamsWorld, position: number): void {
  world.table.members.store(rowOf(world, position), MEMBER_STATE, MEMBER_STRUCK);
}

test('struck, then half-open after fail_duration, and back after a test that passed', async () => {
  const world = await start(2);
  report(world, 0, 'failed');
  assert.deepEqual(world.states('p'), [MEMBER_STRUCK, MEMBER_ELIGIBLE]);
  await world.clock.advance(999);
  assert.deepEqual(world.states('p'), [MEMBER_STRUCK, MEMBER_ELIGIBLE]);
  await world.clock.advance(1);
  assert.deepEqual(world.states('p'), [MEMBER_HALF_OPEN, MEMBER_ELIGIBLE]);
  claim(world, 0);
  report(world, 0, 'passed');
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE]);
  assert.deepEqual([strikeOf(world, 0), world.clock.pending], [0, 0]);
  assert.deepEqual(
    world.events.map(({ type }) => type),
    ['upstream-struck', 'upstream-recovered'],
  );
});

test('after a test that failed it is down, and tested again', async () => {
  const world = await start(2);
  report(world, 0, 'failed');
  await world.clock.advance(1000);
  claim(world, 0);
  report(world, 0, 'failed');
  assert.deepEqual(world.states('p'), [MEMBER_DOWN, MEMBER_ELIGIBLE]);
  await world.clock.advance(1000);
  assert.deepEqual(world.states('p'), [MEMBER_HALF_OPEN, MEMBER_ELIGIBLE]);
});

test('a test without a result is given to another request', async () => {
  const world = await start(2);
  report(world, 0, 'failed');
  await world.clock.advance(1000);
  claim(world, 0);
  await world.clock.advance(1000);
  assert.deepEqual(world.states('p'), [MEMBER_HALF_OPEN, MEMBER_ELIGIBLE]);
});

test('what belongs to another strike comes too late', async () => {
  const world = await start(2);
  report(world, 0, 'failed');
  const first = strikeOf(world, 0);
  report(world, 0, 'failed', 0);
  report(world, 0, 'passed', 0);
  assert.equal(strikeOf(world, 0), first);
  report(world, 0, 'failed');
  report(world, 0, 'passed', first);
  assert.notEqual(strikeOf(world, 0), 0);
});

test('passive checks never empty a pool, and leave it as soon as another is there', async () => {
  const world = await start(2);
  report(world, 0, 'failed');
  report(world, 1, 'failed');
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE]);
  report(world, 1, 'passed');
  assert.deepEqual(world.states('p'), [MEMBER_STRUCK, MEMBER_ELIGIBLE]);
});

test('a lone member is never taken away', async () => {
  const world = await start(1);
  report(world, 0, 'failed');
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE]);
  const [event] = world.events;
  assert.match(event?.message ?? '', /it stays in use/);
});

test('drain and maintenance come first, and a strike outlives them', async () => {
  const world = await start(3);
  report(world, 0, 'failed');
  world.upstreams.patch('10.0.0.1:80', { adminState: 'maint' });
  assert.equal(world.upstreams.status()[0]?.state, 'maint');
  world.upstreams.patch('10.0.0.1:80', { adminState: 'ready' });
  assert.equal(world.upstreams.status()[0]?.state, 'struck');
});

test('the status tells the failures that are remembered', async () => {
  const world = await start(2);
  world.table.members.store(rowOf(world, 0), MEMBER_PASSIVE_FAILS, 4);
  report(world, 0, 'failed');
  assert.deepEqual(
    world.upstreams.status().map(({ state, passiveFails }) => [state, passiveFails]),
    [
      ['struck', 4],
      ['up', 0],
    ],
  );
});

test('nothing is left of a pool that is gone, and its end stops every timer', async () => {
  const world = await start(2);
  report(world, 0, 'failed');
  await world.load(2, config());
  world.upstreams.release(1);
  await world.clock.advance(0);
  world.upstreams.passive('p', 0, 'failed', 0);
  await world.clock.advance(5000);
  const rest = await start(2);
  report(rest, 1, 'failed');
  rest.upstreams.stop();
  assert.equal(rest.clock.pending, 0);
});

type Step =
  | { readonly member: number; readonly kind: 'failed' | 'passed' | 'late' | 'claim' }
  | { readonly waitMs: number };

test('whatever workers report, somebody is eligible, and a member is away only under a strike', async () => {
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ member: fc.nat(2), kind: fc.constantFrom('failed', 'passed', 'late', 'claim') }),
    fc.record({ waitMs: fc.integer({ min: 0, max: 1500 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const world = await start(3);
      for (const one of steps) {
        if ('waitMs' in one) await world.clock.advance(one.waitMs);
        else if (one.kind === 'late') report(world, one.member, 'passed', 0x3ffffff0);
        else if (one.kind !== 'claim') report(world, one.member, one.kind);
        else if (world.states('p')[one.member] === MEMBER_HALF_OPEN) claim(world, one.member);
        const states = world.states('p');
        assert.ok(states.includes(MEMBER_ELIGIBLE), `nobody is eligible: ${states.join()}`);
        for (const [member, state] of states.entries()) {
          if (state !== MEMBER_ELIGIBLE) assert.notEqual(strikeOf(world, member), 0);
        }
      }
      world.upstreams.stop();
    }),
    { numRuns: 100 },
  );
});
