/** Layer 4 beside sites in one config: what the control plane shows of it, and what a reload does. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { AdminApi } from '../support/admin-api.ts';
import { eventually, startScripted } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { layer4, proxyRoute } from '../support/layer4-site.ts';
import { valueOf } from '../support/metric.ts';
import { connectTo } from '../support/tcp-world.ts';
import { udpPeer } from '../support/udp-peer.ts';

const OPTIONS = { timeout: 60_000 };
const TCP = 'tcp/127.0.0.1:0';
const UDP = 'udp/127.0.0.1:0';

/** A TCP server, a UDP server, and what stands beside them. */
function twoServers(tcp: number, udp: number, rest: string): string {
  const dns = `    udp/127.0.0.1:0 {\n      route {\n        proxy udp/127.0.0.1:${udp}\n      }\n    }\n`;
  return layer4(proxyRoute([tcp], 'health_interval 100ms'), 'admin 127.0.0.1:0').replace(
    / {2}}\n}\n$/,
    `${dns}  }\n}\n${rest}`,
  );
}

async function ask(t: TestContext, port: number): Promise<string> {
  const client = await connectTo(t, port);
  await client.ended();
  return client.received;
}

test('upstreams, metrics and admin states tell the layers apart', OPTIONS, async (t) => {
  const backend = await startScripted(t, (socket) => socket.end('hello'));
  const dns = await udpPeer(t);
  dns.socket.on('message', (data, from) => dns.send(data, from.port, from.address));
  const site = `http://:0 {\n  bind 127.0.0.2\n  reverse_proxy 127.0.0.1:${backend.port}\n}\n`;
  const balancer = await startBalancer(t, twoServers(backend.port, dns.port, site));
  const api = new AdminApi(balancer);
  assert.equal(await ask(t, balancer.address(TCP).port), 'hello');
  const client = await udpPeer(t);
  client.send('question', balancer.address(UDP).port);
  assert.equal(String((await client.got(1))[0]!.data), 'question');
  await eventually(() => balancer.upstreams().every(({ state }) => state === 'up'), 'all to be up');

  const shown = balancer
    .upstreams()
    .map(({ layer, upstream, endpoints }) => `${layer} ${upstream} ${endpoints[0]!.address}`);
  const [tcp, udp] = [`127.0.0.1:${backend.port}`, `udp/127.0.0.1:${dns.port}`];
  assert.deepEqual(shown.toSorted(), [`http ${tcp} ${tcp}`, `tcp ${tcp} ${tcp}`, `udp ${udp} ${udp}`]);
  const ofSites = (await api.get('/reverse_proxy/upstreams')).json as readonly { readonly address: string }[];
  assert.deepEqual(
    ofSites.map(({ address }) => address),
    [tcp],
  );
  assert.equal((await api.patch(`/upstreams/${encodeURIComponent(udp)}`, { admin_state: 'maint' })).status, 200);
  const states = balancer.upstreams().map(({ layer, state }) => `${layer} ${state}`);
  assert.deepEqual(states.toSorted(), ['http up', 'tcp up', 'udp maint']);

  const metrics = await balancer.metrics();
  assert.equal(valueOf(metrics, 'holdfast_layer4_accepted_total', { server: 'srv0' }), 1);
  assert.equal(valueOf(metrics, 'holdfast_layer4_accepted_total', { server: 'srv1' }), 1);
  assert.equal(valueOf(metrics, 'holdfast_layer4_active', { server: 'srv1' }), 1);
  assert.equal(valueOf(metrics, 'holdfast_layer4_sent_bytes_total', { server: 'srv0' }), 'hello'.length);
  assert.equal(valueOf(metrics, 'holdfast_layer4_datagrams_total', { server: 'srv1', direction: 'out' }), 1);
  assert.equal(valueOf(metrics, 'holdfast_http_connections_accepted_total', { server: 'srv0' }), 0);
});

test('a reload changes the servers of a listener in place and says what is new', OPTIONS, async (t) => {
  const [first, second] = await Promise.all(
    ['one', 'two'].map((name) => startScripted(t, (socket) => socket.end(name))),
  );
  const balancer = await startBalancer(t, layer4(proxyRoute([first!.port])));
  const { port } = balancer;
  assert.equal(await ask(t, port), 'one');
  const { changes } = await balancer.reload(layer4(proxyRoute([second!.port])));
  assert.deepEqual(
    changes.map(({ change, what, detail }) => `${change} ${what} ${detail}`),
    [`changed pool +127.0.0.1:${second!.port}, -127.0.0.1:${first!.port}`],
  );
  assert.equal(balancer.address(TCP).port, port);
  assert.equal(await ask(t, port), 'two');
});

test('a config that is refused leaves the old one serving', OPTIONS, async (t) => {
  const backend = await startScripted(t, (socket) => socket.end('still here'));
  const balancer = await startBalancer(t, layer4(proxyRoute([backend.port])));
  const broken = layer4(`      route {\n        proxy udp/127.0.0.1:${backend.port}\n      }`);
  await assert.rejects(balancer.reload(broken), /is a UDP upstream under a TCP listener: write 127.*, at Caddyfile:7$/);
  assert.equal(await ask(t, balancer.port), 'still here');
});

test('a server on a Unix socket takes streams, also beside a TCP address', OPTIONS, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
  t.after(() => rm(folder, { recursive: true }));
  const backend = await startScripted(t, (socket) => socket.end('hello'));
  const path = join(folder, 'l4.sock');
  const config = layer4(proxyRoute([backend.port])).replace('127.0.0.1:0 {', `127.0.0.1:0 unix/${path}|0600 {`);
  const balancer = await startBalancer(t, config);
  assert.equal(await text(connect(path)), 'hello');
  assert.equal(await ask(t, balancer.address(TCP).port), 'hello');
});

test("caddy-l4's JSON is served as it is, with a check and a failover", OPTIONS, async (t) => {
  const well = await startScripted(t, (socket) => socket.end('well'));
  const dying = createServer((socket) => socket.on('error', () => {}).end('dying'));
  dying.listen(0, '127.0.0.1');
  await once(dying, 'listening');
  t.after(() => dying.close());
  const ports = [(dying.address() as AddressInfo).port, well.port];
  const balancer = await startBalancer(t, '', {
    config: {
      admin: { disabled: true },
      apps: {
        layer4: {
          servers: {
            database: {
              listen: ['127.0.0.1:0'],
              routes: [
                {
                  match: [{ remote_ip: { ranges: ['127.0.0.0/8'] } }],
                  handle: [
                    {
                      handler: 'proxy',
                      upstreams: ports.map((port) => ({ dial: [`127.0.0.1:${port}`] })),
                      load_balancing: { selection: { policy: 'first' } },
                      health_checks: { active: { interval: 100_000_000, timeout: '1s', fall: 1, rise: 1 } },
                    },
                  ],
                },
              ],
            },
          },
        },
      },
    },
  });
  assert.equal(await ask(t, balancer.port), 'dying');
  dying.close();
  assert.equal(await ask(t, balancer.port), 'well');
  await eventually(() => balancer.upstreams()[0]!.state === 'down', 'the check to see it');
  assert.match(balancer.upstreams()[0]!.why, /CONNECT_FAILED/);
  assert.equal(await ask(t, balancer.port), 'well');
});
