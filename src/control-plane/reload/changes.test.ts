import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfig } from '../../cli/check-config.ts';
import type { CompiledConfig } from '../compile/compiled.ts';
import { changesBetween, type ConfigChange } from './changes.ts';

function compile(text: string): CompiledConfig {
  return checkConfig({ text, adapter: 'caddyfile', filename: 'Caddyfile' }, {}).compiled;
}

function site(upstreams: string, policy: string, host = 'http://a.example'): string {
  return `${host} {\nreverse_proxy ${upstreams} {\nlb_policy ${policy}\n}\n}\n`;
}

async function changes(before: string, after: string): Promise<readonly ConfigChange[]> {
  return changesBetween(compile(before), compile(after));
}

async function movedBetween(before: string, after: string): Promise<number | null | undefined> {
  return (await changes(before, after)).find(({ what }) => what === 'pool')?.moved;
}

const COOKIE = 'cookie lb 0123456789abcdef0123456789abcdef';

test('nothing is different between equal configs, nor for the first one', async () => {
  const config = site('a b', 'ip_hash');
  assert.deepEqual(await changes(config, config), []);
  assert.deepEqual(await changesBetween(null, compile(config)), []);
});

test('what comes, goes and changes is named', async () => {
  const found = await changes(
    `${site('a b', 'ip_hash')}http://gone.example {\nrespond x\n}\n`,
    `{\ngrace_period 1s\nservers {\ntimeouts {\nidle 1m\n}\n}\n}\n${site('a b c', 'ip_hash')}http://:8081 {\nrespond x\n}\n`,
  );
  const texts = found.map(({ change, what, name, detail }) => `${change} ${what} ${name} ${detail}`.trim());
  for (const text of ['added listener tcp/:8081', 'changed server srv0 idleTimeoutMs', 'changed site host a.example']) {
    assert.ok(texts.includes(text), `${text} in ${texts.join('; ')}`);
  }
  assert.ok(texts.includes('removed site host gone.example'));
  assert.ok(texts.includes('changed global gracePeriodMs'));
  assert.equal(found.filter(({ what }) => what === 'pool').length, 1);
  assert.match(found.find(({ what }) => what === 'pool')?.detail ?? '', /^\+c:80/);
});

test('error sites are told of as sites are', async () => {
  const page = (text: string): string => `http://a.example {\nrespond x\nhandle_errors {\nrespond ${text}\n}\n}\n`;
  const found = await changes(page('one'), page('two'));
  assert.deepEqual(
    found.map(({ change, what, name }) => `${change} ${what} ${name}`),
    ['changed site handle_errors host a.example'],
  );
});

test('the share of clients that move is that of the mapping', async () => {
  const modulo = await movedBetween(site('a b c', 'ip_hash'), site('a b c d', 'ip_hash'));
  assert.ok(Math.abs(modulo! - 0.75) < 0.05, `${modulo}`);
  const rendezvous = 'ip_hash {\nmapping rendezvous\n}';
  const few = await movedBetween(site('a b c', rendezvous), site('a b c d', rendezvous));
  assert.ok(Math.abs(few! - 0.25) < 0.05, `${few}`);
  const table = await movedBetween(site('a b c', 'source_hash'), site('a b c d', 'source_hash'));
  assert.ok(Math.abs(table! - 0.25) < 0.05, `${table}`);
});

test('a cookie over ip_hash moves nobody, and cookies keep their servers', async () => {
  const cookie = `${COOKIE} {\nfallback ip_hash\n}`;
  assert.equal(await movedBetween(site('a b c', 'ip_hash'), site('a b c', cookie)), 0);
  assert.equal(await movedBetween(site('a b c', COOKIE), site('a b c d', COOKIE)), 0);
  const third = await movedBetween(site('a b c', cookie), site('a b', cookie));
  assert.ok(Math.abs(third! - 1 / 3) < 0.05, `${third}`);
});

test('without affinity there is no share to tell', async () => {
  assert.equal(await movedBetween(site('a b', 'random'), site('a b c', 'random')), null);
});

function tcp(upstreams: string, options = '', route = ''): string {
  return `{\nlayer4 {\n:3306 {\n${options}\n${route}\nroute {\nproxy ${upstreams} {\nlb_policy ip_hash\n}\n}\n}\n}\n}\n`;
}

test('of layer 4 servers come, go and change, and their pools tell how many clients move', async () => {
  const texts = (found: readonly ConfigChange[]): string[] =>
    found.map(({ change, what, name, detail }) => `${change} ${what} ${name} ${detail}`.trim());
  assert.deepEqual(await changes(tcp('a:1 b:1'), tcp('a:1 b:1')), []);
  const added = await changes(site('x', 'random'), tcp('a:1') + site('x', 'random'));
  assert.deepEqual(texts(added).slice(0, 2), ['added listener tcp/:3306', 'added server layer4 srv0']);
  const options = await changes(tcp('a:1'), tcp('a:1', 'idle_timeout 5s'));
  assert.deepEqual(texts(options), ['changed server layer4 srv0 idleTimeoutMs']);
  const routes = await changes(tcp('a:1'), tcp('a:1', '@s ssh', 'route @s {\nclose\n}'));
  assert.deepEqual(texts(routes), ['changed server layer4 srv0 routes']);
  const pools = await changes(tcp('a:1 b:1'), tcp('a:1 b:1 c:1'));
  assert.deepEqual(
    pools.map(({ change, what, detail }) => `${change} ${what} ${detail}`),
    ['changed pool +c:1'],
  );
  assert.ok(Math.abs(pools[0]!.moved! - 2 / 3) < 0.05, `${pools[0]!.moved}`);
  const removed = await changes(tcp('a:1') + site('x', 'random'), site('x', 'random'));
  assert.ok(texts(removed).includes('removed server layer4 srv0'));
});
