import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MEMBER_STATE, MEMBER_ELIGIBLE, MEMBER_WEIGHT } from '../../shared/state-table/layout.ts';
import { checkSpec, config, poolSpec, UpstreamsWorld } from '../../../test/support/upstreams-world.ts';
import type { PoolSpec } from '../compile/compiled.ts';

const ADDRESSES = ['10.0.0.1:80', '10.0.0.2:80'];

function slowPool(slowStartMs: number, weight = 1): PoolSpec {
  const spec = poolSpec('p', ADDRESSES, { check: checkSpec() });
  const [first, second] = spec.members;
  return { ...spec, members: [{ ...first!, slowStartMs, weight }, second!] };
}

function weights(world: UpstreamsWorld): readonly number[] {
  return world.rows('p').members.map(({ member }) => world.table.members.load(member, MEMBER_WEIGHT));
}

test('at start everybody has its whole weight at once', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(slowPool(9000, 3)));
  assert.deepEqual(weights(world), [30, 10]);
  world.upstreams.stop();
});

test('a recovered server climbs in steps to its whole weight', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(slowPool(90_000)));
  await world.pass('10.0.0.2:80');
  await world.fail('10.0.0.1:80', 'CONNECT_FAILED');
  await world.pass('10.0.0.1:80');
  const row = world.rows('p').members[0]!.member;
  assert.equal(world.table.members.load(row, MEMBER_STATE), MEMBER_ELIGIBLE);
  const seen = [weights(world)[0]];
  for (let step = 0; step < 10; step += 1) {
    await world.clock.advance(10_000);
    seen.push(weights(world)[0]);
  }
  assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10]);
  assert.equal(weights(world)[1], 10);
  assert.equal(world.upstreams.status()[0]!.weight, 1);
  world.upstreams.stop();
});

test('one that falls again begins anew, and an operator weight scales the climb', async () => {
  const world = new UpstreamsWorld();
  await world.load(1, config(slowPool(90_000)));
  await world.fail('10.0.0.1:80', 'CONNECT_FAILED');
  await world.pass('10.0.0.1:80');
  await world.clock.advance(30_000);
  world.upstreams.patch('10.0.0.1:80', { weight: 5 });
  const before = weights(world)[0]!;
  assert.ok(before > 5 && before < 50 && before % 5 === 0, `weight word ${before}`);
  await world.fail('10.0.0.1:80', 'CONNECT_FAILED');
  await world.pass('10.0.0.1:80');
  assert.equal(weights(world)[0], 5);
  world.upstreams.stop();
});

test('a pool without slow_start writes weights as they are', async () => {
  const world = new UpstreamsWorld();
  const spec = poolSpec('p', ADDRESSES);
  const [first, second] = spec.members;
  await world.load(
    1,
    config({
      ...spec,
      members: [
        { ...first!, weight: 7 },
        { ...second!, backup: true },
      ],
    }),
  );
  assert.deepEqual(weights(world), [7, 1]);
  world.upstreams.patch('10.0.0.1:80', { weight: 2 });
  assert.deepEqual(weights(world), [2, 1]);
  world.upstreams.stop();
});
