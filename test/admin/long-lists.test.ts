import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Metrics } from '../../src/control-plane/metrics/metrics.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { parseExposition } from './exposition.ts';
import { upstreamStatus } from './fake-plane.ts';
import { startAdmin } from './harness.ts';

const NAMES: readonly string[] = Array.from({ length: 2500 }, (_, at) => `app-${at}:80`);

for (const [path, key] of [
  ['/upstreams', 'upstream'],
  ['/reverse_proxy/upstreams', 'address'],
] as const) {
  test(`${path} sends a list of thousands whole and in order`, async (t) => {
    const admin = await startAdmin(t);
    admin.plane.statuses = NAMES.map((name) => upstreamStatus(name));
    const reply = await admin.request('GET', path);
    assert.equal(reply.headers.get('content-length'), null);
    const list = JSON.parse(reply.text) as Record<string, unknown>[];
    assert.deepEqual(
      list.map((entry) => entry[key]),
      NAMES,
    );
  });

  test(`${path} says how long a short list is`, async (t) => {
    const admin = await startAdmin(t);
    admin.plane.statuses = [upstreamStatus('app:80')];
    const reply = await admin.request('GET', path);
    assert.equal(reply.headers.get('content-length'), String(reply.text.length));
  });
}

test('a list that breaks off in the middle is seen to be cut', async (t) => {
  const admin = await startAdmin(t);
  admin.plane.eachUpstream = async function* () {
    for (const name of NAMES) yield upstreamStatus(name);
    throw new Error('no more');
  };
  await assert.rejects(admin.request('GET', '/upstreams'), TypeError);
  assert.equal((await admin.request('GET', '/health/live')).status, 200);
});

test('metrics of thousands of upstreams have one head and every series', async (t) => {
  const { plane } = await startAdmin(t);
  plane.statuses = NAMES.map((name) => upstreamStatus(name));
  const { families } = parseExposition(await new Metrics(plane, systemClock, '1').text());
  assert.equal(families.get('caddy_reverse_proxy_upstreams_healthy')?.samples.size, NAMES.length);
});
