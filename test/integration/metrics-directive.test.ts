/** `metrics`: the exposition of the admin API on a site. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { valueOf } from '../support/metric.ts';
import { startPlane } from '../support/plane.ts';
import { get } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

test('a site answers with the metrics of all workers', async (t) => {
  const app = await startBackend(t, 'app');
  const rules = `metrics /metrics {\ndisable_openmetrics\n}\n${proxyTo([app])}`;
  const balancer = await startBalancer(t, site(rules), { workers: 2 });
  for (let asked = 0; asked < 5; asked += 1) await get(balancer.port, '/');
  const response = await get(balancer.port, '/metrics');
  assert.equal(response.status, 200);
  assert.match(response.header('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  const upstream = `127.0.0.1:${app.port}`;
  assert.equal(valueOf(response.body, 'caddy_reverse_proxy_upstreams_healthy', { upstream }), 1);
  assert.equal(valueOf(response.body, 'holdfast_upstream_requests_total', { upstream }), 5);
});

test('requests that ask at the same time all get them', async (t) => {
  const balancer = await startBalancer(t, site('metrics'));
  const responses = await Promise.all(Array.from({ length: 20 }, () => get(balancer.port, '/')));
  for (const { status, body } of responses) assert.deepEqual([status, body.includes('# TYPE ')], [200, true]);
});

test('it runs in its place of the order, behind a password', async (t) => {
  const account = 'ann $2b$04$B1Y1/jf0ytrjOd9aA1v0cuvNJcpSAs0zTutBN.QOwce6JC1.CaF36';
  const balancer = await startBalancer(t, site(`metrics /m\nbasic_auth {\n${account}\n}`));
  const Authorization = `Basic ${Buffer.from('ann:sesame').toString('base64')}`;
  assert.equal((await get(balancer.port, '/m')).status, 401);
  assert.match((await get(balancer.port, '/m', { Authorization })).body, /# HELP/);
});

test('where nobody makes metrics, or making them fails, it is a 503', async (t) => {
  const without = await startPlane(t, site('metrics'));
  assert.equal((await get(without.port)).status, 503);
  const failing = await startPlane(t, site('metrics'), { metrics: () => Promise.reject(new Error('no')) });
  assert.equal((await get(failing.port)).status, 503);
});
