import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MEMBER_DOWN, MEMBER_ELIGIBLE, MEMBER_INITIAL } from '../../shared/state-table/layout.ts';
import type { DynamicSourceSpec, PoolSpec } from '../compile/compiled.ts';
import { settle } from '../../../test/support/fake-clock.ts';
import { checkSpec, config, poolSpec, UpstreamsWorld } from '../../../test/support/upstreams-world.ts';
import { MAX_FOUND } from './dynamic-pools.ts';

const A: DynamicSourceSpec = {
  kind: 'a',
  name: 'app',
  port: 80,
  ipv4: true,
  ipv6: true,
  resolvers: [],
  refreshMs: 10_000,
  graceMs: 0,
};
const SRV: DynamicSourceSpec = { ...A, kind: 'srv', name: '_http._tcp.app', port: 0 };

/** A pool found in DNS; `fallback` are its static upstreams. */
function dynamicPool(
  sources: readonly DynamicSourceSpec[],
  fallback: readonly string[] = [],
  given: Partial<PoolSpec> = {},
): PoolSpec {
  const spec = poolSpec('p', fallback, given);
  return { ...spec, section: { ...spec.section, members: [] }, sources };
}

function membersOf(world: UpstreamsWorld): string[] {
  return world.rows('p').found!.map(({ upstream }) => upstream);
}

test('members are what the source names, and identities lose the default port', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app', ['10.0.0.2', '10.0.0.1']);
  await world.load(1, config(dynamicPool([A])));
  const { found, members } = world.rows('p');
  assert.deepEqual(found, [
    { upstream: '10.0.0.1:80', identity: '10.0.0.1' },
    { upstream: '10.0.0.2:80', identity: '10.0.0.2' },
  ]);
  assert.deepEqual(
    members.map(({ endpoints }) => endpoints.map(({ host }) => host)),
    [['10.0.0.1'], ['10.0.0.2']],
  );
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE]);
  world.upstreams.stop();
});

test('members that stay keep their rows, workers are told before the gone address is forgotten', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app', ['10.0.0.1', '10.0.0.2']);
  await world.load(1, config(dynamicPool([A])));
  const before = world.rows('p').members;
  world.names.set('app', ['10.0.0.2', '10.0.0.3']);
  await world.clock.advance(10_000);
  const after = world.rows('p').members;
  assert.deepEqual(world.moved, ['p: 10.0.0.2:80 10.0.0.3:80']);
  assert.deepEqual(after[0], before[1]);
  assert.notEqual(after[1]!.member, before[0]!.member);
  assert.deepEqual(world.forgotten, [before[0]!.endpoints[0]!.slot]);
  assert.deepEqual(
    world.events.map(({ type, message }) => `${type}: ${message}`),
    ['name-changed: pool p now consists of 10.0.0.2:80, 10.0.0.3:80 (it was 10.0.0.1:80, 10.0.0.2:80)'],
  );
  assert.deepEqual(
    world.upstreams.status().map(({ position, poolSize }) => [position, poolSize]),
    [
      [0, 2],
      [1, 2],
    ],
  );
  world.upstreams.stop();
});

test('an address that leaves and returns finds its slot, and the in-flight words with it', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app', ['10.0.0.1', '10.0.0.2']);
  await world.load(1, config(dynamicPool([A])));
  const slot = world.upstreams.slotRow('10.0.0.1:80');
  world.names.set('app', ['10.0.0.2']);
  await world.clock.advance(10_000);
  assert.equal(world.upstreams.slotRow('10.0.0.1:80'), undefined);
  world.names.set('app', ['10.0.0.1', '10.0.0.2']);
  await world.clock.advance(10_000);
  assert.equal(world.upstreams.slotRow('10.0.0.1:80'), slot);
  world.upstreams.stop();
});

test('checks of found members run, one that joins is unproven, one that is gone is no longer probed', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app', ['10.0.0.1']);
  await world.load(1, config(dynamicPool([A], [], { check: checkSpec() })));
  await world.fail('10.0.0.1:80', 'CONNECT_FAILED');
  assert.deepEqual(world.states('p'), [MEMBER_DOWN]);
  await world.pass('10.0.0.1:80');
  world.names.set('app', ['10.0.0.1', '10.0.0.2']);
  await world.clock.advance(10_000);
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE, MEMBER_INITIAL]);
  await world.pass('10.0.0.2:80');
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE, MEMBER_ELIGIBLE]);
  world.names.set('app', ['10.0.0.2']);
  await world.clock.advance(20_000);
  assert.ok(!world.probing().includes('10.0.0.1:80/'));
  world.upstreams.stop();
});

test('the static list serves while no source speaks, and what was found keeps serving without one', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app', 'SERVFAIL');
  await world.load(1, config(dynamicPool([A], ['10.0.9.9:80'])));
  assert.deepEqual(membersOf(world), ['10.0.9.9:80']);
  world.names.set('app', ['10.0.0.1']);
  await world.clock.advance(5000);
  assert.deepEqual(membersOf(world), ['10.0.0.1:80']);
  world.names.set('app', 'SERVFAIL');
  await world.clock.advance(10_000);
  assert.deepEqual(membersOf(world), ['10.0.9.9:80']);
  world.upstreams.stop();

  const alone = new UpstreamsWorld();
  alone.names.set('app', ['10.0.0.1']);
  await alone.load(1, config(dynamicPool([A])));
  alone.names.set('app', 'SERVFAIL');
  await alone.clock.advance(60_000);
  assert.deepEqual(membersOf(alone), ['10.0.0.1:80']);
  assert.equal(alone.events.filter(({ type }) => type === 'name-failed').length, 1);
  alone.upstreams.stop();
});

test('a fallback list that names an address twice is dropped and taken up whole', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app', 'SERVFAIL');
  await world.load(1, config(dynamicPool([A], ['10.0.9.9:80', '10.0.9.9:80'])));
  assert.equal(membersOf(world).length, 2);
  world.names.set('app', ['10.0.0.1']);
  await world.clock.advance(5000);
  assert.deepEqual(membersOf(world), ['10.0.0.1:80']);
  assert.equal(world.upstreams.slotRow('10.0.9.9:80'), undefined);
  assert.equal(world.forgotten.length, 1);
  world.upstreams.stop();
});

test('new SRV targets are resolved before they replace the old ones', async () => {
  const world = new UpstreamsWorld();
  world.names.set('_http._tcp.app', ['one:1']);
  world.names.set('one', ['10.0.0.1']);
  await world.load(1, config(dynamicPool([SRV])));
  assert.deepEqual(world.states('p'), [MEMBER_ELIGIBLE]);
  world.names.set('_http._tcp.app', ['two:2']);
  await world.clock.advance(10_000);
  // The question for `two` does not end: the old target serves on for the time a name is waited for.
  assert.deepEqual(membersOf(world), ['one:1']);
  await world.clock.advance(2000);
  assert.deepEqual(membersOf(world), ['two:2']);
  assert.deepEqual(world.states('p'), [MEMBER_DOWN]);
  world.upstreams.stop();
});

test('a name of an SRV target that moves is told with the whole pool', async () => {
  const world = new UpstreamsWorld();
  world.names.set('_http._tcp.app', ['one:1']);
  world.names.set('one', ['10.0.0.1']);
  await world.load(1, config(dynamicPool([SRV])));
  world.names.set('one', ['10.0.0.2']);
  await world.clock.advance(30_000);
  assert.deepEqual(world.moved, ['p: one:1']);
  assert.equal(world.rows('p').members[0]!.endpoints[0]!.host, '10.0.0.2');
  world.upstreams.stop();
});

test('a reload with the same pool asks nothing anew and keeps rows; one without it lets go of all', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app', ['10.0.0.1']);
  await world.load(1, config(dynamicPool([A])));
  const before = world.rows('p');
  await world.load(2, config(dynamicPool([A])));
  world.upstreams.release(1);
  await settle();
  assert.deepEqual(world.rows('p'), before);
  await world.load(3, config());
  world.upstreams.release(2);
  await world.clock.advance(60_000);
  assert.equal(world.upstreams.slotRow('10.0.0.1:80'), undefined);
  assert.equal(world.clock.pending, 0);
  world.upstreams.stop();
});

test('a failed dial has the source asked again', async () => {
  const world = new UpstreamsWorld();
  world.names.set('app', ['10.0.0.1']);
  await world.load(1, config(dynamicPool([A])));
  world.names.set('app', ['10.0.0.2']);
  world.upstreams.dialFailed(world.upstreams.slotRow('10.0.0.1:80')!);
  await world.clock.advance(1000);
  assert.deepEqual(membersOf(world), ['10.0.0.2:80']);
  world.upstreams.stop();
});

test('a huge answer is cut', async () => {
  const world = new UpstreamsWorld();
  world.names.set(
    'app',
    Array.from({ length: 3000 }, (_, at) => `10.0.${at >> 8}.${at & 255}`),
  );
  await world.load(1, config(dynamicPool([A])));
  assert.equal(membersOf(world).length, MAX_FOUND);
  world.upstreams.stop();
});
