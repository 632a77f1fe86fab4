import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { createBalancer, ConfigError, type Balancer, type BalancerOptions } from './index.ts';

const SITE = 'http://:0';

async function start(t: TestContext, options: BalancerOptions): Promise<Balancer> {
  const balancer = await createBalancer({ workers: 1, ...options });
  t.after(() => balancer.stop());
  return balancer;
}

function urlOf(balancer: Balancer): string {
  const { host, port } = balancer.address();
  return `http://${host}:${port}/`;
}

async function startBackend(t: TestContext): Promise<number> {
  const server = createServer((_, response) => response.end('hello'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test('two balancers run side by side, and no signal handler is installed', async (t) => {
  const before = process.listenerCount('SIGTERM') + process.listenerCount('uncaughtException');
  const one = await start(t, { config: `${SITE} {\n\tbind 127.0.0.1\n\trespond one\n}\n` });
  const two = await start(t, { config: `${SITE} {\n\tbind 127.0.0.1\n\trespond two\n}\n` });
  assert.equal(await (await fetch(urlOf(one))).text(), 'one');
  assert.equal(await (await fetch(urlOf(two))).text(), 'two');
  assert.equal(process.listenerCount('SIGTERM') + process.listenerCount('uncaughtException'), before);
  assert.equal(one.adminAddress(), null);
});

test('a config object is taken as JSON, and a reload keeps the address', async (t) => {
  const routes = (body: string): object[] => [{ handle: [{ handler: 'static_response', body }] }];
  const config = (body: string): object => ({
    apps: { http: { servers: { srv0: { listen: ['127.0.0.1:0'], routes: routes(body) } } } },
  });
  const balancer = await start(t, { config: config('one') });
  const url = urlOf(balancer);
  assert.equal(await (await fetch(url)).text(), 'one');
  const events: string[] = [];
  balancer.on('reload', ({ type }) => events.push(type));
  assert.equal((await balancer.reload(config('two'))).unchanged, false);
  assert.equal((await balancer.reload(config('two'))).unchanged, true);
  assert.equal(urlOf(balancer), url);
  assert.equal(await (await fetch(url)).text(), 'two');
  assert.deepEqual(events, ['reload']);
});

test('upstreams, their states and the metrics can be read and set', async (t) => {
  const upstream = `127.0.0.1:${await startBackend(t)}`;
  const balancer = await start(t, { config: `${SITE} {\n\tbind 127.0.0.1\n\treverse_proxy ${upstream}\n}\n` });
  assert.equal(await (await fetch(urlOf(balancer))).text(), 'hello');
  assert.deepEqual(
    balancer.upstreams().map((status) => [status.upstream, status.state]),
    [[upstream, 'up']],
  );
  assert.match(await balancer.metrics(), new RegExp(`holdfast_upstream_requests_total\\{upstream="${upstream}"\\} 1`));
  assert.equal(balancer.patchUpstream(upstream, { adminState: 'maint' }), true);
  assert.equal(balancer.patchUpstream('nobody:1', { adminState: 'maint' }), false);
  assert.equal(balancer.upstreams()[0]?.state, 'maint');
  assert.equal((await fetch(urlOf(balancer))).status, 503);
});

/** The series of an exposition, values cut off. */
function seriesOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.replace(/ \S+$/, ''));
}

test('what clients send adds no series to the metrics', async (t) => {
  const upstream = `127.0.0.1:${await startBackend(t)}`;
  const balancer = await start(t, { config: `${SITE} {\n\tbind 127.0.0.1\n\treverse_proxy ${upstream}\n}\n` });
  const before = seriesOf(await balancer.metrics());
  const { port } = balancer.address();
  for (const at of Array.from({ length: 50 }).keys()) {
    const socket = connect(port, '127.0.0.1');
    socket.end(`XQ${at} /path-${at}?q=${at} HTTP/1.1\r\nHost: host-${at}.example\r\nConnection: close\r\n\r\n`);
    await text(socket);
  }
  const after = await balancer.metrics();
  assert.match(after, /holdfast_http_requests_total\{server="srv0",code="[245]xx"\} 50\n/);
  assert.deepEqual(seriesOf(after), before);
});

test('a bad config rejects with its place and leaves nothing behind', async () => {
  await assert.rejects(
    createBalancer({ config: `${SITE} {\n\tbind 127.0.0.1\n\tno_such_thing\n}\n`, filename: 'site.conf', workers: 1 }),
    (error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.message, /site\.conf:3.*no_such_thing/);
      return true;
    },
  );
});

test('the admin API is served when the config names it, and moves with it', async (t) => {
  const site = `${SITE} {\n\tbind 127.0.0.1\n\trespond one\n}\n`;
  const balancer = await start(t, { config: `{\n\tadmin 127.0.0.1:0\n}\n${site}` });
  const admin = balancer.adminAddress();
  assert.ok(admin);
  const ready = await fetch(`http://127.0.0.1:${admin.port}/health/ready`);
  assert.equal(ready.status, 200);
  await balancer.reload(`{\n\tadmin off\n}\n${site}`);
  assert.equal(balancer.adminAddress(), null);
});

test('an admin address in use fails the start, and later is a warning that keeps the old endpoint', async (t) => {
  const port = await startBackend(t);
  const site = `${SITE} {\n\tbind 127.0.0.1\n\trespond one\n}\n`;
  await assert.rejects(
    createBalancer({ config: `{\n\tadmin 127.0.0.1:${port}\n}\n${site}`, workers: 1 }),
    /already in use/,
  );
  const balancer = await start(t, { config: `{\n\tadmin 127.0.0.1:0\n}\n${site}` });
  const admin = balancer.adminAddress();
  const { warnings } = await balancer.reload(`{\n\tadmin 127.0.0.1:${port}\n}\n${site}`);
  assert.match(warnings.at(-1)?.message ?? '', /already in use.*old admin endpoint/);
  assert.deepEqual(balancer.adminAddress(), admin);
});

test('POST /stop ends the balancer', async (t) => {
  const balancer = await start(t, {
    config: `{\n\tadmin 127.0.0.1:0\n}\n${SITE} {\n\tbind 127.0.0.1\n\trespond one\n}\n`,
  });
  const response = await fetch(`http://127.0.0.1:${balancer.adminAddress()?.port}/stop`, { method: 'POST' });
  assert.equal(response.status, 200);
  await balancer.stopped();
});

test('address tells which listeners there are', async (t) => {
  const balancer = await start(t, { config: `${SITE} {\n\tbind 127.0.0.1\n\trespond one\n}\n` });
  const [key] = balancer.addresses().keys();
  assert.deepEqual(balancer.address(key), balancer.address());
  assert.throws(() => balancer.address('tcp/nowhere:1'), /no listener 'tcp\/nowhere:1': there is tcp\/127\.0\.0\.1:0/);
});
