import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, configOf, proxy } from '../../../test/support/config-fixtures.ts';
import type { Json } from '../../../test/support/config-fixtures.ts';
import { readConfig } from './from-json.ts';

const HANDLER = 'apps.http.servers.srv0.routes.0.handle.0';
const inProxy = (fields: Json): Json => configOf([proxy(['app:80'], fields)]);
const inTransport = (fields: Json): Json => inProxy({ transport: { protocol: 'http', ...fields } });
const matching = (set: Json): Json => configOf([], { routes: [{ match: [set] }] });

/** A config with something of Caddy's that this version lacks, and the word it is refused by. */
const CASES: readonly (readonly [word: string, json: Json])[] = [
  ['dial_timeout in dynamic', inProxy({ dynamic_upstreams: { source: 'a', name: 'x', dial_timeout: '1s' } })],
  ['response_buffers', inProxy({ response_buffers: 4096 })],
  ['https upstreams', inTransport({ tls: {} })],
  ['h2c upstreams', inTransport({ versions: ['h2c', '1.1'] })],
  ['compression', inTransport({ compression: true })],
  ['url', inTransport({ network_proxy: { from: 'url', url: 'http://proxy:3128' } })],
  ['fastcgi', inProxy({ transport: { protocol: 'fastcgi' } })],
  ['placeholders in host matchers', matching({ host: ['{env.HOST}'] })],
  ['placeholders in health checks', inProxy({ health_checks: { active: { uri: '/{system.hostname}' } } })],
  ['file_server', configOf([{ handler: 'file_server' }])],
  ['listener_wrappers', configOf([], { listener_wrappers: [{ wrapper: 'tls' }] })],
  ['h2c', configOf([], { protocols: ['h1', 'h2c'] })],
  ['protocols without h1', configOf([], { protocols: ['h2'] })],
  ['trusted_proxies_unix', configOf([], { trusted_proxies_unix: true })],
  ['log_credentials', configOf([], { logs: { should_log_credentials: true } })],
  ['apps.tls', { apps: { tls: {} } }],
  ['layer4', { apps: { layer4: { servers: {} } } }],
  ['storage', { storage: { module: 'file_system' } }],
  ['shutdown_delay', { apps: { http: { shutdown_delay: '1s' } } }],
  ['net', { logging: { logs: { log0: { writer: { output: 'net', address: 'a:1' } } } } }],
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
    configOf([], { protocols: ['h1', 'h2', 'h3'], trusted_proxies_strict: 1, enable_full_duplex: true }),
    { admin: { config: { persist: false } }, apps: { http: { metrics: {} } } },
  ];
  for (const json of accepted) assert.doesNotThrow(() => readConfig(json), JSON.stringify(json));
});
