import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSpec, config, poolSpec, UpstreamsWorld } from '../../../test/support/upstreams-world.ts';
import type { DerivedResult } from '../../shared/messages.ts';
import type { CompiledConfig, PoolSpec } from '../compile/compiled.ts';
import { derivePool } from '../compile/pattern.ts';
import { MAX_DERIVED, MAX_NEW_A_SECOND, UNUSED_MS } from './derived-pools.ts';

const PATTERN: readonly PoolSpec['pattern'][] = [[{ template: '{query.to}', options: {} }]];

function pattern(given: Partial<PoolSpec> = {}): CompiledConfig {
  return config(poolSpec('p', [], { pattern: PATTERN[0]!, ...given }));
}

async function started(given: Partial<PoolSpec> = {}): Promise<UpstreamsWorld> {
  const world = new UpstreamsWorld();
  await world.load(1, pattern(given));
  return world;
}

async function derive(world: UpstreamsWorld, address: string): Promise<DerivedResult> {
  return world.upstreams.derived.derive('p', [address]);
}

function hashOf(result: DerivedResult): string {
  assert.equal(result.outcome, 'pool');
  return result.outcome === 'pool' ? result.section.hash : '';
}

function named(world: UpstreamsWorld): readonly string[] {
  return world.upstreams.status().map(({ upstream }) => upstream);
}

test('equal addresses are one pool, whose members have rows and endpoints', async () => {
  const world = await started();
  const [first, again, other] = [
    await derive(world, '10.0.0.1:80'),
    await derive(world, '10.0.0.1:80'),
    await derive(world, '10.0.0.2:80'),
  ];
  assert.equal(hashOf(first), hashOf(again));
  assert.notEqual(hashOf(first), hashOf(other));
  assert.ok(first.outcome === 'pool');
  assert.deepEqual(first.section.members, [{ upstream: '10.0.0.1:80', identity: '10.0.0.1' }]);
  assert.deepEqual(
    first.rows.members.map(({ endpoints }) => endpoints.map(({ host, port }) => `${host}:${port}`)),
    [['10.0.0.1:80']],
  );
  assert.deepEqual(named(world), ['10.0.0.1:80', '10.0.0.2:80']);
  world.upstreams.stop();
});

test('a check of the pattern watches what is derived from it', async () => {
  const world = await started({ check: checkSpec() });
  assert.deepEqual(world.probing(), []);
  await derive(world, '10.0.0.1:80');
  await world.clock.advance(1000);
  assert.equal(world.probing().length, 1);
  world.upstreams.stop();
});

test('what is no address of a host makes no pool, whatever a client writes', () => {
  const spec = poolSpec('p', [], { pattern: PATTERN[0]! });
  for (const text of [
    '',
    ':80',
    'unix//run/app.sock',
    'tcp/:80',
    'udp/a:1',
    'http://a',
    'a:0',
    'a:65536',
    '{x}',
    'a b',
    'a/b',
  ]) {
    assert.equal(typeof derivePool(spec, [text]), 'string', JSON.stringify(text));
  }
  for (const text of ['a', 'a:1', '[::1]:80', '127.0.0.1:8080', 'a_b.c-d:80']) {
    assert.equal(typeof derivePool(spec, [text]), 'object', text);
  }
});

test('new ones are rationed, known ones are not', async () => {
  const world = await started();
  const ask = (count: number): Promise<DerivedResult[]> =>
    Promise.all(Array.from({ length: count }, (_, at) => derive(world, `10.1.0.${at}:80`)));
  const outcomes = (await ask(MAX_NEW_A_SECOND + 10)).map(({ outcome }) => outcome);
  assert.equal(outcomes.filter((outcome) => outcome === 'pool').length, MAX_NEW_A_SECOND);
  assert.equal(outcomes.filter((outcome) => outcome === 'busy').length, 10);
  assert.ok((await ask(MAX_NEW_A_SECOND)).every(({ outcome }) => outcome === 'pool'));
  await world.clock.advance(1000);
  assert.equal((await derive(world, '10.2.0.1:80')).outcome, 'pool');
  world.upstreams.stop();
});

test('the one used longest ago gives way, and lets go of its rows', async () => {
  const world = await started();
  const first = hashOf(await derive(world, '10.0.0.1:80'));
  const second = hashOf(await derive(world, '10.0.0.2:80'));
  world.upstreams.derived.touch('p', ['10.0.0.1:80']);
  for (let made = 2; made <= MAX_DERIVED; made += 1) {
    if (made % MAX_NEW_A_SECOND === 0) await world.clock.advance(1000);
    await derive(world, `10.3.${made >> 8}.${made & 255}:80`);
  }
  assert.deepEqual(world.forgottenPools, [second]);
  assert.equal(named(world).length, MAX_DERIVED);
  assert.notEqual(world.upstreams.derived.rows(first), null);
  assert.equal(world.upstreams.derived.rows(second), null);
  world.upstreams.stop();
});

test('one that nobody uses is forgotten in time', async () => {
  const world = await started();
  await derive(world, '10.0.0.1:80');
  await derive(world, '10.0.0.2:80');
  await world.clock.advance(UNUSED_MS / 2);
  world.upstreams.derived.touch('p', ['10.0.0.1:80']);
  await world.clock.advance(UNUSED_MS / 2 + 60_000);
  assert.deepEqual(named(world), ['10.0.0.1:80']);
  world.upstreams.stop();
});

test('they live through reloads as long as some generation names their pattern', async () => {
  const world = await started();
  const hash = hashOf(await derive(world, '10.0.0.1:80'));
  await world.load(2, pattern());
  world.upstreams.release(1);
  assert.deepEqual([named(world), world.forgottenPools], [['10.0.0.1:80'], []]);
  await world.load(3, config());
  world.upstreams.release(2);
  assert.deepEqual([named(world), world.forgottenPools], [[], [hash]]);
  assert.equal((await derive(world, '10.0.0.1:80')).outcome, 'busy');
  world.upstreams.stop();
});
