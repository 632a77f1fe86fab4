import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ConfigError } from '../../shared/config-error.ts';
import { at, configOf, policy, proxy, SECRET } from '../../../test/support/config-fixtures.ts';
import type { Json } from '../../../test/support/config-fixtures.ts';
import { readConfig } from './from-json.ts';

const HANDLER = 'apps.http.servers.srv0.routes.0.handle.0';

test('an empty config gets every default', () => {
  assert.deepEqual(readConfig({}), {
    admin: { disabled: false, listen: 'localhost:2019', origins: [], enforce_origin: false },
    logging: { logs: {} },
    apps: {
      http: {
        http_port: 80,
        https_port: 443,
        grace_period: 30_000,
        shutdown_delay: 0,
        resolvers: [],
        name_refresh: null,
        worker_hang_timeout: null,
        servers: {},
      },
      layer4: { servers: {} },
      tls: {
        certificates: { load_files: [], load_pem: [], load_folders: [], automate: [] },
        automation: { policies: [], on_demand: null, renew_interval: null, storage_clean_interval: 86_400_000 },
        disable_ocsp_stapling: false,
      },
      pki: { certificate_authorities: {} },
    },
    storage: null,
  });
});

test('a handler without options gets every default', () => {
  const handler = readConfig(configOf([proxy(['app:80'])])).apps.http.servers['srv0']?.routes[0]?.handle[0];
  assert.deepEqual(handler, {
    handler: 'reverse_proxy',
    upstreams: [{ dial: 'app:80', max_requests: 0, weight: null, backup: false, slow_start: 0 }],
    load_balancing: {
      selection_policy: { policy: 'random' },
      retries: null,
      try_duration: 0,
      try_interval: 250,
      best_effort: false,
      retry_match: [],
      queue: null,
    },
    health_checks: { active: null, passive: null, probe: null },
    drain: 'off',
    transport: {
      protocol: 'http',
      dial_timeout: 3000,
      response_header_timeout: 0,
      max_response_header_size: 65_536,
      keep_alive: { enabled: true, idle_timeout: 120_000, max_idle_conns_per_host: 1024, probe_interval: 15_000 },
      tls: null,
      versions: [],
      resolver: null,
      max_conns_per_host: 0,
      proxy_protocol: null,
      local_address: null,
      read_timeout: 0,
      write_timeout: 0,
    },
    trusted_proxies: [],
    headers: { request: null, response: null },
    request_buffers: 0,
    response_buffers: 0,
    stream_buffer_size: 0,
    stream_timeout: 0,
    stream_close_delay: null,
    rewrite: null,
    dynamic_upstreams: null,
    handle_response: [],
  });
});

test('a config is frozen all the way down', () => {
  assertFrozen(readConfig(configOf([proxy(['app:80'], policy({ policy: 'cookie', secret: SECRET }))])));
});

test('an unknown field is an error that names it and its path', () => {
  const cases: readonly (readonly [Json, string])[] = [
    [{ adminn: {} }, "the config: unknown field 'adminn' (did you mean 'admin'?)"],
    [configOf([], { listn: [] }), "apps.http.servers.srv0: unknown field 'listn' (did you mean 'listen'?)"],
    [configOf([proxy(['app'], policy({ policy: 'first', x: 1 }))]), "selection_policy: unknown field 'x'"],
    [
      configOf([proxy(['app'], { headers: { request: { sett: {} } } })]),
      "headers.request: unknown field 'sett' (did you mean 'set'?)",
    ],
  ];
  for (const [json, text] of cases) {
    assert.throws(
      () => readConfig(json),
      (error: Error) => error.message.includes(text),
      text,
    );
  }
});

test('an error carries the position of the longest known part of its path', () => {
  const positions = new Map([
    ['apps.http.servers.srv0', at(1)],
    [HANDLER, at(7)],
    [`${HANDLER}.upstreams.1`, { file: 'site.conf', line: 3, importChain: ['Caddyfile:2 (import site.conf)'] }],
  ]);
  const active = { health_checks: { active: { fails: 0 } } };
  assert.throws(() => readConfig(configOf([proxy(['app'], active)]), positions), {
    message: `${HANDLER}.health_checks.active.fails: expected a whole number from 1 to 1000, found 0, at Caddyfile:7`,
    position: at(7),
  });
  const upstreams = [{ dial: 'a' }, { dial: 5 }];
  assert.throws(() => readConfig(configOf([{ handler: 'reverse_proxy', upstreams }]), positions), {
    message:
      `${HANDLER}.upstreams.1.dial: expected host:port, found 5, at site.conf:3 ` +
      "import chain ['Caddyfile:2 (import site.conf)']",
  });
});

test('the first of several faults is told, and how many more there are', () => {
  assert.throws(
    () => readConfig({ apps: { http: { http_port: 0, https_port: 0 } } }),
    /http_port: .*found 0 \(and 1 more\)$/,
  );
});

test('@id is accepted in any object', () => {
  const json = { '@id': 'top', ...configOf([{ ...proxy(['app:80']), '@id': 'here' }], { '@id': 7 }) };
  assert.deepEqual(readConfig(json), readConfig(configOf([proxy(['app:80'])])));
});

test('a secret never appears in an error', () => {
  const cases = [
    { secret: { value: SECRET } },
    { secrets: [SECRET, ''] },
    { secret: `${SECRET}{env.MORE}` },
    { secret: SECRET, max_age: -1 },
  ];
  for (const fields of cases) {
    assert.throws(
      () => readConfig(configOf([proxy(['app'], policy({ policy: 'cookie', ...fields }))])),
      (error: Error) => !error.message.includes(SECRET),
    );
  }
});

test('a placeholder in a secret is refused, since it would be taken literally', () => {
  const json = configOf([proxy(['app'], policy({ policy: 'cookie', secret: '{env.LB_SECRET}' }))]);
  assert.throws(() => readConfig(json), /placeholders are not replaced in a secret: write \{\$NAME\}/);
});

test('texts with a syntax are checked', () => {
  const refused: readonly (readonly [Json, RegExp])[] = [
    [configOf([proxy(['a'], { trusted_proxies: ['10.0.0.0/33'] })]), /trusted_proxies\.0: expected an IP address/],
    [configOf([], { trusted_proxies: { source: 'static', ranges: ['host'] } }), /ranges\.0: expected an IP address/],
    [configOf([proxy(['a'], { health_checks: { active: { expect_body: '(' } } })]), /expected a regular expression/],
    [configOf([proxy(['a'], { health_checks: { active: { uri: 'health' } } })]), /expected a path beginning with/],
    [
      configOf([proxy(['a'], { headers: { request: { set: { 'X Y': ['1'] } } } })]),
      /set\.X Y: expected a header field/,
    ],
    [configOf([proxy(['a'], { headers: { request: { set: { X: ['1\r\nY: 2'] } } } })]), /without CR, LF and NUL/],
    [configOf([proxy(['a'], policy({ policy: 'cookie', name: 'a;b' }))]), /name: expected a cookie name/],
    [configOf([proxy(['a'], policy({ policy: 'cookie', same_site: 'most' }))]), /expected 'Lax', 'Strict' or 'None'/],
    [configOf([proxy(['a'], policy({ policy: 'ip_hash', nat64: ['10.0.0.0/8'] }))]), /an IPv6 prefix of length 96/],
    [configOf([proxy(['a'], { transport: { resolver: { addresses: ['dns'] } } })]), /IP address of a DNS server/],
    [{ apps: { http: { resolvers: ['1.1.1.1:0'] } } }, /resolvers\.0: expected the IP address of a DNS server/],
    [configOf([{ handler: 'nonsense' }]), /handler: expected a handler: .* found "nonsense"/],
    [configOf([{ handler: 'static_response', status_code: 'abc' }]), /status_code: expected a status code/],
  ];
  for (const [json, message] of refused) assert.throws(() => readConfig(json), message);
});

test('policies that contradict themselves are refused', () => {
  const both = policy({ policy: 'ip_hash', mapping: 'rendezvous', on_failure: 'all' });
  assert.throws(() => readConfig(configOf([proxy(['a'], both)])), /on_failure 'all' belongs to mapping 'modulo'/);
  const nested = policy({ policy: 'cookie', fallback: { policy: 'cookie' } });
  assert.throws(
    () => readConfig(configOf([proxy(['a'], nested)])),
    /a cookie policy cannot be the fallback of another/,
  );
});

test('nothing but a ConfigError is thrown, whatever comes in', () => {
  const wild = fc.oneof(
    fc.jsonValue({ maxDepth: 4 }),
    fc.jsonValue({ maxDepth: 3 }).map((value) => ({ apps: { http: { servers: { srv0: value } } } })),
    fc.jsonValue({ maxDepth: 3 }).map((value) => ({ apps: { http: { servers: { srv0: { routes: [value] } } } } })),
    fc.dictionary(fc.constantFrom('policy', 'secret', 'fallback', '__proto__'), fc.jsonValue()).map((selection) => {
      return configOf([proxy(['a'], policy(selection))]);
    }),
  );
  fc.assert(
    fc.property(wild, (json) => {
      try {
        readConfig(json);
      } catch (error) {
        assert.ok(error instanceof ConfigError, String(error));
      }
    }),
  );
});

test('nesting without end is an error, not a stack overflow', () => {
  let json: unknown = {};
  for (let level = 0; level < 100_000; level += 1) json = { not: [json] };
  assert.throws(() => readConfig(json), /nested more than 200 levels/);
});

function assertFrozen(value: unknown): void {
  if (value === null || typeof value !== 'object') return;
  assert.ok(Object.isFrozen(value), JSON.stringify(value));
  for (const part of Object.values(value)) assertFrozen(part);
}
