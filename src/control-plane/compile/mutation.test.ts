import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ConfigError } from '../../shared/config-error.ts';
import { compileJson, configOf, proxy, SECRET } from '../../../test/support/config-fixtures.ts';
import type { Json } from '../../../test/support/config-fixtures.ts';

const LAYER4: Json = {
  servers: {
    tcp: {
      ...{ listen: [':3306', 'unix//run/db.sock'], idle_timeout: '1h', connections: 5, accept: 'shared' },
      routes: [
        {
          match: [
            { remote_ip: { ranges: ['::1'] }, tls: { sni: ['a'] } },
            { http: [{ host: ['a'] }], not: [{ ssh: {} }] },
          ],
          handle: [{ handler: 'proxy_protocol', allow: ['10.0.0.0/8'], timeout: '1s' }],
        },
        {
          handle: [
            {
              handler: 'proxy',
              upstreams: [{ dial: ['db:1'], weight: 2, local_addr: '::1' }],
              load_balancing: { selection: { policy: 'ip_hash' }, best_effort: false, try_duration: '1s' },
              health_checks: { active: { interval: '5s', fall: 2 }, passive: { fail_duration: '1s' } },
              proxy_protocol: 'v2',
            },
          ],
        },
      ],
    },
    udp: {
      ...{ listen: ['udp/:53'], workers: 'all', max_sessions: 5, responses: 1 },
      routes: [{ handle: [{ handler: 'subroute', routes: [{ handle: [{ handler: 'echo' }] }] }] }],
    },
  },
};

const SITES: Json = configOf(
  [
    { handler: 'headers', request: { set: { A: ['{http.request.host}'] } }, response: { delete: ['Server'] } },
    { handler: 'rewrite', uri: '/x{http.request.uri}' },
    { handler: 'subroute', routes: [{ match: [{ path: ['/a*'], not: [{ method: ['GET'] }] }], handle: [] }] },
    proxy(['app:80', '[::1]:81', ':82'], {
      load_balancing: {
        selection_policy: { policy: 'cookie', secret: SECRET, fallback: { policy: 'ip_hash', seed: 1 } },
        retries: 2,
        try_duration: '5s',
      },
      health_checks: { active: { uri: '/up', headers: { Host: ['a'] }, expect_body: 'ok' } },
      transport: { protocol: 'http', resolver: { addresses: ['9.9.9.9'] } },
      trusted_proxies: ['10.0.0.0/8'],
    }),
  ],
  { logs: { default_logger_name: 'log0' }, trusted_proxies: { source: 'static', ranges: ['::1'] } },
  {
    admin: { listen: 'localhost:2019' },
    logging: { logs: { log0: { writer: { output: 'stdout' }, include: ['http.log.access.log0'] } } },
  },
);

const RICH: Json = { ...SITES, apps: { ...(SITES['apps'] as Json), layer4: LAYER4 } };

const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('{', '{}', '{env.X}', '(', '[', '::', ':0', 'tcp/', '/', '*', '\0', '-1', '1e999', '__proto__'),
  fc.integer(),
  fc.double(),
);

test('the config that the others are made of compiles', () => {
  assert.equal(compileJson(RICH).compiled.pools.length, 2);
});

test('a config with any one value replaced compiles or is refused by a ConfigError', () => {
  const paths = pathsOf(RICH, []);
  fc.assert(
    fc.property(fc.constantFrom(...paths), odd, (path, value) => assertHandled(replaceAt(RICH, path, value))),
    { numRuns: 2000 },
  );
});

test('a config with any one field added compiles or is refused by a ConfigError', () => {
  const paths = pathsOf(RICH, []);
  fc.assert(
    fc.property(fc.constantFrom(...paths), fc.string(), odd, (path, key, value) => {
      assertHandled(replaceAt(RICH, [...path, key], value));
    }),
    { numRuns: 1000 },
  );
});

function assertHandled(json: unknown): void {
  try {
    compileJson(json as Json);
  } catch (error) {
    assert.ok(error instanceof ConfigError, error instanceof Error ? error.stack : String(error));
    assert.ok(error.message.length > 10, error.message);
  }
}

function pathsOf(value: unknown, path: readonly string[]): (readonly string[])[] {
  if (value === null || typeof value !== 'object') return [path];
  return [path, ...Object.entries(value).flatMap(([key, item]) => pathsOf(item, [...path, key]))];
}

/** A copy with `value` at `path`; where the path leads through something that is no object, it is unchanged. */
function replaceAt(tree: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (tree === null || typeof tree !== 'object') return tree;
  if (Array.isArray(tree))
    return tree.map((item, index) => (String(index) === key ? replaceAt(item, rest, value) : item));
  const next: unknown = Reflect.get(tree, key);
  return { ...tree, [key]: rest.length === 0 ? value : replaceAt(next, rest, value) };
}
