import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSpec, config, poolSpec, UpstreamsWorld } from '../../../test/support/upstreams-world.ts';
import {
  ADMIN_MAINT,
  MEMBER_DOWN,
  MEMBER_ELIGIBLE,
  MEMBER_INITIAL,
  SLOT_ADMIN,
} from '../../shared/state-table/layout.ts';

const hosts = (world: UpstreamsWorld, pool: string, member = 0): readonly string[] =>
  world.rows(pool).members[member]!.endpoints.map(({ host }) => host);

test('an upstream with several addresses is one member, its endpoints in sorted order', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app.test', ['10.0.0.9', '10.0.0.10', '10.0.0.9']);
  await world.load(1, config(poolSpec('p', ['app.test:80', '10.0.0.1:80'])));
  assert.equal(world.rows('p').members.length, 2);
  assert.deepEqual(hosts(world, 'p'), ['10.0.0.9', '10.0.0.10']);
  assert.deepEqual(world.events, []);
  world.upstreams.stop();
});

test('a member is eligible while one of its addresses is', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app.test', ['10.0.0.1', '10.0.0.2']);
  await world.load(1, config(poolSpec('p', ['app.test:80'], { check: checkSpec() })));
  await world.fail('10.0.0.1:80', 'CONNECT_FAILED');
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE]);
  await world.fail('10.0.0.2:80', 'CONNECT_TIMEOUT');
  assert.deepEqual(world.states('p'), [MEMBER_DOWN]);
  assert.match(world.upstreams.status()[0]!.why, /10\.0\.0\.1:80: CONNECT_FAILED.*10\.0\.0\.2:80: CONNECT_TIMEOUT/);
  world.upstreams.stop();
});

test('when a name moves, workers get the new address first and are then told to forget the old one', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app.test', ['127.0.0.1']);
  await world.load(1, config(poolSpec('p', ['app.test:80'])));
  const old = world.rows('p').members[0]!.endpoints[0]!.slot;
  world.names.set('app.test', ['127.0.0.2']);
  await world.clock.advance(30_000);
  assert.deepEqual(world.moved, ['p/0: 127.0.0.2']);
  assert.deepEqual(world.forgotten, [old]);
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE]);
  assert.equal(world.events[0]!.type, 'name-changed');
  assert.equal(world.upstreams.status()[0]!.upstream, 'app.test:80');
  world.upstreams.stop();
});

test('an address that stays keeps its verdict, one that is new starts unproven and is checked', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app.test', ['10.0.0.1']);
  await world.load(1, config(poolSpec('p', ['app.test:80', '10.0.0.7:80'], { check: checkSpec() })));
  await world.fail('10.0.0.1:80', 'CONNECT_FAILED');
  world.names.set('app.test', ['10.0.0.1', '10.0.0.2']);
  await world.clock.advance(30_000);
  assert.deepEqual(world.states('p'), [MEMBER_INITIAL, MEMBER_ELIGIBLE]);
  await world.pass('10.0.0.2:80');
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE]);
  const verdicts = world.upstreams.status()[0]!.endpoints.map((endpoint) => endpoint.checks[0]!.verdict);
  assert.deepEqual(verdicts, ['down', 'up']);
  world.upstreams.stop();
});

test('a name that is down by its check and moves gets no work before a check of the new address passed', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app.test', ['10.0.0.1']);
  await world.load(1, config(poolSpec('p', ['app.test:80', '10.0.0.7:80'], { check: checkSpec() })));
  await world.fail('10.0.0.1:80', 'CONNECT_FAILED');
  world.names.set('app.test', ['10.0.0.2']);
  await world.clock.advance(30_000);
  assert.deepEqual(world.states('p'), [MEMBER_INITIAL, MEMBER_ELIGIBLE]);
  world.upstreams.stop();
});

test('an address taken over from another name has to prove itself under the new one', async () => {
  const world = new UpstreamsWorld();
  world.names.set('a.test', ['10.0.0.1']);
  world.names.set('b.test', ['10.0.0.2']);
  await world.load(1, config(poolSpec('p', ['a.test:80', 'b.test:80'], { check: checkSpec() })));
  world.names.set('b.test', ['10.0.0.1']);
  await world.clock.advance(30_000);
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE, MEMBER_INITIAL]);
  world.upstreams.stop();
});

test('a failed lookup keeps the last good answer and is told once', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app.test', ['10.0.0.1']);
  await world.load(1, config(poolSpec('p', ['app.test:80'])));
  world.names.set('app.test', 'SERVFAIL');
  await world.clock.advance(120_000);
  assert.deepEqual(hosts(world, 'p'), ['10.0.0.1']);
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE]);
  assert.deepEqual(
    world.events.map((event) => event.type),
    ['name-failed'],
  );
  world.upstreams.stop();
});

test('an unresolvable name does not hold up the start: its member is down, says why, and joins later', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app.test', 'SERVFAIL');
  await world.load(1, config(poolSpec('p', ['app.test:80', '10.0.0.7:80'])));
  assert.ok(world.clock.now() < 1000);
  assert.deepEqual(world.states('p'), [MEMBER_DOWN, MEMBER_ELIGIBLE]);
  assert.match(world.upstreams.status()[0]!.why, /app\.test does not resolve \(SERVFAIL\)/);
  world.names.set('app.test', ['10.0.0.1']);
  await world.clock.advance(5000);
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE]);
  assert.deepEqual(
    world.events.map((event) => event.type),
    ['name-failed', 'name-changed'],
  );
  world.upstreams.stop();
});

test('a resolver that never answers delays a load by two seconds and no more', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', ['app.test:80', '10.0.0.7:80'])));
  assert.equal(world.clock.now(), 2000);
  assert.deepEqual(world.states('p'), [MEMBER_DOWN, MEMBER_ELIGIBLE]);
  world.upstreams.stop();
});

test('a failed dial makes the name be asked again within a second', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app.test', ['10.0.0.1']);
  await world.load(1, config(poolSpec('p', ['app.test:80'])));
  world.names.set('app.test', ['10.0.0.2']);
  await world.clock.advance(2000);
  assert.deepEqual(world.moved, []);
  world.upstreams.dialFailed(world.rows('p').members[0]!.endpoints[0]!.slot);
  world.upstreams.dialFailed(12_345);
  await world.clock.advance(1000);
  assert.deepEqual(world.moved, ['p/0: 10.0.0.2']);
  world.upstreams.stop();
});

test('what the operator said about a name follows it to its new address', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app.test', ['10.0.0.1']);
  await world.load(1, config(poolSpec('p', ['app.test:80', '10.0.0.7:80'])));
  assert.equal(world.upstreams.patch('app.test:80', { adminState: 'maint' }), true);
  world.names.set('app.test', ['10.0.0.2']);
  await world.clock.advance(30_000);
  assert.equal(world.upstreams.status()[0]!.state, 'maint');
  assert.equal(world.upstreams.status()[0]!.endpoints[0]!.adminState, 'maint');
  assert.equal(world.table.slots.load(world.rows('p').members[0]!.endpoints[0]!.slot, SLOT_ADMIN), ADMIN_MAINT);
  world.upstreams.patch('10.0.0.2:80', { adminState: 'ready' });
  assert.equal(world.upstreams.status()[0]!.state, 'up');
  world.upstreams.stop();
});

test('one address under two names is checked under each, and each check has its own opinion', async () => {
  const world = new UpstreamsWorld();
  world.names.set('a.test', ['10.0.0.1']);
  world.names.set('b.test', ['10.0.0.1']);
  await world.load(1, config(poolSpec('p', ['a.test:80', 'b.test:80'], { check: checkSpec() })));
  const [a, b] = world.rows('p').members.map(({ endpoints }) => endpoints[0]!);
  assert.equal(a!.slot, b!.slot);
  assert.notEqual(a!.check, b!.check);
  world.upstreams.stop();
});

test('names of a generation that is no longer in force are not asked about', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app.test', ['10.0.0.1']);
  await world.load(1, config(poolSpec('p', ['app.test:80'])));
  await world.load(2, config(poolSpec('q', ['10.0.0.7:80'])));
  world.names.set('app.test', ['10.0.0.2']);
  await world.clock.advance(120_000);
  assert.deepEqual(world.moved, []);
  assert.deepEqual(hosts(world, 'p'), ['10.0.0.1']);
  world.upstreams.stop();
});

test('a generation discarded while its names are still asked about leaves nothing behind', async () => {
  const world = new UpstreamsWorld();
  const preparing = world.upstreams.prepare(1, config(poolSpec('p', ['slow.test:80'])));
  const refused = assert.rejects(preparing, /discarded/);
  world.upstreams.discard(1);
  await world.clock.advance(2000);
  await refused;
  assert.throws(() => world.upstreams.currentRows('p'));
  assert.equal(world.clock.pending, 0);
});

test('of two words about one address, by its name and by itself, the later one holds', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app.test', ['10.0.0.1']);
  await world.load(1, config(poolSpec('p', ['app.test:80'])));
  world.upstreams.patch('app.test:80', { adminState: 'drain', drainMs: 5000 });
  world.upstreams.patch('10.0.0.1:80', { adminState: 'ready' });
  const told = world.events.length;
  await world.clock.advance(60_000);
  assert.deepEqual(world.cut, []);
  assert.equal(world.events.length, told);
  assert.equal(world.upstreams.status()[0]!.state, 'up');

  const restarted = new UpstreamsWorld();
  restarted.names.set('app.test', ['10.0.0.1']);
  restarted.upstreams.restoreAdminStates(world.upstreams.adminStates());
  await restarted.load(1, config(poolSpec('p', ['app.test:80'])));
  assert.equal(restarted.upstreams.status()[0]!.state, 'up');
  restarted.upstreams.patch('app.test:80', { adminState: 'maint' });
  assert.equal(restarted.upstreams.status()[0]!.state, 'maint');
  for (const { upstreams } of [world, restarted]) upstreams.stop();
});
