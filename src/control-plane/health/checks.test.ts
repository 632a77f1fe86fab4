import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { checkSpec, UpstreamsWorld, config, poolSpec } from '../../../test/support/upstreams-world.ts';
import { seededRandom } from '../../shared/random.ts';
import { StateTable } from '../../shared/state-table/table.ts';
import type { CheckSpec } from '../compile/compiled.ts';
import { Checks } from './checks.ts';
import type { ProbeOptions } from './probe.ts';

const MEMBER = { upstream: 'app.test:80', identity: 'app.test', host: 'app.test', port: 80 };

/** Runs one check of 10.0.0.1:80, known as app.test:80, and tells what was asked of the probe. */
async function asked(
  given: Partial<CheckSpec>,
  whileProbing: () => number = () => 0,
): Promise<{ target: string; options: ProbeOptions }> {
  let refusals = 0;
  const clock = new FakeClock();
  const table = new StateTable();
  table.grow('check', 0, 0);
  const seen: { target: string; options: ProbeOptions }[] = [];
  const checks = new Checks({
    clock,
    random: seededRandom(1),
    rows: { rows: table.checks, take: () => 0, give: () => {} },
    onTransition: () => {},
    refusals: () => refusals,
    probeOf: () => ({
      run: (target, options) => {
        refusals = whileProbing();
        seen.push({ target: `${target.host}:${target.port}`, options });
        return new Promise(() => {});
      },
    }),
  });
  const subject = { slot: 0, target: { host: '10.0.0.1', port: 80 }, member: MEMBER, spec: checkSpec(given) };
  checks.start(checks.hold(subject, () => ({ verdict: 'up', passes: 0, fails: 0 })));
  await clock.advance(1000);
  checks.stop();
  return seen[0]!;
}

test('a check connects to the address and names the upstream as configured', async () => {
  const { target, options } = await asked({});
  assert.equal(target, '10.0.0.1:80');
  assert.equal(options.authority, 'app.test:80');
});

test('health_port changes the port that is checked', async () => {
  const { target, options } = await asked({ port: 9000 });
  assert.equal(target, '10.0.0.1:9000');
  assert.equal(options.authority, 'app.test:9000');
});

test('health_upstream is checked instead of the address', async () => {
  const { target, options } = await asked({ address: { host: 'fd00::1', port: 9000 } });
  assert.equal(target, 'fd00::1:9000');
  assert.equal(options.authority, '[fd00::1]:9000');
});

test('an address without a port is checked at the port of the check, or of the server', async () => {
  assert.equal((await asked({ address: { host: '10.9.9.9', port: null } })).target, '10.9.9.9:80');
  assert.equal((await asked({ address: { host: '10.9.9.9', port: null }, port: 9000 })).target, '10.9.9.9:9000');
});

test('a probe is told whether traffic met a refusal a moment ago', async () => {
  assert.equal((await asked({})).options.refusedByTraffic?.(), false);
  assert.equal((await asked({}, () => 1)).options.refusedByTraffic?.(), true);
});

test('rows of checks that nobody holds are used again', async () => {
  const world = new UpstreamsWorld();
  for (let generation = 1; generation <= 300; generation += 1) {
    const check = checkSpec({ intervalMs: 1000 + generation });
    await world.load(generation, config(poolSpec(`p${generation}`, ['10.0.0.1:80'], { check })));
    if (generation > 1) world.upstreams.release(generation - 1);
    await world.clock.advance(11_000);
  }
  assert.equal(world.chunks.filter(({ kind }) => kind === 'check' || kind === 'pool' || kind === 'member').length, 3);
  world.upstreams.stop();
});
