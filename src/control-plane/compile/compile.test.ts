import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, compileJson, configOf, policy, proxy, SECRET } from '../../../test/support/config-fixtures.ts';
import type { Json } from '../../../test/support/config-fixtures.ts';
import type { CompiledConfig } from './compiled.ts';

const site = (host: string, ...dials: readonly string[]): Json => ({
  match: [{ host: [host] }],
  handle: [{ handler: 'subroute', routes: [{ handle: [proxy(dials)] }] }],
  terminal: true,
});
const sites = (...routes: readonly Json[]): Json => configOf([], { listen: [':80'], routes });

function compile(json: Json): CompiledConfig {
  return compileJson(json).compiled;
}

function sitesOf(compiled: CompiledConfig): readonly string[] {
  return compiled.servers[0]?.sites ?? [];
}

test('every outer route is a site that names its pools', () => {
  const compiled = compile(sites(site('a.test', 'a:1', 'a:2'), site('b.test', 'b:1')));
  const [first, second] = sitesOf(compiled).map((hash) => compiled.sections.get(hash));
  assert.ok(first?.kind === 'site' && second?.kind === 'site');
  assert.deepEqual(first.route.match, [[{ kind: 'host', hosts: ['a.test'] }]]);
  assert.equal(first.route.terminal, true);
  assert.deepEqual(
    [...first.pools, ...second.pools],
    compiled.pools.map(({ hash }) => hash),
  );
  assert.deepEqual(
    compiled.pools.map(({ members }) => members.map(({ upstream }) => upstream)),
    [['a:1', 'a:2'], ['b:1']],
  );
});

test('every hash is the key of its section: 32 hex digits', () => {
  const { sections } = compile(sites(site('a.test', 'a:1')));
  assert.equal(sections.size, 2);
  for (const [key, section] of sections) {
    assert.equal(section.hash, key);
    assert.match(key, /^[0-9a-f]{32}$/);
  }
});

test('equal content has equal hashes, whatever the order of its keys', () => {
  const forwards = configOf([proxy(['a:1'], { ...policy({ policy: 'cookie', name: 'x', secret: SECRET }) })]);
  const backwards = reverseKeys(forwards);
  assert.notEqual(JSON.stringify(backwards), JSON.stringify(forwards));
  assert.deepEqual([...compile(forwards).sections.keys()], [...compile(backwards).sections.keys()]);
});

test('a default that is written out changes no hash', () => {
  const bare = configOf([proxy(['a:1'])]);
  const written = configOf([
    proxy(['a:1'], { ...policy({ policy: 'random' }), transport: { protocol: 'http', dial_timeout: '3s' } }),
  ]);
  assert.deepEqual([...compile(bare).sections.keys()], [...compile(written).sections.keys()]);
});

test('a changed pool changes its own hash and those of the sites that name it, and nothing else', () => {
  const before = compile(sites(site('a.test', 'a:1'), site('b.test', 'b:1'), site('c.test', 'a:1')));
  const after = compile(sites(site('a.test', 'a:2'), site('b.test', 'b:1'), site('c.test', 'a:2')));
  const unchanged = (index: number): boolean => sitesOf(before)[index] === sitesOf(after)[index];
  assert.deepEqual([0, 1, 2].map(unchanged), [false, true, false]);
  const kept = after.pools.filter(({ hash }) => before.sections.has(hash));
  assert.deepEqual(
    kept.map(({ members }) => members[0]?.upstream),
    ['b:1'],
  );
});

test('everything the control plane does for a pool is part of its hash', () => {
  const variants: readonly Json[] = [
    {},
    { health_checks: { active: { uri: '/' } } },
    { health_checks: { active: { uri: '/', fails: 2 } } },
    { load_balancing: { best_effort: true } },
    { load_balancing: { retries: 0 } },
    { transport: { resolver: { addresses: ['9.9.9.9'] } } },
  ];
  const hashes = variants.map((rest) => compile(configOf([proxy(['a:1'], rest)])).pools[0]?.hash);
  assert.equal(new Set(hashes).size, variants.length);
});

test('handlers with the same content share one pool', () => {
  const compiled = compile(sites(site('a.test', 'a:1'), site('b.test', 'a:1')));
  assert.equal(compiled.pools.length, 1);
  assert.equal(compiled.sections.size, 3);
});

test('a compiled config is frozen all the way down', () => {
  assertFrozen(compile(configOf([proxy(['a:1'], policy({ policy: 'cookie', secret: SECRET }))], { logs: {} })));
});

test('lb_retries 0 is off, an absent one is failover without options', () => {
  const retry = (balancing: Json): unknown =>
    compile(configOf([proxy(['a:1'], { load_balancing: balancing })])).pools[0]?.section.retry;
  assert.deepEqual(retry({}), { retries: null, tryDurationMs: null, tryIntervalMs: 250 });
  assert.deepEqual(retry({ retries: 0 }), { retries: 0, tryDurationMs: null, tryIntervalMs: 250 });
  assert.deepEqual(retry({ retries: 2, try_duration: '10s', try_interval: 1_000_000 }), {
    retries: 2,
    tryDurationMs: 10_000,
    tryIntervalMs: 1,
  });
});

test('keep-alive off keeps no idle connection', () => {
  const transport = { transport: { protocol: 'http', keep_alive: { enabled: false } } };
  assert.equal(compile(configOf([proxy(['a:1'], transport)])).pools[0]?.section.transport.maxIdlePerEndpoint, 0);
});

test('the resolvers of a pool win over the global ones', () => {
  const json = (rest: Json): Json => {
    const srv0 = { listen: [':80'], routes: [{ handle: [proxy(['a:1'], rest)] }] };
    return { apps: { http: { resolvers: ['1.1.1.1'], servers: { srv0 } } } };
  };
  assert.deepEqual(compile(json({})).pools[0]?.resolvers, ['1.1.1.1']);
  const own = { transport: { protocol: 'http', resolver: { addresses: ['9.9.9.9:53'] } } };
  assert.deepEqual(compile(json(own)).pools[0]?.resolvers, ['9.9.9.9:53']);
});

test('an active check is complete, and its hash is that of its definition', () => {
  const active = {
    uri: '/healthz?x=1',
    upstream: '10.0.0.9:9000',
    interval: '10s',
    timeout: 3_000_000_000,
    headers: { Host: ['example.com'], 'X-Two': ['1', '2'] },
    expect_status: 2,
    fails: 3,
    passes: 2,
    initial: 'down',
  };
  const check = compile(configOf([proxy(['a:1'], { health_checks: { active } })])).pools[0]?.check;
  assert.match(check?.hash ?? '', /^[0-9a-f]{32}$/);
  assert.deepEqual(check, {
    hash: check?.hash,
    probe: {
      kind: 'http',
      uri: '/healthz?x=1',
      method: 'GET',
      version: '1.1',
      host: 'upstream',
      body: '',
      headers: ['Host', 'example.com', 'X-Two', '1', 'X-Two', '2'],
      statuses: [2],
      expectBody: '',
      maxBytes: 1_048_576,
      followRedirects: false,
      tls: null,
    },
    address: { host: '10.0.0.9', port: 9000 },
    port: null,
    intervalMs: 10_000,
    timeoutMs: 3000,
    rise: 2,
    fall: 3,
    initial: 'down',
  });
});

test('a handler becomes the plan of the same name', () => {
  const require = { status_code: [2], headers: { X: null } };
  const compiled = compile(
    configOf([
      { handler: 'rewrite', strip_path_prefix: '/api', uri_substring: [{ find: 'a', replace: 'b' }] },
      { handler: 'headers', response: { set: { A: ['1'] }, replace: { B: [{ search_regexp: 'x+' }] }, require } },
      { handler: 'vars', root: '/srv', debug: true },
      { handler: 'static_response', status_code: 404, body: 'none' },
    ]),
  );
  const section = compiled.sections.get(sitesOf(compiled)[0] ?? '');
  assert.ok(section?.kind === 'site');
  const rules = [{ search: '', searchRegexp: 'x+', replace: '' }];
  assert.deepEqual(section.route.handle, [
    {
      handler: 'rewrite',
      method: '',
      uri: '',
      stripPathPrefix: '/api',
      stripPathSuffix: '',
      uriSubstring: [{ find: 'a', replace: 'b', limit: 0 }],
      pathRegexp: [],
    },
    {
      handler: 'headers',
      request: null,
      response: {
        add: [],
        set: [['A', ['1']]],
        delete: [],
        replace: [['B', rules]],
        deferred: false,
        require: { status: [2], headers: { X: null } },
      },
    },
    { handler: 'vars', vars: { root: '/srv', debug: 'true' } },
    { handler: 'static_response', statusCode: '404', headers: {}, body: 'none', close: false, abort: false },
  ]);
});

test('upstream faults name the upstream', () => {
  const place = /, at apps\.http\.servers\.srv0\.routes\.0\.handle\.0\.upstreams\.1\.dial$/;
  assert.throws(
    () => compile(configOf([proxy(['a:1', 'udp/x:53'])])),
    /^ConfigError: 'udp\/ upstreams' is not supported yet, at /,
  );
  assert.throws(() => compile(configOf([proxy(['a:1', 'a:0'])])), place);
  assert.throws(() => compile(configOf([proxy([])])), /reverse_proxy has no upstreams: name at least one host:port/);
});

test('what a worker could not run is refused with the position of its handler', () => {
  const positions = new Map([['apps.http.servers.srv0.routes.0.handle.0', at(9)]]);
  const refused: readonly (readonly [Json, RegExp])[] = [
    [{ handler: 'rewrite', uri: '/a#b' }, /fragment.*, at Caddyfile:9$/],
    [{ handler: 'static_response', body: '{http.request.body}' }, /\{http\.request\.body\}.*, at Caddyfile:9$/],
    [proxy(['a:1'], { headers: { request: { delete: ['Host'] } } }), /Host.*, at Caddyfile:9$/],
  ];
  for (const [handler, message] of refused) {
    assert.throws(() => compileJson(configOf([handler]), { positions }), message);
  }
  const broken = configOf([], { routes: [{ match: [{ path: ['/[a'] }] }] });
  assert.throws(() => compileJson(broken), /\[.*, at apps\.http\.servers\.srv0\.routes\.0\.match$/);
});

function assertFrozen(value: unknown): void {
  if (value === null || typeof value !== 'object') return;
  assert.ok(Object.isFrozen(value), JSON.stringify(value));
  for (const part of value instanceof Map ? value.values() : Object.values(value)) assertFrozen(part);
}

function reverseKeys(value: Json): Json {
  const flip = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(flip);
    if (item === null || typeof item !== 'object') return item;
    const entries: [string, unknown][] = Object.entries(item);
    return Object.fromEntries(entries.reverse().map(([key, part]) => [key, flip(part)]));
  };
  return { ...(flip(value) as Json) };
}
