import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ADMIN_DRAIN,
  ADMIN_MAINT,
  ADMIN_READY,
  CHECK_REASON,
  MEMBER_DOWN,
  MEMBER_DRAIN,
  MEMBER_ELIGIBLE,
  MEMBER_INITIAL,
  MEMBER_MAINT,
  MEMBER_WEIGHT,
  POOL_BEST_EFFORT,
  POOL_EPOCH,
  SLOT_ADMIN,
  SLOT_DRAIN_DEADLINE,
} from '../../shared/state-table/layout.ts';
import { reasonCode } from '../health/reasons.ts';
import { compileJson } from '../../../test/support/config-fixtures.ts';
import { checkSpec, config, poolSpec, serverPlan, UpstreamsWorld } from '../../../test/support/upstreams-world.ts';

const TWO = ['10.0.0.1:80', '10.0.0.2:80'];

test('at process start every server is eligible before anything was checked', async () => {
  const world = new UpstreamsWorld();
  const pool = poolSpec('p', TWO, { check: checkSpec() });
  await world.load(1, config(pool));
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE]);
  world.upstreams.stop();
});

test('a server whose check fails is down with reason, cause and remedy, and comes back after a pass', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', TWO, { check: checkSpec({ fall: 2, rise: 2 }) })));
  const epoch = world.table.pools.load(world.rows('p').pool, POOL_EPOCH);
  await world.fail('10.0.0.1:80', 'CONNECT_FAILED');
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE]);
  await world.fail('10.0.0.1:80', 'CONNECT_FAILED');
  assert.deepEqual(world.states('p'), [MEMBER_DOWN, MEMBER_ELIGIBLE]);
  assert.equal(world.table.pools.load(world.rows('p').pool, POOL_EPOCH), epoch + 1);
  const { check } = world.rows('p').members[0]!.endpoints[0]!;
  assert.equal(world.table.checks.load(check, CHECK_REASON), reasonCode('CONNECT_FAILED'));
  const [down] = world.events.filter((event) => event.type === 'server-down');
  assert.equal(down!.fields['address'], '10.0.0.1:80');
  assert.equal(down!.fields['reason'], 'CONNECT_FAILED');
  assert.notEqual(down!.fields['cause'], '');
  const [status] = world.upstreams.status();
  assert.equal(status!.state, 'down');
  assert.match(status!.why, /CONNECT_FAILED/);
  assert.equal(status!.endpoints[0]!.checks[0]!.results.length, 2);
  await world.pass('10.0.0.1:80');
  await world.pass('10.0.0.1:80');
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE]);
  assert.equal(world.events.at(-1)!.type, 'server-up');
  world.upstreams.stop();
});

test('a reload keeps the verdict and the results of an unchanged check of an unchanged address', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', TWO, { check: checkSpec() })));
  await world.fail('10.0.0.1:80', 'CONNECT_FAILED');
  await world.load(2, config(poolSpec('other-policy', TWO, { check: checkSpec() })));
  world.upstreams.release(1);
  assert.deepEqual(world.states('other-policy'), [MEMBER_DOWN, MEMBER_ELIGIBLE]);
  assert.equal(world.upstreams.status()[0]!.endpoints[0]!.checks[0]!.results.length, 1);
  world.upstreams.stop();
});

test('a reload in the middle of a check neither cancels it nor counts it twice', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', ['10.0.0.1:80'], { check: checkSpec() })));
  await world.clock.advance(1000);
  assert.deepEqual(world.probing(), ['10.0.0.1:80/']);
  await world.load(2, config(poolSpec('q', ['10.0.0.1:80'], { check: checkSpec() })));
  world.upstreams.release(1);
  await world.clock.advance(60_000);
  assert.equal(world.started, 1);
  await world.pass('10.0.0.1:80');
  assert.equal(world.upstreams.status()[0]!.endpoints[0]!.checks[0]!.results.length, 1);
  world.upstreams.stop();
});

test('a check that no generation in force names is cancelled and gives no result', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', ['10.0.0.1:80'], { check: checkSpec() })));
  await world.clock.advance(1000);
  await world.load(2, config(poolSpec('q', ['10.0.0.1:80'])));
  await world.clock.advance(60_000);
  assert.deepEqual(world.probing(), []);
  assert.equal(world.started, 1);
  assert.deepEqual(world.events, []);
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE]);
  world.upstreams.stop();
});

test('a pool named by two generations keeps its rows; they are given up with the last of them', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', TWO)));
  const before = world.rows('p');
  await world.load(2, config(poolSpec('p', TWO), poolSpec('q', ['10.0.0.3:80'])));
  world.upstreams.release(1);
  assert.deepEqual(world.rows('p'), before);
  await world.load(3, config(poolSpec('q', ['10.0.0.3:80'])));
  assert.deepEqual(world.forgotten, []);
  world.upstreams.release(2);
  assert.deepEqual(
    world.forgotten,
    before.members.map((member) => member.endpoints[0]!.slot),
  );
  assert.throws(() => world.upstreams.currentRows('p'), /no generation names/);
  world.upstreams.stop();
});

test('a discarded generation leaves the one in force as it was', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', TWO)));
  await world.upstreams.prepare(2, config(poolSpec('p', TWO), poolSpec('q', ['10.0.0.9:80'])));
  world.upstreams.discard(2);
  assert.deepEqual([...world.upstreams.slotRows().keys()], TWO);
  assert.equal(world.forgotten.length, 1);
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE]);
  world.upstreams.stop();
});

test('a server added by a reload gets no work before its first pass while another is eligible', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', ['10.0.0.1:80'], { check: checkSpec({ rise: 3 }) })));
  await world.load(2, config(poolSpec('q', TWO, { check: checkSpec({ rise: 3 }) })));
  assert.deepEqual(world.states('q'), [MEMBER_ELIGIBLE, MEMBER_INITIAL]);
  assert.equal(world.upstreams.status()[1]!.state, 'initial');
  await world.fail('10.0.0.1:80', 'CONNECT_FAILED');
  assert.deepEqual(world.states('q'), [MEMBER_DOWN, MEMBER_ELIGIBLE]);
  assert.equal(world.upstreams.status()[1]!.state, 'initial');
  await world.pass('10.0.0.2:80');
  assert.equal(world.upstreams.status()[1]!.state, 'up');
  world.upstreams.stop();
});

test('a changed check does not take a server out of service, nor bring one back that was down', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', TWO, { check: checkSpec() })));
  await world.fail('10.0.0.2:80', 'CONNECT_FAILED');
  await world.load(2, config(poolSpec('q', TWO, { check: checkSpec({ intervalMs: 777 }) })));
  world.upstreams.release(1);
  assert.deepEqual(world.states('q'), [MEMBER_ELIGIBLE, MEMBER_INITIAL]);
  world.upstreams.stop();
});

test('two checks of one address never share an opinion', async () => {
  const world = new UpstreamsWorld();
  const live = poolSpec('live', ['10.0.0.1:80'], { check: checkSpec({ http: { uri: '/live' } }) });
  const deep = poolSpec('deep', ['10.0.0.1:80'], { check: checkSpec({ http: { uri: '/deep' } }) });
  await world.load(1, config(live, deep));
  await world.fail('10.0.0.1:80', 'HTTP_CODE_NOT_MATCH', '/deep');
  assert.deepEqual(world.states('live'), [MEMBER_ELIGIBLE]);
  assert.deepEqual(world.states('deep'), [MEMBER_DOWN]);
  world.upstreams.stop();
});

test('health_initial down keeps servers out until they passed', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', ['10.0.0.1:80'], { check: checkSpec({ initial: 'down' }) })));
  assert.deepEqual(world.states('p'), [MEMBER_DOWN]);
  await world.pass('10.0.0.1:80');
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE]);
  world.upstreams.stop();
});

test('best effort: all down are tried, drained ones stay out, one that recovers gets everything at once', async () => {
  const world = new UpstreamsWorld();
  const three = [...TWO, '10.0.0.3:80'];
  await world.load(1, config(poolSpec('p', three, { check: checkSpec(), bestEffort: true })));
  world.upstreams.patch('10.0.0.3:80', { adminState: 'drain' });
  for (const address of three) await world.fail(address, 'HTTP_CODE_NOT_MATCH');
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE, MEMBER_DOWN]);
  assert.equal(world.table.pools.load(world.rows('p').pool, POOL_BEST_EFFORT), 1);
  assert.equal(world.upstreams.status()[0]!.bestEffort, true);
  assert.equal(world.upstreams.status()[0]!.state, 'down');
  await world.pass('10.0.0.2:80');
  assert.deepEqual(world.states('p'), [MEMBER_DOWN, MEMBER_ELIGIBLE, MEMBER_DOWN]);
  assert.equal(world.table.pools.load(world.rows('p').pool, POOL_BEST_EFFORT), 0);
  const told = world.events.filter(({ type }) => type.startsWith('best-effort'));
  assert.deepEqual(
    told.map(({ type }) => type),
    ['best-effort-entered', 'best-effort-left'],
  );
  assert.match(told[0]!.message, /^all members of pool \w+ \(10\.0\.0\.1:80, .*\) are down: all are tried$/);
  world.upstreams.stop();
});

test('without best effort a pool that is all down has no eligible member', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', TWO, { check: checkSpec() })));
  for (const address of TWO) await world.fail(address, 'CONNECT_FAILED');
  assert.deepEqual(world.states('p'), [MEMBER_DOWN, MEMBER_DOWN]);
  world.upstreams.stop();
});

test('admin state and weight hold for an address in all pools, over reloads and over a restart', async () => {
  const world = new UpstreamsWorld();
  const pools = config(poolSpec('p', TWO), poolSpec('q', ['10.0.0.1:80']));
  await world.load(1, pools);
  const slot = world.rows('p').members[0]!.endpoints[0]!.slot;
  assert.equal(world.upstreams.patch('10.0.0.1:80', { adminState: 'maint' }), true);
  assert.equal(world.upstreams.patch('10.0.0.2:80', { weight: 7 }), true);
  assert.equal(world.upstreams.patch('10.0.0.99:80', { adminState: 'maint' }), false);
  assert.deepEqual([world.states('p'), world.states('q')], [[MEMBER_MAINT, MEMBER_ELIGIBLE], [MEMBER_MAINT]]);
  assert.equal(world.table.slots.load(slot, SLOT_ADMIN), ADMIN_MAINT);
  assert.equal(world.table.members.load(world.rows('p').members[1]!.member, MEMBER_WEIGHT), 7);
  await world.load(2, config(poolSpec('r', TWO)));
  world.upstreams.release(1);
  assert.deepEqual(world.states('r'), [MEMBER_MAINT, MEMBER_ELIGIBLE]);

  const restarted = new UpstreamsWorld();
  restarted.upstreams.restoreAdminStates(JSON.parse(JSON.stringify(world.upstreams.adminStates())));
  await restarted.load(1, pools);
  assert.deepEqual(restarted.states('p'), [MEMBER_MAINT, MEMBER_ELIGIBLE]);
  assert.equal(restarted.upstreams.status()[1]!.weight, 7);
  restarted.upstreams.patch('10.0.0.1:80', { adminState: 'ready' });
  assert.deepEqual(restarted.states('p'), [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE]);
  assert.equal(restarted.table.slots.load(slot, SLOT_ADMIN), ADMIN_READY);
  for (const { upstreams } of [world, restarted]) upstreams.stop();
});

test('a drain deadline survives a reload; then running work is cut once and nobody is let in', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', TWO)));
  const slot = world.rows('p').members[0]!.endpoints[0]!.slot;
  world.upstreams.patch('10.0.0.1:80', { adminState: 'drain', drainMs: 5000 });
  assert.deepEqual(world.states('p'), [MEMBER_DRAIN, MEMBER_ELIGIBLE]);
  assert.equal(world.table.slots.load(slot, SLOT_ADMIN), ADMIN_DRAIN);
  assert.equal(world.table.slots.total(slot, SLOT_DRAIN_DEADLINE), world.clock.wall() + 5000);
  await world.clock.advance(3000);
  await world.load(2, config(poolSpec('q', TWO)));
  world.upstreams.release(1);
  assert.deepEqual(world.cut, []);
  await world.clock.advance(2000);
  assert.deepEqual(world.cut, [slot]);
  assert.deepEqual(world.states('q'), [MEMBER_MAINT, MEMBER_ELIGIBLE]);
  assert.equal(world.upstreams.status()[0]!.endpoints[0]!.adminState, 'drain');
  await world.clock.advance(60_000);
  assert.deepEqual(world.cut, [slot]);
  world.upstreams.stop();
});

test('a server made ready again before its deadline is not cut; drain 0 cuts at once', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', TWO)));
  world.upstreams.patch('10.0.0.1:80', { adminState: 'drain', drainMs: 5000 });
  world.upstreams.patch('10.0.0.1:80', { adminState: 'ready' });
  await world.clock.advance(60_000);
  assert.deepEqual(world.cut, []);
  world.upstreams.patch('10.0.0.1:80', { adminState: 'drain', drainMs: 0 });
  assert.deepEqual(world.cut, [world.rows('p').members[0]!.endpoints[0]!.slot]);
  world.upstreams.stop();
});

test('a patch that makes no sense is refused and changes nothing', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', TWO)));
  assert.throws(() => world.upstreams.patch('10.0.0.1:80', { weight: -1 }), RangeError);
  assert.throws(() => world.upstreams.patch('10.0.0.1:80', { adminState: 'maint', drainMs: 5 }), RangeError);
  assert.deepEqual(world.upstreams.adminStates(), []);
  assert.deepEqual(world.events, []);
  world.upstreams.stop();
});

test('servers keep their row over reloads and give it up with their last generation', async () => {
  const world = new UpstreamsWorld();
  const first = await world.upstreams.prepare(1, { ...config(), servers: [serverPlan('srv0')] });
  world.upstreams.activate(1);
  const second = await world.upstreams.prepare(2, { ...config(), servers: [serverPlan('srv1'), serverPlan('srv0')] });
  world.upstreams.activate(2);
  assert.equal(second.serverRows.get('srv0'), first.serverRows.get('srv0'));
  assert.notEqual(second.serverRows.get('srv1'), second.serverRows.get('srv0'));
  assert.deepEqual([...world.upstreams.serverRows().keys()].sort(), ['srv0', 'srv1']);
  world.upstreams.stop();
});

test('an HTTP server and a layer 4 server of one name have a row each', async () => {
  const world = new UpstreamsWorld();
  const { layer4 } = compileJson({
    apps: { layer4: { servers: { srv0: { listen: [':7'], routes: [{ handle: [{ handler: 'echo' }] }] } } } },
  }).compiled;
  const rows = await world.upstreams.prepare(1, { ...config(), servers: [serverPlan('srv0')], layer4 });
  world.upstreams.activate(1);
  assert.notEqual(rows.layer4Rows.get('srv0'), rows.serverRows.get('srv0'));
  assert.deepEqual([...world.upstreams.serverRows()], [...rows.serverRows]);
  assert.deepEqual([...world.upstreams.layer4Rows()], [...rows.layer4Rows]);
  world.upstreams.stop();
});

test('a server over UDP is another one than that over TCP at the same address', async () => {
  const world = new UpstreamsWorld();
  const dns = (dial: string, listen: string): Record<string, unknown> => ({
    listen: [listen],
    routes: [{ handle: [{ handler: 'proxy', upstreams: [{ dial: [dial] }] }] }],
  });
  const servers = { tcp: dns('10.0.0.1:53', ':53'), udp: dns('udp/10.0.0.1:53', 'udp/:53') };
  await world.load(1, compileJson({ apps: { layer4: { servers } } }).compiled);
  assert.deepEqual(
    world.upstreams.status().map(({ layer, endpoints }) => [layer, endpoints[0]!.address]),
    [
      ['tcp', '10.0.0.1:53'],
      ['udp', 'udp/10.0.0.1:53'],
    ],
  );
  assert.equal(world.upstreams.patch('udp/10.0.0.1:53', { adminState: 'maint' }), true);
  assert.deepEqual(
    world.upstreams.status().map(({ state }) => state),
    ['up', 'maint'],
  );
  assert.notEqual(world.upstreams.slotRow('udp/10.0.0.1:53'), world.upstreams.slotRow('10.0.0.1:53'));
  world.upstreams.stop();
});

test('nothing is left waiting after stop', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', ['app.test:80', ...TWO], { check: checkSpec() })));
  world.upstreams.patch('10.0.0.1:80', { adminState: 'drain', drainMs: 5000 });
  world.upstreams.stop();
  await world.clock.advance(1);
  assert.equal(world.clock.pending, 0);
});

test('a server that only an old generation still names is not in service: it comes back unproven', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', TWO, { check: checkSpec() })));
  await world.load(2, config(poolSpec('q', [TWO[0]!], { check: checkSpec() })));
  await world.load(3, config(poolSpec('r', TWO, { check: checkSpec({ intervalMs: 777 }) })));
  assert.deepEqual(world.states('r'), [MEMBER_ELIGIBLE, MEMBER_INITIAL]);
  world.upstreams.stop();
});

test('a generation that cannot be prepared leaves nothing behind', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(poolSpec('p', TWO)));
  const broken = config(poolSpec('q', ['10.0.0.9:80']), poolSpec('p', TWO, { bestEffort: true }));
  await assert.rejects(world.upstreams.prepare(2, broken), /two definitions under one hash/);
  assert.throws(() => world.upstreams.currentRows('q'));
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE]);
  world.upstreams.release(1);
  assert.throws(() => world.upstreams.currentRows('p'));
  world.upstreams.stop();
});
