/** Who gets new connections and sessions at layer 4: verdicts, best effort, refusals, silence, servers that are new. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import type { UpstreamStatus } from '../../src/control-plane/types.ts';
import { AdminApi } from '../support/admin-api.ts';
import { eventually } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { layer4, proxyRoute } from '../support/layer4-site.ts';
import { openSession, startScene, type Scene, type Session } from '../support/leaving.ts';
import { closedPort, connectTo } from '../support/tcp-world.ts';
import { udpPeer, udpServer } from '../support/udp-peer.ts';
import { udpProxy, udpSite } from '../support/udp-site.ts';

const OPTIONS = { timeout: 60_000 };
const LAYERS = ['tcp', 'udp'] as const;

function first({ balancer, upstreams }: Scene): UpstreamStatus {
  return balancer.upstreams().find(({ upstream }) => upstream === upstreams[0])!;
}

function fails(scene: Scene): number {
  return first(scene).endpoints[0]!.checks[0]!.consecutiveFails;
}

async function answering(scene: Scene): Promise<number | null> {
  const session = await scene.open();
  const server = await session.ask();
  session.close();
  return server;
}

for (const layer of LAYERS) {
  test(
    `${layer}: new work moves with the failure number fall, and comes back with pass number rise`,
    OPTIONS,
    async (t) => {
      const scene = await startScene(t, layer, '', {});
      assert.equal(await answering(scene), 0);
      scene.gates.up[0] = false;
      for (let down = false; !down;) {
        down = first(scene).state === 'down';
        const server = await answering(scene);
        if (down) assert.equal(server, 1);
        else if (fails(scene) < 2) assert.equal(server, 0);
      }
      const told = scene.events.find(({ type }) => type === 'server-down')!;
      assert.deepEqual([told.fields['fails'], told.fields['reason']], [2, 'HTTP_CODE_NOT_MATCH']);
      scene.gates.up[0] = true;
      await eventually(async () => (await answering(scene)) === 0, 'the first server to be used again');
      assert.equal(scene.events.find(({ type }) => type === 'server-up')!.fields['passes'], 2);
    },
  );

  test(
    `${layer}, all down: they are tried all the same; the first one that is back gets everything`,
    OPTIONS,
    async (t) => {
      const scene = await startScene(t, layer, 'drain immediate');
      scene.gates.up.fill(false);
      await eventually(() => scene.events.some(({ type }) => type === 'best-effort-entered'), 'best effort');
      assert.equal(await answering(scene), 0);
      assert.match(await scene.balancer.metrics(), /^holdfast_pool_best_effort\{.*\} 1$/m);
      const tried = await scene.open();
      assert.equal(await tried.ask(), 0);
      scene.gates.up[1] = true;
      await eventually(() => scene.events.some(({ type }) => type === 'best-effort-left'), 'the end of best effort');
      assert.equal(await answering(scene), 1);
      // What the other one got meanwhile follows the drain of the pool.
      await eventually(async () => (await tried.ask()) !== 0, 'the session of the server that is still down to end');
      await eventually(() => scene.running() === 0, 'that server to be idle');
    },
  );

  test(`${layer}: the operator's drain and maintenance are no part of best effort`, OPTIONS, async (t) => {
    const scene = await startScene(t, layer, '');
    scene.balancer.patchUpstream(scene.upstreams[0], { adminState: 'maint' });
    scene.gates.up.fill(false);
    await eventually(() => scene.events.some(({ type }) => type === 'best-effort-entered'), 'best effort');
    assert.equal(await answering(scene), 1);
  });

  test(
    `${layer}: a server that a reload adds gets nothing before its first pass, unless there is no other`,
    OPTIONS,
    async (t) => {
      const scene = await startScene(t, layer, '', { first: [1] });
      scene.gates.silent[0] = true;
      await scene.balancer.reload(scene.config([0, 1]));
      assert.equal(first(scene).state, 'initial');
      for (let nth = 0; nth < 5; nth += 1) assert.equal(await answering(scene), 1);
      scene.gates.silent[0] = false;
      await eventually(async () => (await answering(scene)) === 0, 'the new server to be used');
      scene.gates.silent[1] = true;
      await scene.balancer.reload(scene.config([0]));
      await scene.balancer.reload(scene.config([1], 'max_fails 2'));
      assert.equal(await answering(scene), 1);
    },
  );

  test(`${layer}: verdict and results of an unchanged check stay over a reload`, OPTIONS, async (t) => {
    const scene = await startScene(t, layer, '');
    scene.gates.up[0] = false;
    await eventually(() => first(scene).state === 'down', 'the first server to be down');
    const before = first(scene).endpoints[0]!.checks[0]!.results;
    scene.gates.silent[0] = true;
    await scene.balancer.reload(scene.config([0, 1], 'max_fails 2'));
    assert.equal(first(scene).state, 'down');
    assert.equal(await answering(scene), 1);
    assert.deepEqual(first(scene).endpoints[0]!.checks[0]!.results.slice(0, before.length), before);
    assert.match(before[0]!.localAddress, /^127\.0\.0\.1:\d+$/);
  });
}

test('a config of layer 4 alone is ready once its listener is open', OPTIONS, async (t) => {
  const balancer = await startBalancer(t, layer4(proxyRoute([await echoTcp(t)]), 'admin 127.0.0.1:0'));
  const api = new AdminApi(balancer);
  assert.deepEqual([(await api.get('/health/live')).status, (await api.get('/health/ready')).status], [200, 200]);
});

test('close_if_unhealthy: connections of a server whose check fails are reset', OPTIONS, async (t) => {
  const gate = createServer((socket) => socket.on('error', () => {}).destroy());
  gate.listen(0, '127.0.0.1');
  await once(gate, 'listening');
  t.after(() => gate.close());
  const { port } = gate.address() as AddressInfo;
  const health = `health_interval 100ms\nhealth_timeout 2s\nhealth_port ${port}\nclose_if_unhealthy`;
  const scene = await startScene(t, 'tcp', '', { health, first: [0] });
  const session = await scene.open();
  assert.equal(await session.ask(), 0);
  gate.close();
  await eventually(() => session.ended === 'reset', 'a reset');
  await eventually(() => scene.running() === 0, 'the server to be idle');
  // It is the only one, so it is tried all the same.
  assert.equal(await answering(scene), 0);
});

test('thousands of sessions end, and are counted down to zero', OPTIONS, async (t) => {
  const scene = await startScene(t, 'tcp', 'drain immediate');
  const sessions: Session[] = [];
  for (let nth = 0; nth < 1500; nth += 1) sessions.push(await scene.open());
  await Promise.all(sessions.map((session) => session.ask()));
  assert.equal(scene.running(), 1500);
  scene.balancer.patchUpstream(scene.upstreams[0], { adminState: 'drain' });
  await eventually(() => sessions.every(({ ended }) => ended === 'reset'), 'all to be reset');
  await eventually(() => scene.running() === 0, 'the server to be idle');
  await eventually(() => scene.events.some(({ type }) => type === 'drain-finished'), 'the event');
  assert.equal(await answering(scene), 1);
});

for (const layer of LAYERS) {
  test(`${layer}: a refusal that traffic meets is a failed check`, OPTIONS, async (t) => {
    const probe = layer === 'tcp' ? 'tcp' : 'udp';
    const lines = `interval 30s\ntimeout 2s\nfall 1${layer === 'tcp' ? '' : '\necho off'}`;
    const scene = await startScene(t, layer, '', { health: `health ${probe} {\n${lines}\n}` });
    await eventually(() => first(scene).endpoints[0]!.checks[0]!.consecutivePasses === 1, 'the first pass');
    scene.servers[0].close();
    assert.equal(await answering(scene), 1);
    await eventually(() => first(scene).state === 'down', 'the server to be down');
    const told = scene.events.find(({ type }) => type === 'server-down')!;
    assert.equal(told.fields['reason'], layer === 'tcp' ? 'CONNECT_FAILED' : 'PORT_UNREACHABLE');
    assert.match(String(told.fields['detail']), /client/);
  });

  test(
    `${layer}: a server that takes everything and says nothing is found by first_byte_timeout`,
    OPTIONS,
    async (t) => {
      const options = 'lb_policy first\nfail_duration 60s\nmax_fails 2\nfirst_byte_timeout 200ms';
      let struck = 0;
      const watch = (balancer: Awaited<ReturnType<typeof startBalancer>>): void =>
        void balancer.on('upstream-struck', () => (struck += 1));
      const talking = async (balancer: { readonly port: number }): Promise<void> => {
        // Two of them: max_fails.
        const silent = [await openSession(t, layer, balancer.port), await openSession(t, layer, balancer.port)];
        for (const session of silent) void session.ask().catch(() => {});
        await eventually(() => struck === 1, 'the silent server to be struck');
      };
      if (layer === 'tcp') {
        const [silent, other] = [await silentTcp(t), await echoTcp(t)];
        const balancer = await startBalancer(t, layer4(proxyRoute([silent, other], options)));
        watch(balancer);
        // Who says nothing is owed nothing.
        await connectTo(t, balancer.port);
        await talking(balancer);
        assert.match(await said(t, balancer.port), /^echo/);
      } else {
        const [silent, other] = [await udpServer(t, 's', () => null), await udpServer(t, 'o')];
        const balancer = await startBalancer(t, udpSite(udpProxy([silent.port, other.port], options)));
        watch(balancer);
        await talking(balancer);
        assert.equal(String(await (await udpPeer(t)).ask('x', balancer.port)), 'o:x');
      }
    },
  );
}

test('with first_byte_timeout a server that answers, or is asked nothing, has not failed', OPTIONS, async (t) => {
  const [answers, other] = [await echoTcp(t), await echoTcp(t)];
  const options = 'lb_policy first\nfail_duration 60s\nmax_fails 1\nfirst_byte_timeout 100ms';
  const balancer = await startBalancer(t, layer4(proxyRoute([answers, other], options)));
  const idle = await connectTo(t, balancer.port);
  assert.match(await said(t, balancer.port), /^echo/);
  await new Promise((resolve) => setTimeout(resolve, 400));
  assert.equal(idle.end, undefined);
  assert.deepEqual(
    balancer.upstreams().map(({ state }) => state),
    ['up', 'up'],
  );
});

test('the first datagram of a session goes to another server when the first one refuses it', OPTIONS, async (t) => {
  const [closed, server] = [await closedPort(), await udpServer(t, 'o')];
  const balancer = await startBalancer(t, udpSite(udpProxy([closed, server.port], 'lb_policy first')));
  const client = await udpPeer(t);
  client.send('once', balancer.port);
  await client.got(1);
  assert.deepEqual([client.texts, server.texts], [['o:once'], ['once']]);
});

test('two servers that refuse do not send it to and fro', OPTIONS, async (t) => {
  const balancer = await startBalancer(
    t,
    udpSite(udpProxy([await closedPort(), await closedPort()], 'lb_policy first')),
  );
  const client = await udpPeer(t);
  client.send('once', balancer.port);
  const retries = async (): Promise<number> =>
    [...(await balancer.metrics()).matchAll(/^holdfast_upstream_failures_total\{.*cause="dial"\} (\d+)$/gm)]
      .map(([, count]) => Number(count))
      .reduce((sum, count) => sum + count, 0);
  await eventually(async () => (await retries()) === 2, 'both to refuse it');
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(await retries(), 2);
});

const ECHO = `
  const server = require('node:net').createServer((socket) => socket.on('error', () => {}).pipe(socket));
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

test('a process that was stopped passes its TCP check, and is found by first_byte_timeout', OPTIONS, async (t) => {
  const child = spawn(process.execPath, ['-e', ECHO], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const [stopped, other] = [Number(line.toString()), await echoTcp(t)];
  const options =
    'lb_policy first\nfail_duration 60s\nfirst_byte_timeout 300ms\nhealth_interval 100ms\nhealth_timeout 5s\nhealth_fall 1';
  const balancer = await startBalancer(t, layer4(proxyRoute([stopped, other], options)));
  assert.equal(await said(t, balancer.port), 'hello');
  child.kill('SIGSTOP');
  const client = await connectTo(t, balancer.port);
  client.send('hello');
  await eventually(() => balancer.upstreams()[0]!.state === 'struck', 'the stopped server to be struck');
  assert.equal(balancer.upstreams()[0]!.endpoints[0]!.checks[0]!.verdict, 'up');
  assert.equal(await said(t, balancer.port), 'echo hello');
});

async function silentTcp(t: TestContext): Promise<number> {
  return listening(t, () => {});
}

async function echoTcp(t: TestContext): Promise<number> {
  return listening(t, (bytes) => `echo ${String(bytes)}`);
}

async function listening(t: TestContext, answer: (bytes: Buffer) => string | void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    t.after(() => socket.destroy());
    socket.on('data', (bytes: Buffer) => {
      const text = answer(bytes);
      if (text !== undefined) socket.write(text);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function said(t: TestContext, port: number): Promise<string> {
  const client = await connectTo(t, port);
  client.send('hello');
  await client.until(() => client.received !== '');
  return client.received;
}
