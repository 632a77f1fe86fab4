import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, compileJson, configOf, policy, proxy, SECRET } from '../../../test/support/config-fixtures.ts';
import type { Json } from '../../../test/support/config-fixtures.ts';

const HANDLER = 'apps.http.servers.srv0.routes.0.handle.0';
const checked = { health_checks: { active: { uri: '/' } } };
const THREE = ['a:1', 'b:1', 'c:1'];

function warn(dials: readonly string[], selection: Json, rest: Json = checked): readonly string[] {
  const json = configOf([proxy(dials, { ...policy(selection), ...rest })]);
  return compileJson(json).warnings.map(({ message }) => message);
}

function assertWarned(warnings: readonly string[], ...patterns: readonly RegExp[]): void {
  assert.equal(warnings.length, patterns.length, warnings.join('\n'));
  for (const [index, pattern] of patterns.entries()) assert.match(warnings[index] ?? '', pattern);
}

test('a sound config has no warnings', () => {
  assertWarned(warn(THREE, { policy: 'ip_hash' }));
  assertWarned(warn(THREE, { policy: 'cookie', secret: SECRET }));
  assertWarned(warn(['a:1', 'b:1'], { policy: 'round_robin' }, {}));
});

test('affinity without health checks is worth a warning, with the line of the policy', () => {
  const positions = new Map([
    [HANDLER, at(2)],
    [`${HANDLER}.load_balancing.selection_policy`, at(3)],
  ]);
  const json = configOf([proxy(THREE, policy({ policy: 'ip_hash' }))]);
  const [warning, ...others] = compileJson(json, { positions }).warnings;
  assert.deepEqual(others, []);
  assert.deepEqual({ ...warning, message: '' }, { file: 'Caddyfile', line: 3, directive: 'lb_policy', message: '' });
  assert.match(warning?.message ?? '', /^ip_hash without active health checks: .*Add health_uri$/);
});

test('without positions a warning names the JSON path', () => {
  assertWarned(
    warn(THREE, { policy: 'ip_hash' }, {}),
    /, at apps\.http\.servers\.srv0\.routes\.0\.handle\.0\.load_balancing/,
  );
});

test('health options that start no check are told', () => {
  const rest = { health_checks: { active: { interval: '1s' } } };
  assertWarned(warn(THREE, { policy: 'random' }, rest), /nothing is checked: the health_\* options need health_uri/);
});

test('an even number of upstreams under ip_hash modulo is told, with the remedies', () => {
  const even = /even number of upstreams \(2\).*mapping rendezvous or seed <n>/;
  assertWarned(warn(['a:1', 'b:1'], { policy: 'ip_hash' }), even);
  assertWarned(warn(['a:1', 'b:1'], { policy: 'cookie', secret: SECRET, fallback: { policy: 'ip_hash' } }), even);
  assertWarned(warn(['a:1', 'b:1'], { policy: 'ip_hash', mapping: 'rendezvous' }));
  assertWarned(warn(['a:1', 'b:1'], { policy: 'ip_hash', seed: 0 }));
});

test('a header operation on a field of the connection is told, because it has no effect', () => {
  const rest = { ...checked, headers: { request: { set: { Connection: ['close'] } } } };
  assertWarned(warn(THREE, { policy: 'random' }, rest), /operations on Connection have no effect/);
});

test('affinity over one upstream is told', () => {
  assertWarned(warn(['a:1'], { policy: 'ip_hash' }, {}), /one upstream to choose from/);
});

test('a short or published secret is told, and never shown', () => {
  const cookie = (secret: string): readonly string[] => warn(THREE, { policy: 'cookie', secret });
  assertWarned(cookie('k'.repeat(31)), /shorter than 32 bytes: .*openssl rand/);
  assertWarned(cookie('ü'.repeat(16)));
  for (const secret of [
    'production-secret-key-must-be-long-and-unique-once',
    'ChangeMe',
    'secret',
    `your-secret-${SECRET}`,
  ]) {
    const warnings = cookie(secret);
    assertWarned(warnings, /stands in published examples/);
    assert.ok(secret === 'secret' || !warnings[0]?.includes(secret));
  }
  assertWarned(warn(THREE, { policy: 'cookie', secret: SECRET, secrets: ['old'] }), /shorter than 32 bytes/);
});

test('without a secret one is generated per cookie name, and where it is kept is told', () => {
  const asked: string[] = [];
  const generatedSecret = (key: string): string => {
    asked.push(key);
    return SECRET;
  };
  const compile = (dials: readonly string[]): unknown => {
    const json = configOf([proxy(dials, { ...policy({ policy: 'cookie' }), ...checked })]);
    const { compiled, warnings } = compileJson(json, { generatedSecret, dataDir: '/var/lib/holdfast' });
    assert.match(
      warnings[0]?.message ?? '',
      /^cookie lb has no secret: a random one is kept in \/var\/lib\/holdfast\./,
    );
    return compiled.pools[0]?.section.policy;
  };
  const plan = compile(THREE);
  compile([...THREE, 'd:1', 'e:1']);
  assert.deepEqual(asked, ['cookie/lb', 'cookie/lb']);
  assert.deepEqual(plan, {
    policy: 'cookie',
    name: 'lb',
    secrets: [SECRET],
    maxAgeSeconds: 0,
    sameSite: null,
    secure: null,
    httpOnly: true,
    partitioned: false,
    path: '/',
    domain: '',
    format: 'v1',
    fallback: { policy: 'random' },
  });
});

test('the first secret signs, the others follow, none twice', () => {
  const selection = {
    policy: 'cookie',
    secret: SECRET,
    secrets: [`${SECRET}2`, SECRET],
    max_age: '1h',
    same_site: 'strict',
  };
  const { compiled } = compileJson(configOf([proxy(THREE, policy(selection))]));
  const plan = compiled.pools[0]?.section.policy;
  assert.ok(plan?.policy === 'cookie');
  assert.deepEqual([plan.secrets, plan.maxAgeSeconds, plan.sameSite], [[SECRET, `${SECRET}2`], 3600, 'Strict']);
});

test('header_down Set-Cookie beside the cookie policy is explained', () => {
  const down = (response: Json, selection: Json): readonly string[] =>
    warn(THREE, selection, { ...checked, headers: { response } });
  const cookie = { policy: 'cookie', secret: SECRET };
  const expected = /deletes the upstream's own cookies and leaves the affinity cookie as it was: .*attributes of lb/;
  assertWarned(down({ set: { 'set-cookie': ['lb; Path=/'] } }, cookie), expected);
  assertWarned(down({ delete: ['Set-Cookie'] }, cookie), expected);
  assertWarned(down({ add: { 'Set-Cookie': ['a=b'] } }, cookie));
  assertWarned(down({ delete: ['Set-Cookie'] }, { policy: 'random' }));
});

test('two cookie policies of one site that fight over one cookie are told', () => {
  const cookie = (name: string): Json => ({ ...policy({ policy: 'cookie', name, secret: SECRET }), ...checked });
  const both = (first: string, second: string): number => {
    const handle = [proxy(THREE, cookie(first)), proxy(['d:1', 'e:1', 'f:1'], cookie(second))];
    return compileJson(configOf(handle)).warnings.filter(({ message }) => /share the cookie/.test(message)).length;
  };
  assert.equal(both('lb', 'lb'), 1);
  assert.equal(both('lb', 'api'), 0);
});

test('cookies that browsers drop are told', () => {
  const cookie = (fields: Json): readonly string[] => warn(THREE, { policy: 'cookie', secret: SECRET, ...fields });
  assertWarned(cookie({ secure: false, same_site: 'none' }), /same_site none needs secure/);
  assertWarned(cookie({ secure: false, partitioned: true }), /partitioned needs secure/);
  assertWarned(cookie({ name: '__Secure-lb', secure: false }), /its name demands secure/);
  assertWarned(cookie({ name: '__Host-lb', domain: 'a.test' }), /its name demands path \/ and no domain/);
  assertWarned(cookie({ name: '__Host-lb' }));
});

test('an admin endpoint that other machines reach is told', () => {
  const admin = (fields: Json): number => compileJson({ admin: fields }).warnings.length;
  assert.equal(admin({ listen: ':2019' }), 1);
  assert.equal(admin({ listen: '192.0.2.1:2019' }), 1);
  assert.equal(admin({ listen: '127.0.0.1:2019' }), 0);
  assert.equal(admin({ listen: '[::1]:2019' }), 0);
  assert.equal(admin({ listen: ':2019', disabled: true }), 0);
  assert.equal(admin({ listen: ':2019', origins: ['ops.example.com'] }), 0);
});
