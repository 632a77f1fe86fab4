import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import type { DynamicSourceSpec } from '../compile/compiled.ts';
import type { LookupAnswer } from './lookup.ts';
import { Sources } from './sources.ts';

const A: DynamicSourceSpec = {
  kind: 'a',
  name: 'app.test',
  port: 8080,
  ipv4: true,
  ipv6: true,
  resolvers: [],
  refreshMs: 60_000,
  graceMs: 0,
};

function start() {
  const world = {
    answer: { ipv4: ['10.0.0.10', '10.0.0.9'], ipv6: ['fd00::1'], ttlMs: 1, error: '' } as LookupAnswer,
    asked: [] as string[],
    changes: 0,
  };
  const sources = new Sources({
    clock: new FakeClock(),
    lookup: async (host) => {
      world.asked.push(host);
      return world.answer;
    },
    lookupSrv: async (name) => {
      world.asked.push(name);
      return { targets: [{ host: 'b.test', port: 9000 }], error: '' };
    },
    onChange: () => (world.changes += 1),
    onFailure: () => {},
  });
  return { sources, world };
}

test('addresses of both families are upstreams of the port, sorted, IPv4 first', async () => {
  const { sources } = start();
  const { watch } = sources.hold(A);
  await watch.refresh();
  assert.deepEqual(watch.upstreams, ['10.0.0.9:8080', '10.0.0.10:8080', '[fd00::1]:8080']);
});

test('versions leave a family out', async () => {
  const { sources } = start();
  const four = sources.hold({ ...A, ipv6: false }).watch;
  const six = sources.hold({ ...A, ipv4: false }).watch;
  await Promise.all([four.refresh(), six.refresh()]);
  assert.deepEqual(four.upstreams, ['10.0.0.9:8080', '10.0.0.10:8080']);
  assert.deepEqual(six.upstreams, ['[fd00::1]:8080']);
});

test('a family whose question failed keeps what was known of it', async () => {
  const { sources, world } = start();
  const { watch } = sources.hold(A);
  await watch.refresh();
  world.answer = { ipv4: ['10.0.0.1'], ipv6: null, ttlMs: null, error: 'ETIMEOUT' };
  await watch.refresh();
  assert.deepEqual(watch.upstreams, ['10.0.0.1:8080', '[fd00::1]:8080']);
});

test('the only wanted family failing is a failure, whatever the other says', async () => {
  const { sources, world } = start();
  world.answer = { ipv4: ['10.0.0.1'], ipv6: null, ttlMs: null, error: 'ETIMEOUT' };
  const { watch } = sources.hold({ ...A, ipv4: false });
  await watch.refresh();
  assert.equal(watch.lapsed, true);
  assert.equal(watch.error, 'ETIMEOUT');
});

test('equal sources are one, and one that nobody holds any more is silent', async () => {
  const { sources, world } = start();
  const first = sources.hold(A);
  assert.equal(sources.hold({ ...A }), first);
  sources.release(first);
  const asking = first.watch.refresh();
  sources.release(first);
  await asking;
  assert.equal(world.changes, 0);
  assert.notEqual(sources.hold(A), first);
});

test('SRV asks for the name and gives targets with their ports', async () => {
  const { sources, world } = start();
  const { watch } = sources.hold({ ...A, kind: 'srv', name: '_http._tcp.app.test', port: 0 });
  await watch.refresh();
  assert.deepEqual(world.asked, ['_http._tcp.app.test']);
  assert.deepEqual(watch.upstreams, ['b.test:9000']);
});
