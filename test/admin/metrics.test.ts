import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Metrics } from '../../src/control-plane/metrics/metrics.ts';
import { METRICS } from '../../src/control-plane/metrics/names.ts';
import { metricsReferencePage } from '../../src/control-plane/metrics/reference-page.ts';
import { systemClock } from '../../src/shared/clock.ts';
import {
  DURATION_BUCKETS,
  FACT_IN_FLIGHT,
  FACT_REQUESTS,
  LANE_CONNECTIONS,
  LIMIT_MAX_SESSIONS,
  SERVER_CONNECTIONS_ACCEPTED,
  SERVER_DATAGRAMS_IN,
  SERVER_DURATION_BUCKETS,
  SERVER_DURATION_SUM,
  SERVER_LIMITS,
  SERVER_RESPONSES,
} from '../../src/shared/state-table/layout.ts';
import { compileJson, configOf } from '../support/config-fixtures.ts';
import { parseExposition, type Exposition } from './exposition.ts';
import { FakePlane, upstreamStatus } from './fake-plane.ts';
import type { EndpointStatus, UpstreamStatus } from '../../src/control-plane/types.ts';

const ECHO = { listen: ['udp/:7'], routes: [{ handle: [{ handler: 'echo' }] }] };
const SECURE_ECHO = {
  listen: [':7'],
  routes: [{ match: [{ tls: { sni: ['a.localhost'] } }], handle: [{ handler: 'tls' }, { handler: 'echo' }] }],
};

/** An upstream with a passive and an active check of two addresses. */
function checkedStatus(upstream: string): UpstreamStatus {
  const status = upstreamStatus(upstream, { passiveFails: 0 });
  const [endpoint] = status.endpoints;
  const checked = (roundTripMs: number | null, jitterMs: number | null, loss: number): EndpointStatus => ({
    ...endpoint!,
    checks: [
      {
        name: 'tcp every 5s',
        verdict: 'up',
        ...{ reason: '', cause: '', remedy: '', results: [], consecutivePasses: 1, consecutiveFails: 0 },
        ...{ roundTripMs, jitterMs, loss },
      },
    ],
  });
  return { ...status, endpoints: [checked(20, 4, 0), checked(null, null, 0.25)] };
}

/** A plane of one HTTP server (row 0), one UDP server (row 1), one TCP server with TLS (row 2) and two upstreams (slots 0 and 1), with two lanes of workers. */
function createPlane(): FakePlane {
  const plane = new FakePlane();
  plane.servers = new Map([['srv0', 0]]);
  plane.layer4 = new Map([
    ['srv0', 1],
    ['srv1', 2],
  ]);
  const layer4 = compileJson({ apps: { layer4: { servers: { srv0: ECHO, srv1: SECURE_ECHO } } } }).compiled;
  plane.layer4Servers = layer4.layer4;
  plane.sections = layer4.sections;
  plane.httpServers = compileJson(configOf([], { tls_connection_policies: [{}] })).compiled.servers;
  plane.certificateStatuses = [
    {
      source: 'internal',
      onDemand: false,
      label: 'localhost',
      names: ['localhost'],
      expiresAt: 5000,
      renewals: 2,
      failures: 1,
    },
  ];
  plane.slots = new Map([
    ['app:80', 0],
    ['app:81', 1],
    ['10.0.0.9:80', 2],
  ]);
  plane.statuses = [checkedStatus('app:80'), upstreamStatus('app:81')];
  plane.table.grow('lane', 0, 2);
  for (const lane of [0, 1, 2]) {
    plane.table.grow('facts', lane, 2);
    plane.table.grow('server', lane, 2);
  }
  return plane;
}

async function scrape(metrics: Metrics): Promise<Exposition> {
  return parseExposition(await metrics.text());
}

function createMetrics(plane: FakePlane): Metrics {
  return new Metrics(plane, systemClock, '1.2.3');
}

test('every metric of the table is exposed, with its type, and no other', async () => {
  const { families } = await scrape(createMetrics(createPlane()));
  const exposed = [...families].map(([name, family]) => [name, family.type]);
  assert.deepEqual(
    exposed,
    Object.values(METRICS).map(({ name, type }) => [name, type]),
  );
  for (const [name, family] of families) assert.notEqual(family.samples.size, 0, name);
});

test('each series has exactly the labels of the table', async () => {
  const { families } = await scrape(createMetrics(createPlane()));
  for (const { name, type, labels } of Object.values(METRICS)) {
    for (const key of families.get(name)?.samples.keys() ?? []) {
      const shown = [...key.matchAll(/[{,](\w+)=/g)].map(([, label]) => label).filter((label) => label !== 'le');
      assert.deepEqual(shown, labels, `${type} ${key}`);
    }
  }
});

test('names follow the conventions: counters end in _total, units are base units', () => {
  for (const { name, type } of Object.values(METRICS)) {
    assert.equal(name.endsWith('_total'), type === 'counter', name);
    assert.doesNotMatch(name, /_(ms|milliseconds|minutes|kilobytes)(_|$)/);
  }
});

test('a histogram is cumulative and its count equals the last bucket', async () => {
  const plane = createPlane();
  for (const lane of [1, 2]) {
    plane.table.servers(lane).count(0, SERVER_DURATION_BUCKETS, 2);
    plane.table.servers(lane).count(0, SERVER_DURATION_BUCKETS + DURATION_BUCKETS.length, 1);
    plane.table.servers(lane).count(0, SERVER_DURATION_SUM, 12.5);
  }
  const { series } = await scrape(createMetrics(plane));
  const name = 'holdfast_http_request_duration_seconds';
  const buckets = [...series].filter(([key]) => key.startsWith(`${name}_bucket`)).map(([, value]) => value);
  assert.deepEqual(buckets, [...Array.from({ length: DURATION_BUCKETS.length }, () => 4), 6]);
  assert.equal(series.get(`${name}_bucket{server="srv0",le="+Inf"}`), 6);
  assert.equal(series.get(`${name}_count{server="srv0"}`), 6);
  assert.equal(series.get(`${name}_sum{server="srv0"}`), 25);
});

test('servers of layer 4 count for themselves, datagrams only over UDP', async () => {
  const plane = createPlane();
  for (const lane of [1, 2]) {
    plane.table.servers(lane).count(1, SERVER_CONNECTIONS_ACCEPTED, 2);
    plane.table.servers(lane).count(1, SERVER_DATAGRAMS_IN, 5);
    plane.table.servers(lane).count(1, SERVER_LIMITS + LIMIT_MAX_SESSIONS, 1);
  }
  const { series } = await scrape(createMetrics(plane));
  assert.equal(series.get('holdfast_layer4_accepted_total{server="srv0"}'), 4);
  assert.equal(series.get('holdfast_http_connections_accepted_total{server="srv0"}'), 0);
  assert.equal(series.get('holdfast_layer4_datagrams_total{server="srv0",direction="in"}'), 10);
  assert.equal(series.get('holdfast_layer4_limit_hits_total{server="srv0",limit="max_sessions"}'), 2);
  plane.layer4Servers = [];
  const without = await scrape(createMetrics(plane));
  assert.equal(without.series.has('holdfast_layer4_datagrams_total{server="srv0",direction="in"}'), false);
});

test('workers are added up', async () => {
  const plane = createPlane();
  plane.table.servers(1).count(0, SERVER_RESPONSES + 1, 3);
  plane.table.servers(2).count(0, SERVER_RESPONSES + 1, 4);
  plane.table.facts(1).add(1, FACT_IN_FLIGHT, 5);
  plane.table.facts(2).add(1, FACT_IN_FLIGHT, 6);
  plane.table.lanes.store(1, LANE_CONNECTIONS, 7);
  const { series } = await scrape(createMetrics(plane));
  assert.equal(series.get('holdfast_http_requests_total{server="srv0",code="2xx"}'), 7);
  assert.equal(series.get('caddy_reverse_proxy_upstreams_requests_active{upstream="app:81"}'), 11);
  assert.equal(series.get('holdfast_connections_open'), 7);
});

test('an upstream of two pools is healthy when it is in both, and its requests are counted once', async () => {
  const plane = createPlane();
  plane.table.facts(1).add(0, FACT_IN_FLIGHT, 2);
  plane.statuses = [upstreamStatus('app:80'), upstreamStatus('app:80', { pool: 'other', state: 'down' })];
  const metrics = createMetrics(plane);
  const down = await scrape(metrics);
  assert.equal(down.series.get('caddy_reverse_proxy_upstreams_healthy{upstream="app:80"}'), 0);
  assert.equal(down.series.get('caddy_reverse_proxy_upstreams_requests_active{upstream="app:80"}'), 2);
  plane.statuses = [upstreamStatus('app:80', { state: 'drain' }), upstreamStatus('app:80', { pool: 'other' })];
  const up = await scrape(metrics);
  assert.equal(up.series.get('caddy_reverse_proxy_upstreams_healthy{upstream="app:80"}'), 1);
});

test('counters of an upstream do not go down when its name moves to another address', async () => {
  const plane = createPlane();
  const metrics = createMetrics(plane);
  const key = 'holdfast_upstream_requests_total{upstream="app:80"}';
  plane.table.facts(1).count(0, FACT_REQUESTS, 10);
  assert.equal((await scrape(metrics)).series.get(key), 10);
  const moved = upstreamStatus('app:80');
  plane.statuses = [{ ...moved, endpoints: moved.endpoints.map((e) => ({ ...e, address: '10.0.0.9:80' })) }];
  plane.table.facts(1).count(2, FACT_REQUESTS, 1);
  assert.equal((await scrape(metrics)).series.get(key), 11);
  plane.statuses = [moved];
  plane.table.facts(1).count(0, FACT_REQUESTS, 1);
  assert.equal((await scrape(metrics)).series.get(key), 12);
});

test('a slot that was cleared counts on from where its upstream was', async () => {
  const plane = createPlane();
  const metrics = createMetrics(plane);
  plane.table.facts(1).count(0, FACT_REQUESTS, 10);
  await scrape(metrics);
  plane.table.facts(1).clear(0);
  plane.table.facts(1).count(0, FACT_REQUESTS, 4);
  const { series } = await scrape(metrics);
  assert.equal(series.get('holdfast_upstream_requests_total{upstream="app:80"}'), 14);
});

test('the number of series depends on the config alone, and those of removed upstreams end', async () => {
  const plane = createPlane();
  const metrics = createMetrics(plane);
  const before = (await scrape(metrics)).series.size;
  for (let word = 0; word < 14; word += 1) plane.table.servers(1).count(0, word, 1000 + word);
  for (let word = 0; word < 18; word += 1) plane.table.facts(2).count(1, word, 1000 + word);
  assert.equal((await scrape(metrics)).series.size, before);
  plane.statuses = plane.statuses.slice(0, 1);
  const { series } = await scrape(metrics);
  assert.deepEqual(
    [...series.keys()].filter((key) => key.includes('app:81')),
    [],
  );
});

test('names with quotes, backslashes and line ends are escaped', async () => {
  const plane = createPlane();
  plane.statuses = [upstreamStatus('a"b\\c\nd:80')];
  const { series } = await scrape(createMetrics(plane));
  assert.equal(series.get('caddy_reverse_proxy_upstreams_healthy{upstream="a\\"b\\\\c\\nd:80"}'), 1);
});

test('an upstream that a pool names twice has one series', async () => {
  const plane = createPlane();
  plane.statuses = [upstreamStatus('app:80'), upstreamStatus('app:80', { position: 1 })];
  await assert.doesNotReject(scrape(createMetrics(plane)));
});

test('scrapes may overlap', async () => {
  const plane = createPlane();
  plane.table.facts(1).count(0, FACT_REQUESTS, 10);
  const metrics = createMetrics(plane);
  const all = await Promise.all([scrape(metrics), scrape(metrics), scrape(metrics)]);
  for (const { series } of all) assert.equal(series.get('holdfast_upstream_requests_total{upstream="app:80"}'), 10);
});

test('the reference page is what the table says', async () => {
  const page = await readFile(new URL('../../docs/reference/metrics.md', import.meta.url), 'utf8');
  assert.equal(page, metricsReferencePage());
});

test('the check of an upstream is shown in seconds and shares, of its addresses the worst', async () => {
  const { families } = await scrape(createMetrics(createPlane()));
  const shown = (name: string): readonly (readonly [string, number])[] => [...(families.get(name)?.samples ?? [])];
  const labels = '{pool="a1b2c3d4",upstream="app:80"}';
  assert.deepEqual(shown('holdfast_check_round_trip_seconds'), [[`holdfast_check_round_trip_seconds${labels}`, 0.02]]);
  assert.deepEqual(shown('holdfast_check_jitter_seconds'), [[`holdfast_check_jitter_seconds${labels}`, 0.004]]);
  assert.deepEqual(shown('holdfast_check_loss_ratio'), [[`holdfast_check_loss_ratio${labels}`, 0.25]]);
});

test('certificates and handshakes are told by certificate and server', async () => {
  const text = await createMetrics(createPlane()).text();
  assert.ok(text.includes('holdfast_certificate_expiry_timestamp_seconds{certificate="localhost"} 5\n'));
  assert.ok(text.includes('holdfast_certificate_renewals_total{certificate="localhost",result="success"} 2\n'));
  assert.ok(text.includes('holdfast_certificate_renewals_total{certificate="localhost",result="failure"} 1\n'));
  for (const result of ['full', 'resumed', 'failed']) {
    assert.ok(text.includes(`holdfast_tls_handshakes_total{server="srv0",result="${result}"} 0\n`), result);
  }
});
