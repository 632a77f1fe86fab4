/** The configurations operators find in print, as they stand, behind a global block for ports and names. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { failuresOf, homesOf, sharesOf, startLoad, askEach, type LoadClient } from '../support/load.ts';
import { freePort, startNamedServers, type NamedServers } from '../support/named-servers.ts';
import { get } from '../support/raw-client.ts';
import { BEHIND_A_PROXY, COOKIE, IP_HASH } from '../support/published-configs.ts';

/** Puts what a test machine needs into the global block, which is made if there is none. */
function onTestPorts(text: string, { resolver }: NamedServers, httpsPort: number, httpPort: number): string {
  const ours = `\tadmin off\n\tauto_https off\n\thttps_port ${httpsPort}\n\thttp_port ${httpPort}\n\tresolvers ${resolver}\n`;
  return text.startsWith('{') ? text.replace('{\n', `{\n${ours}`) : `{\n${ours}}\n${text}`;
}

async function run(t: TestContext, text: string, named: NamedServers): Promise<TestBalancer> {
  return startBalancer(t, onTestPorts(text, named, await freePort(), await freePort()), { workers: 2 });
}

/** Clients whose addresses live on all servers; `127.1.x.y` are theirs alone. */
function clients(count: number): LoadClient[] {
  return Array.from({ length: count }, (_, index) => {
    const address = `127.1.${index + 1}.${index * 7 + 3}`;
    return { name: address, localAddress: address };
  });
}

function without(homes: ReadonlyMap<string, string>, gone: readonly string[]): Map<string, string> {
  return new Map([...homes].filter(([, home]) => !gone.includes(home)));
}

function only(homes: ReadonlyMap<string, string>, names: Iterable<string>): Map<string, string> {
  const wanted = new Set(names);
  return new Map([...homes].filter(([name]) => wanted.has(name)));
}

function stateOf(balancer: TestBalancer, upstream: string): string | undefined {
  return balancer.upstreams().find((status) => status.upstream === upstream)?.state;
}

test('a server that dies under load costs no client an error; only its clients move, and they come home', async (t) => {
  const named = await startNamedServers(t, 3, 3000, 15);
  const balancer = await run(t, IP_HASH.replace('10s', '100ms'), named);
  const load = startLoad(balancer.port, clients(24));
  t.after(() => load.stop());
  const homes = homesOf(await load.more(3));
  assert.deepEqual([...new Set(homes.values())].toSorted(), ['backend-1', 'backend-2', 'backend-3']);

  await named.servers[1]!.kill();
  await eventually(() => stateOf(balancer, 'backend-2:3000') === 'down', 'backend-2 down');
  const orphans = [...homes].filter(([, home]) => home === 'backend-2').map(([name]) => name);
  const second = homesOf(await load.more(3));
  assert.deepEqual(only(second, without(homes, ['backend-2']).keys()), without(homes, ['backend-2']));
  const foster = only(second, orphans);
  assert.equal([...foster.values()].includes('backend-2'), false);
  assert.equal([...foster.values()].includes('several'), false, 'each orphan has one second home');

  await named.servers[2]!.kill();
  await eventually(() => stateOf(balancer, 'backend-3:3000') === 'down', 'backend-3 down');
  const survivors = homesOf(await load.more(3));
  assert.deepEqual(new Set(survivors.values()), new Set(['backend-1']));
  assert.deepEqual(
    only(survivors, without(homes, ['backend-2', 'backend-3']).keys()),
    without(homes, ['backend-2', 'backend-3']),
  );

  await named.servers[2]!.revive();
  await eventually(() => stateOf(balancer, 'backend-3:3000') === 'up', 'backend-3 up');
  assert.deepEqual(homesOf(await load.more(3)), second, 'as it was with backend-2 alone down');
  await named.servers[1]!.revive();
  await eventually(() => stateOf(balancer, 'backend-2:3000') === 'up', 'backend-2 up');
  assert.deepEqual(homesOf(await load.more(3)), homes, 'everybody is home');

  await load.stop();
  assert.deepEqual(failuresOf(load.answers), [], `of ${load.answers.length} answers`);
});

test('on_failure all is the textbook variant: clients of healthy servers move as well, still without an error', async (t) => {
  const named = await startNamedServers(t, 3, 3000);
  const textbook = IP_HASH.replace('10s', '100ms').replace(
    'ip_hash\n',
    'ip_hash {\n            on_failure all\n        }\n',
  );
  const balancer = await run(t, textbook, named);
  const load = startLoad(balancer.port, clients(24));
  t.after(() => load.stop());
  const homes = homesOf(await load.more(2));
  await named.servers[1]!.kill();
  await eventually(() => stateOf(balancer, 'backend-2:3000') === 'down', 'backend-2 down');
  const now = homesOf(await load.more(2));
  const bystanders = [...without(homes, ['backend-2'])];
  const moved = bystanders.filter(([name, home]) => now.get(name) !== home);
  assert.ok(moved.length > 0 && moved.length < bystanders.length, `${moved.length} of ${bystanders.length} moved`);
  await load.stop();
  assert.deepEqual(failuresOf(load.answers), []);
});

test('before any check has noticed, a dead server already costs its clients nothing', async (t) => {
  const named = await startNamedServers(t, 3, 3000);
  const balancer = await run(t, IP_HASH, named);
  await eventually(
    () => named.servers.every(({ requests }) => requests.length > 0),
    'the first probes, next ones are 10 s away',
  );
  await eventually(() => balancer.upstreams().every(({ state }) => state === 'up'), 'first results');
  await named.servers[0]!.kill();
  const load = startLoad(balancer.port, clients(24));
  t.after(() => load.stop());
  await load.more(3);
  await load.stop();
  assert.deepEqual(failuresOf(load.answers), []);
  assert.equal(sharesOf(load.answers)['backend-1'], undefined);
});

test('the site behind another proxy: addresses from outside 10.0.0.0/24 speak for themselves only', async (t) => {
  const named = await startNamedServers(t, 2, 3000);
  const balancer = await run(t, BEHIND_A_PROXY, named);
  const answers = await askEach(
    balancer.port,
    Array.from({ length: 40 }, (_, index) => `X-Forwarded-For: 203.0.113.${index}`),
  );
  assert.deepEqual(failuresOf(answers), []);
  assert.equal(Object.keys(sharesOf(answers)).length, 1, '127.0.0.1 is not trusted: one client, one server');
  const [seen] = [...named.servers[0]!.requests, ...named.servers[1]!.requests];
  assert.equal(seen?.headers['x-forwarded-for'], '127.0.0.1');
});

test('the cookie site gives its cookie and keeps to it', async (t) => {
  const named = await startNamedServers(t, 2, 3000);
  const balancer = await run(t, COOKIE, named);
  const seen = new Set<string>();
  for (let visit = 0; visit < 40 && seen.size < 2; visit += 1) {
    const first = await get(balancer.port, '/', { Host: 'example.com' });
    assert.deepEqual(
      first.headers('set-cookie').map((line) => line.replace(/=[\w-]{56};/, '=…;')),
      ['caddy_session=…; Path=/; HttpOnly; SameSite=Lax'],
    );
    const cookie = first.header('set-cookie')!.split(';')[0]!;
    for (let again = 0; again < 3; again += 1) {
      const next = await get(balancer.port, '/', { Host: 'example.com', Cookie: cookie });
      assert.equal(next.body, first.body);
      assert.deepEqual(next.headers('set-cookie'), []);
    }
    seen.add(first.body);
  }
  assert.deepEqual([...seen].toSorted(), ['backend-1', 'backend-2'], 'new clients are spread');
});
