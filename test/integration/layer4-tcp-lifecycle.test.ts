/** Connections that last: over reloads, drains, the end of a worker, and the end of the balancer. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { AdminApi } from '../support/admin-api.ts';
import { eventually, startScripted, type ScriptedUpstream } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { layer4, proxyRoute } from '../support/layer4-site.ts';
import { startPlane } from '../support/plane.ts';
import { get, type RawClient } from '../support/raw-client.ts';
import { site } from '../support/site.ts';
import { connectTo } from '../support/tcp-world.ts';

const OPTIONS = { timeout: 60_000 };
const FAULTY = new URL('../support/faulty-worker.ts', import.meta.url);

/** A server that sends back what it gets. */
function startEcho(t: TestContext): Promise<ScriptedUpstream> {
  return startScripted(t, (socket) => socket.pipe(socket));
}

let words = 0;

/** The connection carries a word there and back. */
async function answers(client: RawClient): Promise<void> {
  const word = `<${(words += 1)}>`;
  client.send(word);
  await client.until(() => client.received.includes(word));
}

async function talkingClient(t: TestContext, port: number): Promise<RawClient> {
  const client = await connectTo(t, port);
  await answers(client);
  return client;
}

test('a reload moves new connections and leaves those there are alone', OPTIONS, async (t) => {
  const [first, second] = [await startEcho(t), await startEcho(t)];
  const balancer = await startBalancer(t, layer4(proxyRoute([first.port])), { workers: 2 });
  const clients = await Promise.all(Array.from({ length: 8 }, () => talkingClient(t, balancer.port)));
  await balancer.reload(layer4(proxyRoute([second.port])));
  await Promise.all(clients.map(answers));
  assert.deepEqual([first.sockets.length, second.sockets.length], [8, 0]);
  await talkingClient(t, balancer.port);
  assert.deepEqual([first.sockets.length, second.sockets.length], [8, 1]);
});

test('reloads under traffic lose no connection and refuse none', OPTIONS, async (t) => {
  const servers = [await startEcho(t), await startEcho(t)];
  const config = (nth: number): string =>
    layer4(
      proxyRoute(
        servers.map(({ port }) => port),
        `lb_policy ip_hash\n          max_fails ${nth + 1}\n          fail_duration 10s`,
      ),
    );
  const balancer = await startBalancer(t, config(0), { workers: 2 });
  const over = { yes: false };
  let served = 0;
  const load = async (nth: number): Promise<void> => {
    while (!over.yes) {
      const client = await connectTo(t, balancer.port, `127.0.0.${nth + 1}`);
      for (let round = 0; round < 5; round += 1) await answers(client);
      client.socket.end();
      assert.equal(await client.ended(), 'fin');
      served += 1;
    }
  };
  const running = Array.from({ length: 6 }, (_, nth) => load(nth));
  for (let nth = 1; nth <= 5; nth += 1) {
    const before = served;
    await balancer.reload(config(nth));
    await eventually(() => served > before, 'connections between two reloads');
  }
  over.yes = true;
  await Promise.all(running);
});

test('a listener that a reload removes leaves its connections alone', OPTIONS, async (t) => {
  const server = await startEcho(t);
  const balancer = await startBalancer(t, layer4(proxyRoute([server.port])));
  const client = await talkingClient(t, balancer.port);
  const { port } = balancer;
  await balancer.reload(site('  respond ok', { bind: '127.0.0.2' }));
  await answers(client);
  await eventually(async () => (await connectTo(t, port)).end !== undefined, 'nobody to listen there');
});

test('an address that becomes one of HTTP keeps its connections, and takes requests', OPTIONS, async (t) => {
  const server = await startEcho(t);
  const balancer = await startBalancer(t, layer4(proxyRoute([server.port])));
  const client = await talkingClient(t, balancer.port);
  const { port } = balancer;
  await balancer.reload(site('  respond ok'));
  assert.equal((await get(port)).body, 'ok');
  await answers(client);
  await balancer.reload(layer4(proxyRoute([server.port])));
  await talkingClient(t, port);
  await answers(client);
});

test('a drain with a deadline: FIN for both sides when it has come, and nobody is left', OPTIONS, async (t) => {
  const [leaving, staying] = [await startEcho(t), await startEcho(t)];
  const balancer = await startBalancer(
    t,
    layer4(proxyRoute([leaving.port, staying.port], 'lb_policy first'), 'admin 127.0.0.1:0'),
  );
  const client = await talkingClient(t, balancer.port);
  const serverEnd = new Promise((resolve) => leaving.sockets[0]!.once('end', resolve));
  const address = `127.0.0.1:${leaving.port}`;
  const { status } = await new AdminApi(balancer).patch(`/upstreams/${address}`, {
    admin_state: 'drain',
    drain: '300ms',
  });
  assert.equal(status, 200);
  await talkingClient(t, balancer.port);
  assert.deepEqual([leaving.sockets.length, staying.sockets.length], [1, 1]);
  assert.equal(await client.ended(), 'fin');
  await serverEnd;
  client.socket.end();
  const inFlight = (): number | undefined =>
    balancer.upstreams().find(({ upstream }) => upstream === address)?.inFlight;
  await eventually(() => inFlight() === 0, 'nobody on the server that left');
});

test('the end of the balancer: connections may end in the grace period, the rest is reset', OPTIONS, async (t) => {
  const server = await startEcho(t);
  const balancer = await startBalancer(t, layer4(proxyRoute([server.port])), { workers: 2 });
  const [quick, slow] = [await talkingClient(t, balancer.port), await talkingClient(t, balancer.port)];
  const stopped = balancer.stop(700);
  await answers(quick);
  quick.socket.end();
  assert.equal(await quick.ended(), 'fin');
  await answers(slow);
  await stopped;
  assert.equal(await slow.ended(), 'reset');
});

test('a balancer without connections stops at once', OPTIONS, async (t) => {
  const server = await startEcho(t);
  const balancer = await startBalancer(t, layer4(proxyRoute([server.port])));
  const client = await talkingClient(t, balancer.port);
  client.socket.end();
  await client.ended();
  const winner = await Promise.race([
    balancer.stop(60_000).then(() => 'stopped'),
    new Promise((resolve) => setTimeout(resolve, 30_000, 'waits').unref()),
  ]);
  assert.equal(winner, 'stopped');
});

for (const fault of ['throw', 'hang']) {
  test(`a fault of a worker (${fault}) resets its own connections, those of the other go on`, OPTIONS, async (t) => {
    const server = await startEcho(t);
    const { plane, port, events } = await startPlane(t, layer4(proxyRoute([server.port])), {
      workers: 2,
      workerEntry: FAULTY,
      hangTimeoutMs: 1000,
    });
    const clients = await Promise.all(Array.from({ length: 24 }, () => talkingClient(t, port)));
    const culprit = await connectTo(t, port);
    culprit.send(`GET /${fault} HTTP/1.1\r\n\r\n`);
    assert.equal(await culprit.ended(20_000), 'reset');
    await eventually(() => events.filter(({ type }) => type === 'worker-started').length === 3, 'a replacement');
    const ends = clients.map(({ end }) => end);
    assert.ok(!ends.includes('fin'), 'a cut connection looked whole');
    const alive = clients.filter(({ end }) => end === undefined);
    assert.ok(alive.length < clients.length, 'the kernel spreads 25 connections over both workers');
    await Promise.all(alive.map(answers));
    const count = (): number => plane.upstreams()[0]!.inFlight;
    await eventually(() => count() === alive.length, 'the count of those that are left');
    await talkingClient(t, port);
  });
}
