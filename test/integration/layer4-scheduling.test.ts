/** Who gets a connection or session: what `explain` says, several nodes agree on, and the weights ask for. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { FlowExplanation, ProxyExplanation } from '../../src/control-plane/explain/explanation.ts';
import { AdminApi } from '../support/admin-api.ts';
import { startBackend, startScripted, type ScriptedUpstream } from '../support/backend.ts';
import { globals, loadLibrary, startBalancer, type TestBalancer } from '../support/balance.ts';
import { layer4, proxyRoute } from '../support/layer4-site.ts';
import { proxyTo, site } from '../support/site.ts';
import { connectTo } from '../support/tcp-world.ts';
import { udpPeer, udpServer } from '../support/udp-peer.ts';
import { udpProxy, udpServerBlock } from '../support/udp-site.ts';

const OPTIONS = { timeout: 60_000 };
const JSON_BODY = { 'Content-Type': 'application/json' };
const ADMIN = 'admin 127.0.0.1:0';
const SERVERS = 5;

/** Servers that say who they are to whoever connects. */
function startNamed(t: TestContext, count: number): Promise<ScriptedUpstream[]> {
  return Promise.all(Array.from({ length: count }, (_, nth) => startScripted(t, (socket) => socket.write(`${nth}`))));
}

async function explain(balancer: TestBalancer, question: object): Promise<ProxyExplanation> {
  const { status, text, json } = await new AdminApi(balancer).post('/explain', JSON.stringify(question), JSON_BODY);
  assert.equal(status, 200, text);
  const { outcome } = json as FlowExplanation;
  assert.equal(outcome.kind, 'proxy', text);
  return outcome.proxy;
}

/** Who serves a new connection, and the port it came from. */
async function visit(t: TestContext, port: number, localAddress?: string): Promise<{ server: string; from: number }> {
  const client = await connectTo(t, port, localAddress);
  const from = client.socket.localPort!;
  await client.until(() => client.received !== '' || client.end !== undefined);
  client.socket.end();
  return { server: client.received, from };
}

for (const policy of ['ip_hash', 'source_hash', 'source_hash {\nseed 7\n}', 'tuple_hash']) {
  test(
    `a worker picks what explain says, with a server in maintenance: ${policy.replaceAll('\n', ' ')}`,
    OPTIONS,
    async (t) => {
      const servers = await startNamed(t, SERVERS);
      const ports = servers.map(({ port }) => port);
      const balancer = await startBalancer(t, layer4(proxyRoute(ports, `lb_policy ${policy}`), ADMIN), { workers: 2 });
      balancer.patchUpstream(`127.0.0.1:${ports[2]}`, { adminState: 'maint' });
      const picked = new Set<string>();
      for (let host = 1; host <= 30; host += 1) {
        const address = `127.0.0.${host}`;
        const { server, from } = await visit(t, balancer.port, address);
        const told = await explain(balancer, { url: `tcp/127.0.0.1:${balancer.port}`, peer: `${address}:${from}` });
        assert.equal(server, String(told.picked!.position), told.steps.join('\n'));
        picked.add(server);
      }
      assert.equal(picked.has('2'), false);
      assert.ok(picked.size > 1);
    },
  );
}

test('a session gets what explain says, by source and by QUIC connection id', OPTIONS, async (t) => {
  const servers = await Promise.all(Array.from({ length: SERVERS }, (_, nth) => udpServer(t, String(nth))));
  const ports = servers.map(({ port }) => port);
  for (const policy of ['source_hash', 'quic_cid']) {
    const config = `{\n${ADMIN}\nauto_https off\n${udpServerBlock(udpProxy(ports, `lb_policy ${policy}`))}}\n`;
    const balancer = await startBalancer(t, config);
    const picked = new Set<number>();
    for (let host = 1; host <= 20; host += 1) {
      const datagram = Buffer.from(`c00000000108${String(host).padStart(16, '0')}00`, 'hex');
      const client = await udpPeer(t, `127.0.0.${host}`);
      const answer = await client.ask(datagram, balancer.port);
      const told = await explain(balancer, {
        url: `udp/127.0.0.1:${balancer.port}`,
        peer: `127.0.0.${host}`,
        first_bytes: datagram.toString('hex'),
      });
      assert.equal(answer.toString('latin1', 0, 1), String(told.picked!.position), told.steps.join('\n'));
      picked.add(told.picked!.position);
    }
    assert.ok(picked.size > 2);
  }
});

test('three nodes agree about every client, although each lists the servers in another order', OPTIONS, async (t) => {
  const servers = await startNamed(t, SERVERS);
  const ports = servers.map(({ port }) => port);
  const orders = [ports, ports.toReversed(), [...ports.slice(2), ...ports.slice(0, 2)]];
  const nodes = await Promise.all(
    orders.map((order) => startBalancer(t, layer4(proxyRoute(order, 'lb_policy source_hash')))),
  );
  const agree = async (): Promise<Set<string>> => {
    const seen = new Set<string>();
    for (let host = 1; host <= 25; host += 1) {
      const answers = await Promise.all(
        nodes.map(async ({ port }) => (await visit(t, port, `127.0.0.${host}`)).server),
      );
      assert.equal(new Set(answers).size, 1, `127.0.0.${host}: ${answers.join()}`);
      seen.add(answers[0]!);
    }
    return seen;
  };
  assert.ok((await agree()).size > 2);
  for (const node of nodes) node.patchUpstream(`127.0.0.1:${ports[1]}`, { adminState: 'maint' });
  assert.equal((await agree()).has('1'), false);
});

test('weighted_least_conn fills servers by their weights', OPTIONS, async (t) => {
  const servers = await startNamed(t, 3);
  const upstreams = servers.map(({ port }, nth) => `upstream 127.0.0.1:${port} {\nweight ${[4, 2, 1][nth]}\n}`);
  const route = `route {\nproxy {\nlb_policy weighted_least_conn\n${upstreams.join('\n')}\n}\n}`;
  const balancer = await startBalancer(t, layer4(route), { workers: 2 });
  const counts = [0, 0, 0];
  for (let nth = 0; nth < 28; nth += 1) {
    const client = await connectTo(t, balancer.port);
    await client.until(() => client.received !== '');
    counts[Number(client.received)]! += 1;
  }
  assert.deepEqual(counts, [16, 8, 4]);
});

test('source_hash and weighted_least_conn serve HTTP, too', OPTIONS, async (t) => {
  const servers = await Promise.all(['a', 'b', 'c'].map((name) => startBackend(t, name)));
  for (const policy of ['source_hash', 'weighted_least_conn']) {
    const balancer = await startBalancer(
      t,
      site(proxyTo(servers, `lb_policy ${policy}`), { servers: 'trusted_proxies static 127.0.0.1/32' }),
    );
    const seen = new Set<string>();
    for (let host = 1; host <= 40; host += 1) {
      const ask = async (): Promise<string> => {
        const headers = { 'X-Forwarded-For': `203.0.113.${host}` };
        const response = await fetch(`http://127.0.0.1:${balancer.port}/`, { headers });
        await response.text();
        return response.headers.get('x-backend')!;
      };
      const first = await ask();
      if (policy === 'source_hash') assert.equal(await ask(), first);
      seen.add(first);
    }
    assert.equal(seen.size, 3);
  }
});

test('policies are refused where they have nothing to go by', OPTIONS, async () => {
  const { createBalancer } = await loadLibrary();
  const refused = (config: string, why: RegExp): Promise<void> => assert.rejects(createBalancer({ config }), why);
  const http = (policy: string): string => `http://:0 {\nreverse_proxy 127.0.0.1:1 {\nlb_policy ${policy}\n}\n}\n`;
  await refused(http('tuple_hash'), /'tuple_hash' places connections by both their ends.* at Caddyfile:3/);
  await refused(http('quic_cid'), /it is for the proxy of a layer4 server on UDP, at Caddyfile:3/);
  await refused(http('cookie {\nfallback tuple_hash\n}'), /'tuple_hash' places connections/);
  await refused(layer4(proxyRoute([1], 'lb_policy quic_cid')), /it is for the proxy of a layer4 server on UDP/);
  await refused(
    globals(udpServerBlock(udpProxy([1], 'lb_policy quic_cid'), 'workers all\nresponses 1')),
    /workers all does not go with lb_policy quic_cid/,
  );
  await refused(http('source_hash {\nseed -1\n}'), /bad seed '-1'/);
  await refused(http('source_hash {\nmapping rendezvous\n}'), /unrecognized option 'mapping'/);
});
