import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, configOf, proxy } from '../../../test/support/config-fixtures.ts';
import type { Json } from '../../../test/support/config-fixtures.ts';
import { readConfig } from './from-json.ts';

const HANDLER = 'apps.http.servers.srv0.routes.0.handle.0';
const inProxy = (fields: Json): Json => configOf([proxy(['app:80'], fields)]);
const inTransport = (fields: Json): Json => inProxy({ transport: { protocol: 'http', ...fields } });
const matching = (set: Json): Json => configOf([], { routes: [{ match: [set] }] });

const layer4 = (handle: readonly Json[], route: Json = {}): Json => ({
  apps: { layer4: { servers: { srv0: { listen: [':3306'], routes: [{ handle, ...route }] } } } },
});

/** A config with something of Caddy's that this version lacks, and the word it is refused by. */
const CASES: readonly (readonly [word: string, json: Json])[] = [
  ['dial_timeout in dynamic', inProxy({ dynamic_upstreams: { source: 'a', name: 'x', dial_timeout: '1s' } })],
  ['version 3', inTransport({ versions: ['3'] })],
  ['tls_renegotiation once|freely', inTransport({ tls: { renegotiation: 'once' } })],
  ['pki_root', inTransport({ tls: { ca: { provider: 'pki_root' } } })],
  ['compression', inTransport({ compression: true })],
  ['url', inTransport({ network_proxy: { from: 'url', url: 'http://proxy:3128' } })],
  ['fastcgi', inProxy({ transport: { protocol: 'fastcgi' } })],
  ['placeholders in host matchers', matching({ host: ['{env.HOST}'] })],
  ['placeholders in health checks', inProxy({ health_checks: { active: { uri: '/{system.hostname}' } } })],
  ['file_server', configOf([{ handler: 'file_server' }])],
  ['http_redirect', configOf([], { listener_wrappers: [{ wrapper: 'http_redirect' }] })],
  ['protocols without h1', configOf([], { protocols: ['h2'] })],
  ['trusted_proxies_unix', configOf([], { trusted_proxies_unix: true })],
  ['log_credentials', configOf([], { logs: { should_log_credentials: true } })],
  ['zerossl', { apps: { tls: { automation: { policies: [{ issuers: [{ module: 'zerossl' }] }] } } } }],
  ['test_dir', { apps: { tls: { automation: { policies: [{ issuers: [{ module: 'acme', test_ca: 'a' }] }] } } } }],
  ['get_certificate', { apps: { tls: { automation: { policies: [{ get_certificate: [] }] } } } }],
  [
    'storage',
    configOf([], {
      tls_connection_policies: [
        { client_authentication: { verifiers: [{ verifier: 'leaf', leaf_certs_loaders: [{ loader: 'storage' }] }] } },
      ],
    }),
  ],
  ['socks5', layer4([{ handler: 'socks5' }])],
  ['proxy_protocol deny', layer4([{ handler: 'proxy_protocol', deny: ['10.0.0.0/8'] }])],
  ['postgres (layer4 matcher)', layer4([], { match: [{ postgres: {} }] })],
  ['header (in a layer4 http matcher)', layer4([], { match: [{ http: [{ header: {} }] }] })],
  ['drop', layer4([{ handler: 'tls', connection_policies: [{ drop: true }] }])],
  ['journald', { logging: { logs: { log0: { encoder: { format: 'journald' } } } } }],
];

for (const [word, json] of CASES) {
  test(`'${word}' is refused by its name, with file and line`, () => {
    const positions = new Map(['admin', 'apps', 'logging', 'storage'].map((key) => [key, at(5)]));
    assert.throws(
      () => readConfig(json, positions),
      (error: Error) => {
        assert.match(error.message, /^'[^']+' is not supported yet, at Caddyfile:5$/);
        return error.message.startsWith(`'${word}' is`);
      },
    );
  });
}

test('without positions the JSON path says where', () => {
  assert.throws(() => readConfig(inProxy({ circuit_breaker: {} })), {
    message: `'circuit_breaker' is not supported yet, at ${HANDLER}.circuit_breaker`,
  });
});

test('options that ask for what happens anyway are accepted', () => {
  const accepted: readonly Json[] = [
    inProxy({ flush_interval: -1 }),
    inProxy({ flush_interval: '100ms' }),
    inProxy({ verbose_logs: false, health_checks: { passive: {} } }),
    inTransport({ versions: ['1.1', '2'], compression: false, network_proxy: { from: 'none' } }),
    configOf([], { protocols: ['h1', 'h2', 'h2c', 'h3'], trusted_proxies_strict: 1, enable_full_duplex: true }),
    { admin: { config: { persist: false } }, apps: { http: { metrics: {} } } },
  ];
  for (const json of accepted) assert.doesNotThrow(() => readConfig(json), JSON.stringify(json));
});
