/** Active checks of pools behind TLS and HTTP/2 go the way of their traffic. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { makeAuthority } from '../support/authority.ts';
import { eventually } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { get } from '../support/raw-client.ts';
import { startH2, startHttps } from '../support/secure-backend.ts';

async function front(t: TestContext, upstreams: string, transport: string): Promise<TestBalancer> {
  const health = 'health_uri /health\nhealth_interval 100ms\nhealth_initial down';
  return startBalancer(t, site(`reverse_proxy ${upstreams} {\n${health}\n${transport}\n}`));
}

test('servers behind TLS are checked with the trust of the traffic', async (t) => {
  const authority = await makeAuthority(t);
  const upstream = await startHttps(t, await authority.issue(['localhost']));
  const trust = (file: string): string => `transport http {\ntls_trust_pool file ${file}\nversions 1.1\n}`;
  const good = await front(t, `https://localhost:${upstream.port}`, trust(authority.rootFile));
  await eventually(async () => (await get(good.port)).status === 200, 'the check to pass');
  assert.ok(upstream.requests.some(({ url }) => url === '/health'));
  const other = await makeAuthority(t, 'another root');
  const bad = await front(t, `https://localhost:${upstream.port}`, trust(other.rootFile));
  const reasonOf = (): string => JSON.stringify(bad.upstreams());
  await eventually(() => reasonOf().includes('TLS_FAILED'), 'the check to fail');
  assert.match(reasonOf(), /is not trusted/);
  assert.equal((await get(bad.port)).status, 503);
});

for (const scheme of ['h2c', 'https'] as const) {
  test(`servers that speak only HTTP/2 (${scheme}) are checked in it, and by status`, async (t) => {
    const authority = await makeAuthority(t);
    let status = 200;
    const upstream = await startH2(
      t,
      (stream, headers) => {
        stream.respond({ ':status': headers[':path'] === '/health' ? status : 200 });
        stream.end('body');
      },
      scheme === 'h2c' ? {} : await authority.issue(['localhost']),
    );
    const tls = scheme === 'h2c' ? '' : `tls_trust_pool file ${authority.rootFile}\nversions 2`;
    const balancer = await front(t, `${scheme}://localhost:${upstream.port}`, `transport http {\n${tls}\n}`);
    await eventually(async () => (await get(balancer.port)).status === 200, 'the check to pass');
    status = 500;
    await eventually(async () => (await get(balancer.port)).status === 503, 'the check to fail');
    assert.match(JSON.stringify(balancer.upstreams()), /HTTP_CODE_NOT_MATCH/);
    status = 204;
    await eventually(async () => (await get(balancer.port)).status === 200, 'the check to pass again');
  });
}
