import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configOf, policy, proxy } from '../../../test/support/config-fixtures.ts';
import type { Json } from '../../../test/support/config-fixtures.ts';
import { readConfig } from './from-json.ts';

const MS = 1_000_000;
const HOUR = 3_600_000 * MS;
const DAY = 24 * HOUR;
const MIB = 1024 * 1024;

type Place = (value: unknown) => Json;

const app = (fields: Json): Json => ({ apps: { http: fields } });
const automation = (fields: Json): Json => ({ apps: { tls: { automation: fields } } });
const acme = (fields: Json): Json => automation({ policies: [{ issuers: [{ module: 'acme', ...fields }] }] });
const server =
  (key: string): Place =>
  (value) =>
    configOf([], { [key]: value });
const limit =
  (key: string): Place =>
  (value) =>
    configOf([], { limits: { [key]: value } });
const dynamic =
  (source: string, key: string): Place =>
  (value) =>
    configOf([proxy([], { dynamic_upstreams: { source, name: 'app', [key]: value } })]);
const balancing =
  (key: string): Place =>
  (value) =>
    configOf([proxy(['app:80'], { load_balancing: { [key]: value } })]);
const active =
  (key: string): Place =>
  (value) =>
    configOf([proxy(['app:80'], { health_checks: { active: { [key]: value } } })]);
const handler =
  (key: string): Place =>
  (value) =>
    configOf([proxy(['app:80'], { [key]: value })]);
const transport =
  (key: string): Place =>
  (value) =>
    configOf([proxy(['app:80'], { transport: { protocol: 'http', [key]: value } })]);
const keepAlive =
  (key: string): Place =>
  (value) =>
    configOf([proxy(['app:80'], { transport: { protocol: 'http', keep_alive: { [key]: value } } })]);
const selection =
  (name: string, key: string): Place =>
  (value) =>
    configOf([proxy(['app:80'], policy({ policy: name, [key]: value }))]);

const upstreamOption =
  (key: string): Place =>
  (value) =>
    configOf([{ handler: 'reverse_proxy', upstreams: [{ dial: 'app:80', [key]: value }] }]);
const passive =
  (key: string): Place =>
  (value) =>
    configOf([proxy(['app:80'], { health_checks: { passive: { [key]: value } } })]);

/** Every numeric option with its smallest and its largest value. */
const RANGES: readonly (readonly [option: string, place: Place, min: number, max: number])[] = [
  ['http_port', (value) => app({ http_port: value }), 1, 65_535],
  ['https_port', (value) => app({ https_port: value }), 1, 65_535],
  ['renew_interval', (value) => automation({ renew_interval: value }), 1000 * MS, DAY],
  ['storage_clean_interval', (value) => automation({ storage_clean_interval: value }), 60_000 * MS, 365 * DAY],
  ['timeout', (value) => acme({ acme_timeout: value }), 1000 * MS, DAY],
  ['alternate_port', (value) => acme({ challenges: { http: { alternate_port: value } } }), 1, 65_535],
  ['grace_period', (value) => app({ grace_period: value }), 0, DAY],
  ['name_refresh', (value) => app({ name_refresh: value }), 1000 * MS, HOUR],
  ['worker_hang_timeout', (value) => app({ worker_hang_timeout: value }), 500 * MS, 600_000 * MS],
  ['read_timeout', server('read_timeout'), 0, DAY],
  ['read_header_timeout', server('read_header_timeout'), MS, DAY],
  ['read_idle_timeout', server('read_idle_timeout'), MS, DAY],
  ['write_timeout', server('write_timeout'), 0, DAY],
  ['write_idle_timeout', server('write_idle_timeout'), MS, DAY],
  ['idle_timeout', server('idle_timeout'), MS, DAY],
  ['max_header_bytes', server('max_header_bytes'), 1024, MIB],
  ['limits.connections', limit('connections'), 1, 1_000_000_000],
  ['limits.connections_per_source', limit('connections_per_source'), 1, 1_000_000_000],
  ['limits.header_fields', limit('header_fields'), 10, 1000],
  ['limits.requests_per_connection', limit('requests_per_connection'), 1, 1_000_000_000],
  ['limits.streams_per_connection', limit('streams_per_connection'), 1, 10_000],
  ['dynamic_upstreams.refresh', dynamic('a', 'refresh'), 1000 * MS, DAY],
  ['dynamic_upstreams.grace_period', dynamic('srv', 'grace_period'), 0, DAY],
  ['retries', balancing('retries'), 0, 1000],
  ['try_duration', balancing('try_duration'), 0, HOUR],
  ['try_interval', balancing('try_interval'), 0, HOUR],
  ['port', active('port'), 1, 65_535],
  ['interval', active('interval'), 10 * MS, DAY],
  ['timeout', active('timeout'), MS, HOUR],
  ['passes', active('passes'), 1, 1000],
  ['fails', active('fails'), 1, 1000],
  ['max_size', active('max_size'), 0, 64 * MIB],
  ['expect_status', active('expect_status'), 1, 599],
  ['fail_duration', passive('fail_duration'), 0, DAY],
  ['max_fails', passive('max_fails'), 1, 1000],
  ['unhealthy_latency', passive('unhealthy_latency'), 0, HOUR],
  ['fail_ratio_min_requests', passive('fail_ratio_min_requests'), 1, 1_000_000],
  ['request_buffers', handler('request_buffers'), 0, 64 * MIB],
  ['response_buffers', handler('response_buffers'), 0, 64 * MIB],
  ['stream_buffer_size', handler('stream_buffer_size'), 0, 64 * MIB],
  ['minimum_length', (value) => configOf([{ handler: 'encode', minimum_length: value }]), 0, 2 ** 30],
  ['level', (level) => configOf([{ handler: 'encode', encodings: { gzip: { level } } }]), 1, 9],
  ['level', (level) => configOf([{ handler: 'encode', encodings: { br: { level } } }]), 0, 11],
  ['stream_timeout', handler('stream_timeout'), 0, 30 * DAY],
  ['stream_close_delay', handler('stream_close_delay'), 0, 30 * DAY],
  ['read_timeout', transport('read_timeout'), 0, DAY],
  ['write_timeout', transport('write_timeout'), 0, DAY],
  ['probe_interval', keepAlive('probe_interval'), 1000 * MS, DAY],
  ['dial_timeout', transport('dial_timeout'), MS, HOUR],
  ['response_header_timeout', transport('response_header_timeout'), 0, DAY],
  ['max_response_header_size', transport('max_response_header_size'), 1024, 16 * MIB],
  ['idle_timeout', keepAlive('idle_timeout'), MS, DAY],
  ['max_idle_conns_per_host', keepAlive('max_idle_conns_per_host'), 1, 65_535],
  ['choose', selection('random_choose', 'choose'), 2, 65_535],
  ['weight', upstreamOption('weight'), 0, 65_535],
  ['max_requests', upstreamOption('max_requests'), 0, 1_000_000],
  ['slow_start', upstreamOption('slow_start'), 0, HOUR],
  ['size', (size) => balancing('queue')({ size }), 1, 100_000],
  ['timeout', (timeout) => balancing('queue')({ size: 1, timeout }), MS, HOUR],
  ['unhealthy_request_count', passive('unhealthy_request_count'), 0, 1_000_000],
  ['seed', selection('ip_hash', 'seed'), 0, 0xffff_ffff],
  ['ipv4_prefix', selection('ip_hash', 'ipv4_prefix'), 1, 32],
  ['ipv6_prefix', selection('client_ip_hash', 'ipv6_prefix'), 1, 128],
  ['max_age', selection('cookie', 'max_age'), 1000 * MS, 3650 * DAY],
  ['status_code', (value) => configOf([{ handler: 'static_response', status_code: value }]), 200, 599],
  ['max_size', (value) => configOf([{ handler: 'request_body', max_size: value }]), 0, 2 ** 50],
  ['read_timeout', (value) => configOf([{ handler: 'request_body', read_timeout: value }]), 0, DAY],
  ['write_timeout', (value) => configOf([{ handler: 'request_body', write_timeout: value }]), 0, DAY],
  ['status_code', (value) => configOf([{ handler: 'error', status_code: value }]), 200, 599],
  ['limit', (limit) => configOf([{ handler: 'rewrite', uri_substring: [{ find: 'a', limit }] }]), 0, 1_000_000],
];

for (const [option, place, min, max] of RANGES) {
  test(`${option} takes ${min} to ${max} and nothing else`, () => {
    for (const value of [min, max]) assert.doesNotThrow(() => readConfig(place(value)), String(value));
    const wrong = [min - (min >= MS ? MS : 1), max + (max > MS ? MS : 1), 'twelve', min + 0.5, {}, [min], true];
    for (const value of wrong) {
      assert.throws(
        () => readConfig(place(value)),
        (error: Error) => error.message.includes(`${option}: expected a `) && error.message.includes(', found '),
        `${option} = ${JSON.stringify(value)}`,
      );
    }
  });
}

test('a range error names path, allowed values and what was found', () => {
  const json = configOf([proxy(['app:80'], { health_checks: { active: { uri: '/', interval: '1ms' } } })]);
  assert.throws(() => readConfig(json), {
    message:
      'apps.http.servers.srv0.routes.0.handle.0.health_checks.active.interval: expected a duration from 10ms to 1d ' +
      '(whole nanoseconds, or text such as 1m30s), found "1ms"',
  });
});
