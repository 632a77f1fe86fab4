/** Servers taken out of service by an operator through the admin API. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { AdminApi } from '../support/admin-api.ts';
import { eventually, startBackend } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { failuresOf, startLoad } from '../support/load.ts';
import { get, openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };
const ADMIN = { admin: '127.0.0.1:0' };
const COOKIE_POLICY = 'lb_policy cookie {\nsecret a-secret-that-is-long-enough-to-be-one\nfallback first\n}';

interface Server {
  readonly port: number;
  /** Streams opened by `GET /stream`: their head and first bytes have been sent. */
  readonly streams: readonly ServerResponse[];
}

async function startServer(t: TestContext, name: string): Promise<Server> {
  const streams: ServerResponse[] = [];
  const { port } = await startBackend(t, name, (request, response) => {
    response.setHeader('X-Backend', name);
    if (request.url !== '/stream') return void response.end(name);
    response.write('begin');
    streams.push(response);
  });
  return { port, streams };
}

interface Shown {
  readonly state: string;
  readonly why: string;
  readonly weight: number;
  readonly endpoints: readonly {
    readonly admin_state: string;
    readonly drain_deadline: string | null;
    readonly in_flight: number;
  }[];
}

async function shown(api: AdminApi, server: Server): Promise<Shown> {
  const { json } = await api.get(`/upstreams/127.0.0.1:${server.port}`);
  return (json as Shown[])[0]!;
}

async function change(api: AdminApi, server: Server, body: object): Promise<void> {
  const { status, text } = await api.patch(`/upstreams/127.0.0.1:${server.port}`, body);
  assert.equal(status, 200, text);
}

/** Who answers 6 clients without a cookie. */
async function answering({ port }: TestBalancer, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const bodies: string[] = [];
  for (let index = 0; index < 6; index += 1) bodies.push((await get(port, '/', headers)).body);
  return [...new Set(bodies)].sort().join(' ');
}

test(
  'drain: new requests go elsewhere without an error, a stream runs on, ready brings it back',
  OPTIONS,
  async (t) => {
    const [one, two] = await Promise.all(['one', 'two'].map((name) => startServer(t, name)));
    const balancer = await startBalancer(t, site(proxyTo([one!, two!], 'lb_policy round_robin'), ADMIN), {
      workers: 2,
    });
    const api = new AdminApi(balancer);
    const stream = await openClient(balancer.port);
    stream.send('GET /stream HTTP/1.1\r\nHost: a.test\r\n\r\n');
    await eventually(() => one!.streams.length + two!.streams.length === 1, 'a stream');
    const [drained, other] = one!.streams.length === 1 ? [one!, 'two'] : [two!, 'one'];
    const load = startLoad(
      balancer.port,
      Array.from({ length: 6 }, (_, index) => ({ name: `client ${index}` })),
    );
    t.after(() => load.stop());
    await load.more(2);

    await change(api, drained, { admin_state: 'drain' });
    assert.deepEqual([...new Set((await load.more(5)).map(({ backend }) => backend))], [other]);
    const { state, why, endpoints } = await shown(api, drained);
    assert.equal(state, 'drain');
    assert.equal(why, 'The operator drains it: new clients go elsewhere.');
    assert.deepEqual(
      endpoints.map((endpoint) => [endpoint.in_flight, endpoint.drain_deadline]),
      [[1, null]],
    );
    drained.streams[0]!.end('end');
    assert.equal((await stream.response()).body, 'beginend');
    await eventually(
      async () => (await shown(api, drained)).endpoints[0]!.in_flight === 0,
      'the drained server to be idle',
    );

    await change(api, drained, { admin_state: 'ready' });
    assert.equal(new Set((await load.more(6)).map(({ backend }) => backend)).size, 2);
    await load.stop();
    assert.deepEqual(failuresOf(load.answers), []);
  },
);

test(
  'a draining server keeps the clients whose cookie names it until the deadline; then they move, and streams are cut',
  OPTIONS,
  async (t) => {
    const [one, two] = await Promise.all(['one', 'two'].map((name) => startServer(t, name)));
    const balancer = await startBalancer(t, site(proxyTo([one!, two!], COOKIE_POLICY), ADMIN));
    const api = new AdminApi(balancer);
    const first = await get(balancer.port);
    assert.equal(first.body, 'one');
    const cookie = { Cookie: first.header('set-cookie')!.split(';')[0]! };
    const stream = await openClient(balancer.port);
    stream.send(`GET /stream HTTP/1.1\r\nHost: a.test\r\nCookie: ${cookie.Cookie}\r\n\r\n`);
    await stream.until(() => stream.received.includes('begin'));

    await change(api, one!, { admin_state: 'drain', drain: '30s' });
    assert.equal(await answering(balancer), 'two');
    assert.equal(await answering(balancer, cookie), 'one');
    const deadline = Date.parse((await shown(api, one!)).endpoints[0]!.drain_deadline!);
    assert.ok(Math.abs(deadline - Date.now() - 30_000) < 20_000);
    assert.equal(stream.end, undefined);

    await change(api, one!, { admin_state: 'drain', drain: '100ms' });
    assert.equal(await stream.ended(), 'reset', 'a cut stream must not look like a whole one');
    assert.equal(await answering(balancer, cookie), 'two');
    const moved = await get(balancer.port, '/', cookie);
    assert.equal(moved.headers('set-cookie').length, 1);
    assert.equal((await shown(api, one!)).why, 'The operator drained it, and the drain deadline has passed.');
    await eventually(
      async () => (await shown(api, one!)).endpoints[0]!.in_flight === 0,
      'the cut stream to be counted out',
    );
  },
);

test('maint turns away clients whose cookie names the server too', OPTIONS, async (t) => {
  const [one, two] = await Promise.all(['one', 'two'].map((name) => startServer(t, name)));
  const balancer = await startBalancer(t, site(proxyTo([one!, two!], COOKIE_POLICY), ADMIN));
  const api = new AdminApi(balancer);
  const cookie = { Cookie: (await get(balancer.port)).header('set-cookie')!.split(';')[0]! };
  await change(api, one!, { admin_state: 'maint' });
  assert.equal(await answering(balancer, cookie), 'two');
  assert.deepEqual(await shown(api, one!).then(({ state, why }) => [state, why]), [
    'maint',
    'The operator put it into maintenance.',
  ]);
  await change(api, two!, { admin_state: 'maint' });
  assert.equal((await get(balancer.port)).status, 503);
});

test(
  'with ip_hash a drain turns away everybody, since old clients cannot be told from new ones',
  OPTIONS,
  async (t) => {
    const [one, two] = await Promise.all(['one', 'two'].map((name) => startServer(t, name)));
    const balancer = await startBalancer(t, site(proxyTo([one!, two!], 'lb_policy ip_hash'), ADMIN));
    const api = new AdminApi(balancer);
    const home = (await get(balancer.port)).body;
    const [server, other] = home === 'one' ? [one!, 'two'] : [two!, 'one'];
    await change(api, server, { admin_state: 'drain' });
    assert.equal(await answering(balancer), other);
    await change(api, server, { admin_state: 'ready' });
    assert.equal(await answering(balancer), home);
  },
);

test('weights set by the operator count at once, and weight 0 turns new clients away', OPTIONS, async (t) => {
  const [one, two] = await Promise.all(['one', 'two'].map((name) => startServer(t, name)));
  const balancer = await startBalancer(t, site(proxyTo([one!, two!], 'lb_policy round_robin'), ADMIN));
  const api = new AdminApi(balancer);
  await change(api, one!, { weight: 0 });
  assert.equal(await answering(balancer), 'two');
  assert.deepEqual(await shown(api, one!).then(({ state, weight }) => [state, weight]), ['drain', 0]);
  await change(api, one!, { weight: 1 });
  assert.equal(await answering(balancer), 'one two');
});

test('what the operator said holds over reloads, removal and return, and a restart', OPTIONS, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-drain-'));
  t.after(() => rmSync(dataDir, { recursive: true }));
  const [one, two, three] = await Promise.all(['one', 'two', 'three'].map((name) => startServer(t, name)));
  const config = (...servers: readonly Server[]): string => site(proxyTo(servers, 'lb_policy round_robin'), ADMIN);
  const all = config(one!, two!, three!);
  const first = await startBalancer(t, all, { dataDir });
  const api = new AdminApi(first);
  await change(api, one!, { admin_state: 'drain', drain: '10m' });
  await change(api, two!, { admin_state: 'maint' });
  const before = (await shown(api, one!)).endpoints[0]!.drain_deadline;
  await first.reload(site(proxyTo([one!, two!, three!], 'lb_policy round_robin\nheader_up X-Round 1'), ADMIN));
  assert.equal(await answering(first), 'three');
  await first.reload(config(three!));
  await first.reload(all);
  assert.equal(await answering(first), 'three');
  await first.stop();

  const second = await startBalancer(t, all, { dataDir });
  assert.equal(await answering(second), 'three');
  const restarted = new AdminApi(second);
  const states = await Promise.all([one!, two!, three!].map(async (server) => (await shown(restarted, server)).state));
  assert.deepEqual(states, ['drain', 'maint', 'up']);
  assert.equal(
    (await shown(restarted, one!)).endpoints[0]!.drain_deadline,
    before,
    'the deadline is a moment, not a new wait',
  );
});

test('an unknown address is 404 and tells where to look', OPTIONS, async (t) => {
  const server = await startServer(t, 'server');
  const balancer = await startBalancer(t, site(proxyTo([server]), ADMIN));
  const { status, text } = await new AdminApi(balancer).patch('/upstreams/127.0.0.1:1', { admin_state: 'maint' });
  assert.equal(status, 404);
  assert.match(text, /no upstream.*127\.0\.0\.1:1.*GET \/upstreams/);
});
