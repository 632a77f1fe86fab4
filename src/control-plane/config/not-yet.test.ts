import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, configOf, policy, proxy } from '../../../test/support/config-fixtures.ts';
import type { Json } from '../../../test/support/config-fixtures.ts';
import { readConfig } from './from-json.ts';

const HANDLER = 'apps.http.servers.srv0.routes.0.handle.0';
const inProxy = (fields: Json): Json => configOf([proxy(['app:80'], fields)]);
const inTransport = (fields: Json): Json => inProxy({ transport: { protocol: 'http', ...fields } });
const inPassive = (fields: Json): Json => inProxy({ health_checks: { passive: fields } });
const matching = (set: Json): Json => configOf([], { routes: [{ match: [set] }] });

/** A config with something of Caddy's that this version lacks, and the word it is refused by. */
const CASES: readonly (readonly [word: string, json: Json])[] = [
  ['random_choose', inProxy(policy({ policy: 'random_choose', choose: 2 }))],
  ['weighted_round_robin', inProxy(policy({ policy: 'weighted_round_robin', weights: [1] }))],
  ['uri_hash', inProxy(policy({ policy: 'uri_hash' }))],
  ['header', inProxy(policy({ policy: 'header', field: 'X' }))],
  ['query', inProxy(policy({ policy: 'cookie', fallback: { policy: 'query', key: 'q' } }))],
  ['lb_retry_match', inProxy({ load_balancing: { retry_match: [{ method: ['POST'] }] } })],
  ['fail_duration', inPassive({ fail_duration: '10s' })],
  ['max_fails', inPassive({ max_fails: 3 })],
  ['unhealthy_status', inPassive({ unhealthy_status: [5] })],
  ['unhealthy_latency', inPassive({ unhealthy_latency: '1s' })],
  ['unhealthy_request_count', inPassive({ unhealthy_request_count: 5 })],
  ['dynamic', inProxy({ dynamic_upstreams: { source: 'srv', name: 'x' } })],
  ['max_requests', configOf([{ handler: 'reverse_proxy', upstreams: [{ dial: 'app:80', max_requests: 3 }] }])],
  ['request_buffers', inProxy({ request_buffers: 4096 })],
  ['response_buffers', inProxy({ response_buffers: 4096 })],
  ['stream_timeout', inProxy({ stream_timeout: '1h' })],
  ['stream_close_delay', inProxy({ stream_close_delay: '1h' })],
  ['handle_response', inProxy({ handle_response: [] })],
  ['rewrite in reverse_proxy', inProxy({ rewrite: { method: 'GET' } })],
  ['flush_interval above 0', inProxy({ flush_interval: '100ms' })],
  ['https upstreams', inTransport({ tls: {} })],
  ['h2c upstreams', inTransport({ versions: ['h2c', '1.1'] })],
  ['proxy_protocol', inTransport({ proxy_protocol: 'v2' })],
  ['compression', inTransport({ compression: true })],
  ['url', inTransport({ network_proxy: { from: 'url', url: 'http://proxy:3128' } })],
  ['fastcgi', inProxy({ transport: { protocol: 'fastcgi' } })],
  ['path_regexp', matching({ path_regexp: { pattern: '^/a' } })],
  ['header_regexp', matching({ header_regexp: { X: { pattern: 'a' } } })],
  ['expression', matching({ expression: 'path("/a")' })],
  ['placeholders in host matchers', matching({ host: ['{env.HOST}'] })],
  ['placeholders in health checks', inProxy({ health_checks: { active: { uri: '/{system.hostname}' } } })],
  ['log_skip', configOf([{ handler: 'vars', log_skip: true }])],
  ['file_server', configOf([{ handler: 'file_server' }])],
  ['handle_errors', configOf([], { errors: { routes: [] } })],
  ['listener_wrappers', configOf([], { listener_wrappers: [{ wrapper: 'tls' }] })],
  ['h2c', configOf([], { protocols: ['h1', 'h2c'] })],
  ['protocols without h1', configOf([], { protocols: ['h2'] })],
  ['trusted_proxies_unix', configOf([], { trusted_proxies_unix: true })],
  ['log_credentials', configOf([], { logs: { should_log_credentials: true } })],
  ['apps.tls', { apps: { tls: {} } }],
  ['layer4', { apps: { layer4: { servers: {} } } }],
  ['storage', { storage: { module: 'file_system' } }],
  ['shutdown_delay', { apps: { http: { shutdown_delay: '1s' } } }],
  ['file', { logging: { logs: { log0: { writer: { output: 'file', filename: 'a.log' } } } } }],
  ['console', { logging: { logs: { log0: { encoder: { format: 'console' } } } } }],
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
  assert.throws(() => readConfig(inProxy(policy({ policy: 'uri_hash' }))), {
    message: `'uri_hash' is not supported yet, at ${HANDLER}.load_balancing.selection_policy.policy`,
  });
});

test('options that ask for what happens anyway are accepted', () => {
  const accepted: readonly Json[] = [
    inProxy({ flush_interval: -1 }),
    inProxy({ verbose_logs: false, health_checks: { passive: {} } }),
    inTransport({ versions: ['1.1', '2'], compression: false, network_proxy: { from: 'none' } }),
    configOf([], { protocols: ['h1', 'h2', 'h3'], trusted_proxies_strict: 1, enable_full_duplex: true }),
    { admin: { config: { persist: false } }, apps: { http: { metrics: {} } } },
  ];
  for (const json of accepted) assert.doesNotThrow(() => readConfig(json), JSON.stringify(json));
});
