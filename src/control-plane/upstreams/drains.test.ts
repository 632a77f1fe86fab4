import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  FACT_IN_FLIGHT,
  MEMBER_DOWN,
  MEMBER_DRAIN,
  MEMBER_ELIGIBLE,
  MEMBER_MAINT,
} from '../../shared/state-table/layout.ts';
import { checkSpec, config, poolSpec, UpstreamsWorld } from '../../../test/support/upstreams-world.ts';
import type { PoolSpec } from '../compile/compiled.ts';

const ONE = '10.0.0.1:80';
const TWO = '10.0.0.2:80';
const BOTH = [ONE, TWO];
const LANE = 1;

async function loaded(...pools: readonly PoolSpec[]): Promise<UpstreamsWorld> {
  const world = new UpstreamsWorld();
  world.upstreams.addLane(LANE);
  await world.load(1, config(...pools));
  return world;
}

function pool(hash: string, drainMs: number | undefined, given: Partial<PoolSpec> = {}): PoolSpec {
  return poolSpec(hash, BOTH, { check: checkSpec(), ...(drainMs === undefined ? {} : { drainMs }), ...given });
}

function slotOf(world: UpstreamsWorld, address: string): number {
  return world.upstreams.slotRow(address)!;
}

/** What runs on the address. */
function run(world: UpstreamsWorld, address: string, sessions: number): void {
  world.table.facts(LANE).add(slotOf(world, address), FACT_IN_FLIGHT, sessions);
}

function told(world: UpstreamsWorld): string[] {
  return world.events
    .filter(({ type }) => type.startsWith('drain-'))
    .map(({ type, fields }) => `${type} ${String(fields['address'])} ${String(fields['cause'])}`);
}

test('off: what runs on a server that is down is never ended, and its end is told', async () => {
  const world = await loaded(pool('p', undefined));
  run(world, ONE, 2);
  await world.fail(ONE, 'CONNECT_FAILED');
  assert.deepEqual(world.states('p'), [MEMBER_DOWN, MEMBER_ELIGIBLE]);
  await world.clock.advance(900_000);
  assert.deepEqual([world.cutPools, told(world)], [[], []]);
  run(world, ONE, -2);
  await world.clock.advance(1000);
  assert.deepEqual(told(world), [`drain-finished ${ONE} down`]);
  world.upstreams.stop();
});

test('a time: ended at the deadline, not before, in the pool that has the option and in no other', async () => {
  const world = await loaded(pool('p', 5000), pool('q', undefined));
  run(world, ONE, 1);
  await world.fail(ONE, 'CONNECT_FAILED');
  const [shown] = world.upstreams.status();
  assert.equal(shown!.endpoints[0]!.drainDeadline, world.clock.wall() + 5000);
  assert.equal(shown!.endpoints[0]!.inFlight, 1);
  await world.clock.advance(4900);
  assert.deepEqual(world.cutPools, []);
  await world.clock.advance(400);
  assert.deepEqual(world.cutPools, [`finish p ${slotOf(world, ONE)}`]);
  assert.deepEqual(told(world), [`drain-passed ${ONE} down`]);
  run(world, ONE, -1);
  await world.clock.advance(60_000);
  assert.equal(world.cutPools.length, 1);
  assert.equal(told(world).filter((event) => event.startsWith('drain-finished')).length, 2, 'one a pool');
  world.upstreams.stop();
});

test('immediate: ended with the failure that takes the server down, and not with the one before', async () => {
  const world = await loaded(pool('p', 0, { check: checkSpec({ fall: 2 }) }));
  run(world, ONE, 1);
  await world.fail(ONE, 'CONNECT_FAILED');
  assert.deepEqual([world.states('p')[0], world.cutPools], [MEMBER_ELIGIBLE, []]);
  await world.fail(ONE, 'CONNECT_FAILED');
  assert.deepEqual([world.states('p')[0], world.cutPools], [MEMBER_DOWN, [`reset p ${slotOf(world, ONE)}`]]);
  world.upstreams.stop();
});

test('a server that is back before the deadline keeps what runs on it; the next time counts anew', async () => {
  const world = await loaded(pool('p', 5000));
  run(world, ONE, 1);
  await world.fail(ONE, 'CONNECT_FAILED');
  await world.clock.advance(3000);
  await world.pass(ONE);
  await world.clock.advance(10_000);
  assert.deepEqual(world.cutPools, []);
  await world.fail(ONE, 'CONNECT_FAILED');
  await world.clock.advance(4000);
  assert.deepEqual(world.cutPools, []);
  await world.clock.advance(2000);
  assert.equal(world.cutPools.length, 1);
  world.upstreams.stop();
});

for (const [name, patch] of [
  ['drain', { adminState: 'drain' }],
  ['weight 0', { weight: 0 }],
] as const) {
  test(`${name} by the operator: cookies lead there until the deadline of the pool, then nothing does`, async () => {
    const world = await loaded(pool('p', 5000), pool('q', undefined));
    world.upstreams.patch(ONE, patch);
    assert.deepEqual(world.states('p'), [MEMBER_DRAIN, MEMBER_ELIGIBLE]);
    run(world, ONE, 1);
    await world.clock.advance(5300);
    assert.deepEqual(world.cutPools, [`finish p ${slotOf(world, ONE)}`]);
    assert.deepEqual([world.states('p')[0], world.states('q')[0]], [MEMBER_MAINT, MEMBER_DRAIN]);
    assert.match(world.upstreams.status()[0]!.why, /the drain deadline has passed/);
    world.upstreams.patch(ONE, { adminState: 'ready', weight: 1 });
    assert.deepEqual([world.states('p')[0], world.states('q')[0]], [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE]);
    world.upstreams.stop();
  });
}

test("a deadline of the operator's own counts instead of the pool's", async () => {
  const world = await loaded(pool('p', 1000));
  run(world, ONE, 1);
  world.upstreams.patch(ONE, { adminState: 'drain', drainMs: 60_000 });
  await world.clock.advance(30_000);
  assert.deepEqual([world.cutPools, world.cut], [[], []]);
  await world.clock.advance(30_000);
  assert.deepEqual([world.cutPools, world.cut], [[], [slotOf(world, ONE)]]);
  world.upstreams.stop();
});

test('his word about a server that is down begins the time anew', async () => {
  const world = await loaded(pool('p', 5000));
  run(world, ONE, 1);
  await world.fail(ONE, 'CONNECT_FAILED');
  await world.clock.advance(4000);
  world.upstreams.patch(ONE, { adminState: 'drain' });
  await world.clock.advance(4000);
  assert.deepEqual(world.cutPools, []);
  await world.clock.advance(1300);
  assert.equal(world.cutPools.length, 1);
  world.upstreams.stop();
});

test('removed by a reload: the drain of the old pool, until nothing runs; it is shown as long as something does', async () => {
  const world = await loaded(pool('old', 5000));
  run(world, ONE, 3);
  await world.load(2, config(poolSpec('new', [TWO])));
  await world.clock.advance(1000);
  const removed = world.upstreams.status().find(({ upstream }) => upstream === ONE)!;
  assert.deepEqual([removed.state, removed.inFlight], ['drain', 3]);
  assert.match(removed.why, /does not name it/);
  await world.clock.advance(3900);
  assert.deepEqual(world.cutPools, []);
  await world.clock.advance(1000);
  assert.deepEqual(world.cutPools, [`finish old ${slotOf(world, ONE)}`]);
  run(world, ONE, -3);
  await world.clock.advance(1000);
  assert.deepEqual(told(world), [`drain-passed ${ONE} removed`, `drain-finished ${ONE} removed`]);
  assert.equal(
    world.upstreams.status().some(({ upstream }) => upstream === ONE),
    false,
  );
  world.upstreams.release(1);
  world.upstreams.stop();
});

test('a server that another reload names again before the deadline keeps what runs on it', async () => {
  const world = await loaded(pool('old', 5000));
  run(world, ONE, 1);
  await world.load(2, config(poolSpec('new', [TWO])));
  await world.clock.advance(3000);
  await world.load(3, config(poolSpec('newest', BOTH)));
  await world.clock.advance(60_000);
  assert.deepEqual(world.cutPools, []);
  world.upstreams.stop();
});

test('a deadline survives a reload that changes the pool: under the old one and the new one it is the same moment', async () => {
  const world = await loaded(pool('old', 5000));
  run(world, ONE, 1);
  await world.fail(ONE, 'CONNECT_FAILED');
  await world.clock.advance(3000);
  await world.load(2, config(pool('new', 5000)));
  assert.deepEqual(world.states('new'), [MEMBER_DOWN, MEMBER_ELIGIBLE]);
  await world.clock.advance(1500);
  assert.deepEqual(world.cutPools, []);
  await world.clock.advance(1000);
  const slot = slotOf(world, ONE);
  assert.deepEqual(new Set(world.cutPools), new Set([`finish new ${slot}`, `finish old ${slot}`]));
  world.upstreams.stop();
});

test('a pool that was changed to immediate ends what it took over from the one before', async () => {
  const world = await loaded(pool('old', undefined));
  run(world, ONE, 1);
  await world.fail(ONE, 'CONNECT_FAILED');
  await world.load(2, config(pool('new', 0)));
  await world.clock.advance(1000);
  assert.ok(world.cutPools.includes(`reset new ${slotOf(world, ONE)}`));
  assert.equal(world.cutPools.filter((cut) => cut.includes('old')).length, 0);
  world.upstreams.stop();
});

test('old connections of a server that is down are not ended while the same check passes in the new config', async () => {
  const world = await loaded(pool('old', 5000));
  run(world, ONE, 1);
  await world.fail(ONE, 'CONNECT_FAILED');
  await world.load(2, config(pool('new', 5000)));
  await world.pass(ONE);
  await world.clock.advance(60_000);
  assert.deepEqual(world.cutPools, []);
  world.upstreams.stop();
});

test('best effort: the deadline waits while all are down and tried, and counts once another is back', async () => {
  const world = await loaded(pool('p', 5000, { bestEffort: true }));
  run(world, ONE, 1);
  await world.fail(ONE, 'CONNECT_FAILED');
  await world.fail(TWO, 'CONNECT_FAILED');
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE]);
  await world.clock.advance(60_000);
  assert.deepEqual(world.cutPools, []);
  await world.pass(TWO);
  await world.clock.advance(1000);
  assert.deepEqual(world.cutPools, [`finish p ${slotOf(world, ONE)}`]);
  assert.deepEqual(world.states('p'), [MEMBER_DOWN, MEMBER_ELIGIBLE]);
  world.upstreams.stop();
});

test('immediate and best effort: what runs goes with the verdict, what is tried meanwhile when another is back', async () => {
  const world = await loaded(pool('p', 0, { bestEffort: true }));
  await world.fail(ONE, 'CONNECT_FAILED');
  await world.fail(TWO, 'CONNECT_FAILED');
  const [one, two] = [slotOf(world, ONE), slotOf(world, TWO)];
  assert.deepEqual(world.cutPools, [`reset p ${one}`, `reset p ${two}`]);
  await world.clock.advance(60_000);
  assert.equal(world.cutPools.length, 2);
  await world.pass(TWO);
  assert.deepEqual(world.cutPools.slice(2), [`reset p ${one}`]);
  world.upstreams.stop();
});

test('a refusal that traffic met is a failed check, once in half an interval, and only at layer 4', async () => {
  const probe = { kind: 'tcp', close: 'reset', script: [], tls: null } as const;
  const check = checkSpec({ fall: 2, intervalMs: 10_000, probe });
  const world = await loaded(poolSpec('l4', [ONE], { check, layer: 'tcp' }), poolSpec('http', [TWO], { check }));
  await world.clock.advance(20_000);
  for (let burst = 0; burst < 50; burst += 1) {
    world.upstreams.refused(slotOf(world, ONE));
    world.upstreams.refused(slotOf(world, TWO));
  }
  assert.deepEqual([world.states('l4'), world.states('http')], [[MEMBER_ELIGIBLE], [MEMBER_ELIGIBLE]]);
  const [shown] = world.upstreams.status();
  assert.equal(shown!.endpoints[0]!.checks[0]!.reason, 'CONNECT_FAILED');
  await world.clock.advance(5000);
  world.upstreams.refused(slotOf(world, ONE));
  world.upstreams.refused(slotOf(world, TWO));
  assert.deepEqual([world.states('l4'), world.states('http')], [[MEMBER_DOWN], [MEMBER_ELIGIBLE]]);
  world.upstreams.stop();
});
