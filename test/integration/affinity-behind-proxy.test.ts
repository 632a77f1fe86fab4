/** Many clients behind one proxy address: one server until the proxy is trusted, and a reload is enough for that. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startBackend, type Backend } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { failuresOf, homesOf, sharesOf, startLoad, type LoadClient } from '../support/load.ts';
import { proxyTo, site } from '../support/site.ts';

const CLIENTS: readonly LoadClient[] = Array.from({ length: 24 }, (_, index) => ({
  name: `client ${index}`,
  headers: [`X-Forwarded-For: 203.0.113.${index}`],
}));

type Change = (balancer: TestBalancer, config: string) => Promise<void>;

const byLibrary: Change = async (balancer, config) => {
  await balancer.reload(config);
};

const byAdminApi: Change = async (balancer, config) => {
  const admin = balancer.adminAddress();
  const response = await fetch(`http://127.0.0.1:${admin?.port}/load`, {
    method: 'POST',
    headers: { 'Content-Type': 'text/caddyfile' },
    body: config,
  });
  assert.equal(response.status, 200, await response.text());
};

async function trustAndDistrust(t: TestContext, change: Change): Promise<void> {
  const servers: Backend[] = await Promise.all(['one', 'two', 'three'].map((name) => startBackend(t, name)));
  const admin = change === byAdminApi ? '127.0.0.1:0' : 'off';
  const proxy = proxyTo(servers, 'lb_policy ip_hash');
  const distrusting = site(proxy, { admin });
  const trusting = site(proxy, { admin, servers: 'trusted_proxies static 127.0.0.0/8' });
  const balancer = await startBalancer(t, distrusting, { workers: 2 });
  const load = startLoad(balancer.port, CLIENTS);
  t.after(() => load.stop());
  const lonely = sharesOf(await load.more(2));
  assert.equal(Object.keys(lonely).length, 1, JSON.stringify(lonely));

  await change(balancer, trusting);
  const spread = homesOf(await load.more(3));
  assert.equal([...spread.values()].includes('several'), false);
  assert.deepEqual([...new Set(spread.values())].toSorted(), ['one', 'three', 'two']);

  await change(balancer, distrusting);
  assert.deepEqual(Object.keys(sharesOf(await load.more(2))), Object.keys(lonely));
  await change(balancer, trusting);
  assert.deepEqual(homesOf(await load.more(2)), spread);
  await load.stop();
  assert.deepEqual(failuresOf(load.answers), [], `of ${load.answers.length} answers`);
}

test('trusting the proxy by a reload spreads its clients at once, on connections that are open, without an error', async (t) => {
  await trustAndDistrust(t, byLibrary);
});

test('POST /load to the admin API does the same under load', async (t) => {
  await trustAndDistrust(t, byAdminApi);
});
