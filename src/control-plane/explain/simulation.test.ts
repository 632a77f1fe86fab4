import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfig } from '../../cli/check-config.ts';
import type { PoolSpec } from '../compile/compiled.ts';
import { randomClients } from './clients.ts';
import { simulate } from './simulation.ts';

const CLIENTS = randomClients(3000, 5);

function poolOf(upstreams: string, policy: string): PoolSpec {
  const text = `http://:80 {\nreverse_proxy ${upstreams} {\nlb_policy ${policy}\n}\n}\n`;
  return checkConfig({ text, adapter: 'caddyfile', filename: 'Caddyfile' }, {}).compiled.pools[0]!;
}

test('a failure moves the clients of that server and no other, unless the textbook variant is asked for', () => {
  const home = simulate(poolOf('a b c', 'ip_hash'), CLIENTS, () => false);
  for (const { clients, failure } of home.members) assert.deepEqual(failure, { own: clients, others: 0, lost: 0 });
  const all = simulate(poolOf('a b c', 'ip_hash {\non_failure all\n}'), CLIENTS, () => false);
  for (const { failure } of all.members) assert.ok(failure!.others > 500, `${failure!.others}`);
});

test('a client with a cookie stays although its address says otherwise', () => {
  const spec = poolOf(
    'a b c',
    'cookie lb 0123456789abcdef0123456789abcdef {\nfallback ip_hash {\non_failure all\n}\n}',
  );
  for (const { failure } of simulate(spec, CLIENTS, () => false).members) assert.equal(failure!.others, 0);
});

test('rendezvous and a seed leave nothing uneven to tell, an odd pool neither', () => {
  for (const policy of ['ip_hash {\nmapping rendezvous\n}', 'ip_hash {\nseed 3\n}']) {
    assert.deepEqual(simulate(poolOf('a b', policy), CLIENTS, () => false).advice, []);
  }
  assert.deepEqual(simulate(poolOf('a b c', 'ip_hash'), CLIENTS, () => false).advice, []);
  assert.equal(simulate(poolOf('a b', 'ip_hash'), CLIENTS, () => false).advice.length, 1);
});

test('clients are the same in every run, and none is private', () => {
  assert.deepEqual(randomClients(50, 1), randomClients(50, 1));
  for (const { text } of CLIENTS) assert.doesNotMatch(text, /^(?:0|10|127|2[2-5][4-9])\./);
});

test('with best effort all are tried once the last server fails: nobody is lost', () => {
  const [tcp, udp] = ['a:1 b:1', 'udp/a:1 udp/b:1'].map((upstreams, at) => {
    const text = `{\nlayer4 {\n${at === 0 ? '' : 'udp/'}:1 {\nroute {\nproxy ${upstreams} {\nlb_policy ip_hash\n}\n}\n}\n}\n}\n`;
    return checkConfig({ text, adapter: 'caddyfile', filename: 'Caddyfile' }, {}).compiled.pools[0]!;
  });
  for (const [spec, layer] of [
    [tcp!, 'tcp'],
    [udp!, 'udp'],
  ] as const) {
    const oneDown = simulate(spec, CLIENTS, ({ host }) => host === 'a');
    assert.equal(oneDown.layer, layer);
    const { own, lost } = oneDown.members[1]!.failure!;
    assert.equal(lost, 0);
    assert.ok(own > 500 && own < 2500, `${own} go back to the server that was down before`);
    const allDown = simulate(spec, CLIENTS, () => true);
    assert.equal(allDown.unserved, 0);
    assert.ok(allDown.members.every(({ clients }) => clients > 500));
  }
  const strict = simulate({ ...tcp!, bestEffort: false }, CLIENTS, () => true);
  assert.equal(strict.unserved, CLIENTS.length);
});

test('connections and sessions have ports and ids of their own, a client address has its server', () => {
  const one = Array.from({ length: 600 }, () => CLIENTS[0]!);
  const sharesOf = (policy: string, prefix = ''): number[] => {
    const text = `{\nlayer4 {\n${prefix}:1 {\nroute {\nproxy ${prefix}a:1 ${prefix}b:1 ${prefix}c:1 {\nlb_policy ${policy}\n}\n}\n}\n}\n}\n`;
    const spec = checkConfig({ text, adapter: 'caddyfile', filename: 'Caddyfile' }, {}).compiled.pools[0]!;
    return simulate(spec, one, () => false).members.map(({ clients }) => clients);
  };
  assert.deepEqual(
    sharesOf('source_hash').toSorted((one, other) => one - other),
    [0, 0, 600],
  );
  for (const shares of [sharesOf('tuple_hash'), sharesOf('quic_cid', 'udp/')]) {
    assert.ok(
      shares.every((share) => share > 140),
      shares.join(),
    );
  }
});

test('with source_hash the clients of a lost server are spread, and no other one moves', () => {
  const { members, keyed } = simulate(poolOf('a b c d', 'source_hash'), CLIENTS, () => false);
  assert.equal(keyed, 'client');
  for (const { clients, failure } of members) assert.deepEqual(failure, { own: clients, others: 0, lost: 0 });
});
