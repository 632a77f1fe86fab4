/** Passive checks: what the traffic itself tells about a server. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { checkConfig } from '../../src/cli/check-config.ts';
import { startBackend, startScripted, eventually } from '../support/backend.ts';
import { AdminApi } from '../support/admin-api.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { visit } from '../support/cookies.ts';
import { valueOf } from '../support/metric.ts';
import { get, openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

/** Longer than any test takes: a server that is struck stays away. */
const LONG = 'fail_duration 1h';

interface Moody {
  /** Status of the next answers. */
  status: number;
  readonly port: number;
}

async function startMoody(t: TestContext, name: string): Promise<Moody> {
  const moody = { status: 200, port: 0 };
  const backend = await startBackend(t, name, (_request, response) => {
    response.writeHead(moody.status).end(name);
  });
  moody.port = backend.port;
  return moody;
}

function stateOf(balancer: TestBalancer, place: number): string | undefined {
  return balancer.upstreams()[place]?.state;
}

function eventsOf(balancer: TestBalancer): string[] {
  const types: string[] = [];
  balancer.on('*', ({ type }) => void types.push(type));
  return types;
}

async function served(balancer: TestBalancer): Promise<string> {
  const { status, body } = await get(balancer.port);
  return `${status} ${body}`;
}

test('a server that refuses connections is left alone after max_fails, and is not dialled any more', async (t) => {
  const dead = await startBackend(t, 'dead');
  const alive = await startBackend(t, 'alive');
  const balancer = await startBalancer(t, site(proxyTo([dead, alive], `lb_policy first\n${LONG}\nmax_fails 2`)));
  const events = eventsOf(balancer);
  await dead.kill();
  assert.equal(await served(balancer), '200 alive');
  assert.equal(balancer.upstreams()[0]?.passiveFails, 1);
  assert.equal(stateOf(balancer, 0), 'up');
  assert.equal(await served(balancer), '200 alive');
  await eventually(() => stateOf(balancer, 0) === 'struck', 'the strike');
  const upstream = `127.0.0.1:${dead.port}`;
  const dials = valueOf(await balancer.metrics(), 'holdfast_upstream_connections_total', { upstream, origin: 'new' });
  for (let again = 0; again < 5; again += 1) assert.equal(await served(balancer), '200 alive');
  const metrics = await balancer.metrics();
  assert.equal(valueOf(metrics, 'holdfast_upstream_connections_total', { upstream, origin: 'new' }), dials);
  assert.equal(valueOf(metrics, 'holdfast_upstream_state', { upstream, state: 'struck' }), 1);
  assert.equal(valueOf(metrics, 'holdfast_upstream_passive_fails', { upstream }), 2);
  assert.equal(valueOf(metrics, 'caddy_reverse_proxy_upstreams_healthy', { upstream }), 0);
  assert.deepEqual(events, ['upstream-struck']);
});

test('after fail_duration one request tests it, and a success brings it back', async (t) => {
  const one = await startBackend(t, 'one');
  const two = await startBackend(t, 'two');
  const balancer = await startBalancer(t, site(proxyTo([one, two], 'lb_policy first\nfail_duration 200ms')));
  const events = eventsOf(balancer);
  await one.kill();
  assert.equal(await served(balancer), '200 two');
  await eventually(() => stateOf(balancer, 0) === 'struck', 'the strike');
  await one.revive();
  await eventually(async () => (await served(balancer)) === '200 one', 'its return');
  await eventually(() => stateOf(balancer, 0) === 'up', 'the state');
  assert.equal(balancer.upstreams()[0]?.passiveFails, 0);
  assert.deepEqual(events, ['upstream-struck', 'upstream-recovered']);
});

test('a test that fails keeps it away, and it is tested again', async (t) => {
  const one = await startBackend(t, 'one');
  const two = await startBackend(t, 'two');
  const balancer = await startBalancer(t, site(proxyTo([one, two], 'lb_policy first\nfail_duration 100ms')));
  await one.kill();
  const upstream = `127.0.0.1:${one.port}`;
  const dialled = async (): Promise<number> =>
    valueOf(await balancer.metrics(), 'holdfast_upstream_failures_total', { upstream, cause: 'dial' });
  await eventually(async () => {
    assert.equal(await served(balancer), '200 two');
    return (await dialled()) >= 4;
  }, 'three tests that failed');
  assert.equal(stateOf(balancer, 0), 'struck');
  await one.revive();
  await eventually(async () => (await served(balancer)) === '200 one', 'its return');
});

test('unhealthy_status counts answers, in a row: a good one in between starts anew', async (t) => {
  const one = await startMoody(t, 'one');
  const two = await startBackend(t, 'two');
  const options = `lb_policy first\n${LONG}\nmax_fails 3\nunhealthy_status 5xx 429`;
  const balancer = await startBalancer(t, site(proxyTo([one, two], options)));
  for (const status of [500, 429, 200, 503, 404, 502, 500]) {
    one.status = status;
    assert.equal(await served(balancer), `${status} one`);
  }
  assert.equal(stateOf(balancer, 0), 'up');
  assert.equal(await served(balancer), '500 one');
  await eventually(() => stateOf(balancer, 0) === 'struck', 'the strike');
  assert.equal(await served(balancer), '200 two');
});

test('without unhealthy_status an error of the application is no failure', async (t) => {
  const one = await startMoody(t, 'one');
  one.status = 500;
  const two = await startBackend(t, 'two');
  const balancer = await startBalancer(t, site(proxyTo([one, two], `lb_policy first\n${LONG}`)));
  for (let again = 0; again < 3; again += 1) assert.equal(await served(balancer), '500 one');
  assert.equal(stateOf(balancer, 0), 'up');
});

test('a lone server is never taken away, nor the last of several', async (t) => {
  const lone = await startMoody(t, 'lone');
  lone.status = 502;
  const options = `${LONG}\nunhealthy_status 5xx`;
  const balancer = await startBalancer(t, site(proxyTo([lone], options)));
  for (let again = 0; again < 4; again += 1) assert.equal(await served(balancer), '502 lone');
  lone.status = 200;
  assert.equal(await served(balancer), '200 lone');
  await eventually(() => stateOf(balancer, 0) === 'up', 'the state');

  const pair = await Promise.all(['a', 'b'].map((name) => startMoody(t, name)));
  for (const server of pair) server.status = 500;
  const two = await startBalancer(t, site(proxyTo(pair, `lb_policy round_robin\n${options}`)));
  const answers: string[] = [];
  for (let again = 0; again < 8; again += 1) answers.push(await served(two));
  await eventually(() => stateOf(two, 0) === 'struck' && stateOf(two, 1) === 'struck', 'both strikes');
  for (let again = 0; again < 4; again += 1) answers.push(await served(two));
  assert.deepEqual(new Set(answers), new Set(['500 a', '500 b']));
  pair[1]!.status = 200;
  await eventually(async () => (await served(two)) === '200 b', 'the one that recovers');
  await eventually(() => stateOf(two, 1) === 'up', 'its state');
  for (let again = 0; again < 4; again += 1) assert.equal(await served(two), '200 b');
});

test('unhealthy_latency counts slow answers', async (t) => {
  const slow = await startBackend(t, 'slow', (_request, response) => {
    setTimeout(() => response.end('slow'), 150);
  });
  const fast = await startBackend(t, 'fast');
  const options = `lb_policy first\n${LONG}\nunhealthy_latency 100ms`;
  const balancer = await startBalancer(t, site(proxyTo([slow, fast], options)));
  assert.equal(await served(balancer), '200 slow');
  await eventually(() => stateOf(balancer, 0) === 'struck', 'the strike');
  assert.equal(await served(balancer), '200 fast');
});

test('an answer that does not come in time, breaks off before its head, or is no HTTP is a failure', async (t) => {
  const silent = await startScripted(t, () => {});
  const breaking = await startScripted(t, (socket) => socket.on('data', () => socket.resetAndDestroy()));
  const garbage = await startScripted(t, (socket) => socket.on('data', () => socket.write('nonsense\r\n\r\n')));
  const good = await startBackend(t, 'good');
  const options = `lb_policy first\n${LONG}\ntransport http {\nresponse_header_timeout 100ms\n}`;
  const balancer = await startBalancer(t, site(proxyTo([silent, breaking, garbage, good], options)));
  await eventually(async () => (await served(balancer)) === '200 good', 'the good one');
  await eventually(
    () => balancer.upstreams().every(({ state }, at) => state === (at === 3 ? 'up' : 'struck')),
    'strikes',
  );
});

test('an idle connection that closed just as it was used again is no failure', async (t) => {
  const closing = await startScripted(t, (socket) => {
    let requests = 0;
    socket.on('data', () => {
      requests += 1;
      if (requests === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      else socket.resetAndDestroy();
    });
  });
  const other = await startBackend(t, 'other');
  const balancer = await startBalancer(t, site(proxyTo([closing, other], `lb_policy first\n${LONG}`)));
  for (let again = 0; again < 4; again += 1) assert.equal(await served(balancer), '200 ok');
  assert.ok(closing.sockets.length > 1);
  assert.deepEqual([stateOf(balancer, 0), balancer.upstreams()[0]?.passiveFails], ['up', 0]);
});

test('fail_ratio looks at the share of a window instead', async (t) => {
  const one = await startMoody(t, 'one');
  const two = await startBackend(t, 'two');
  const options = `lb_policy first\n${LONG}\nunhealthy_status 500\nfail_ratio 0.5 6`;
  const balancer = await startBalancer(t, site(proxyTo([one, two], options)));
  for (const status of [500, 200, 500, 200, 500]) {
    one.status = status;
    assert.equal(await served(balancer), `${status} one`);
  }
  assert.equal(stateOf(balancer, 0), 'up');
  one.status = 500;
  assert.equal(await served(balancer), '500 one');
  await eventually(() => stateOf(balancer, 0) === 'struck', 'the strike');
});

test('a cookie outlives a strike, and moves on when the test fails too', async (t) => {
  const one = await startMoody(t, 'one');
  const two = await startBackend(t, 'two');
  const options = `lb_policy cookie lb {
    secret a-secret-of-this-test-0123456789-0123456789
    fallback first
  }
  fail_duration 300ms
  unhealthy_status 5xx`;
  const balancer = await startBalancer(t, site(proxyTo([one, two], options)));
  const { cookie, server } = await visit(balancer.port);
  assert.equal(server, 'one');
  one.status = 500;
  await visit(balancer.port, cookie);
  await eventually(() => stateOf(balancer, 0) === 'struck', 'the strike');
  const away = await visit(balancer.port, cookie);
  assert.deepEqual([away.server, away.given], ['two', []], 'served elsewhere, cookie untouched');
  one.status = 200;
  await eventually(async () => (await visit(balancer.port, cookie)).server === 'one', 'its return');
  await eventually(() => stateOf(balancer, 0) === 'up', 'the state');

  one.status = 500;
  await visit(balancer.port, cookie);
  await eventually(async () => {
    const moved = await visit(balancer.port, cookie);
    return moved.given.length === 1 && moved.status === 200;
  }, 'a new cookie after the failed test');
});

test('workers count together', async (t) => {
  const one = await startMoody(t, 'one');
  one.status = 500;
  const two = await startBackend(t, 'two');
  const options = `lb_policy first\n${LONG}\nmax_fails 6\nunhealthy_status 5xx`;
  const balancer = await startBalancer(t, site(proxyTo([one, two], options)), { workers: 2 });
  for (let again = 0; again < 6; again += 1) assert.equal(await served(balancer), '500 one');
  await eventually(() => stateOf(balancer, 0) === 'struck', 'the strike');
  assert.equal(await served(balancer), '200 two');
});

test('a test whose client goes away is given to another request', async (t) => {
  let hangs = false;
  const one = await startBackend(t, 'one', (_request, response) => {
    if (!hangs) response.end('one');
  });
  const two = await startBackend(t, 'two');
  const balancer = await startBalancer(t, site(proxyTo([one, two], 'lb_policy first\nfail_duration 200ms')));
  await one.kill();
  assert.equal(await served(balancer), '200 two');
  await eventually(() => stateOf(balancer, 0) === 'struck', 'the strike');
  await one.revive();
  hangs = true;
  const client = await openClient(balancer.port);
  t.after(() => client.close());
  await eventually(() => /tests it/.test(balancer.upstreams()[0]?.why ?? ''), 'half-open');
  client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await eventually(() => one.requests.length === 1, 'the test');
  assert.equal(await served(balancer), '200 two', 'one request tests it, no other');
  client.close();
  hangs = false;
  await eventually(async () => (await served(balancer)) === '200 one', 'its return');
});

test('affinity by address comes home after a strike', async (t) => {
  const servers = await Promise.all(['one', 'two', 'three'].map((name) => startMoody(t, name)));
  const options = 'lb_policy ip_hash\nfail_duration 200ms\nunhealthy_status 5xx';
  const balancer = await startBalancer(t, site(proxyTo(servers, options)));
  const { body: home } = await get(balancer.port);
  const server = servers[['one', 'two', 'three'].indexOf(home)]!;
  server.status = 500;
  assert.equal((await get(balancer.port)).status, 500);
  await eventually(async () => (await get(balancer.port)).body !== home, 'another server');
  server.status = 200;
  await eventually(async () => (await served(balancer)) === `200 ${home}`, 'its return');
});

test('the admin API shows them, in its own list and in that of Caddy', async (t) => {
  const one = await startMoody(t, 'one');
  one.status = 500;
  const two = await startBackend(t, 'two');
  const options = `lb_policy first\n${LONG}\nunhealthy_status 5xx`;
  const config = site(proxyTo([one, two], options), { admin: '127.0.0.1:0' });
  const balancer = await startBalancer(t, config);
  await served(balancer);
  await eventually(() => stateOf(balancer, 0) === 'struck', 'the strike');
  const api = new AdminApi(balancer);
  const [shown] = (await api.get('/upstreams')).json as Record<string, unknown>[];
  assert.deepEqual([shown?.['state'], shown?.['passive_fails']], ['struck', 1]);
  assert.match(String(shown?.['why']), /fail_duration/);
  const [summary] = (await api.get('/reverse_proxy/upstreams')).json as Record<string, unknown>[];
  assert.deepEqual([summary?.['fails'], summary?.['healthy']], [1, false]);
});

test('a reload that does not touch the pool keeps a strike', async (t) => {
  const one = await startMoody(t, 'one');
  one.status = 500;
  const two = await startBackend(t, 'two');
  const handler = proxyTo([one, two], `lb_policy first\n${LONG}\nunhealthy_status 5xx`);
  const balancer = await startBalancer(t, site(handler));
  await served(balancer);
  await eventually(() => stateOf(balancer, 0) === 'struck', 'the strike');
  await balancer.reload(site(`${handler}\n\trespond /new "new"`));
  assert.equal(stateOf(balancer, 0), 'struck');
  assert.equal(await served(balancer), '200 two');
});

const REFUSED: readonly (readonly [lines: string, message: RegExp])[] = [
  ['fail_duration 2d', /fail_duration: expected a duration .*:10$/],
  ['max_fails 0', /max_fails: expected a whole number from 1 to 1000, found 0.*:10$/],
  ['unhealthy_status 700', /unhealthy_status.*expected a status code .*:10$/],
  ['unhealthy_latency 2h', /unhealthy_latency: expected a duration .*:10$/],
  ['fail_ratio 1.5', /bad fail_ratio '1\.5': write a share of requests from 0 to 1.*:10/],
  ['fail_ratio 0.5 0', /fail_ratio_min_requests: expected a whole number from 1 .*:10$/],
];

for (const [lines, message] of REFUSED) {
  test(`'${lines}' is refused with its line`, () => {
    const text = site(proxyTo([{ port: 80 }], lines));
    assert.throws(() => checkConfig({ text, adapter: 'caddyfile', filename: 'Caddyfile' }, {}), message);
  });
}

test('passive checks without fail_duration are a warning', () => {
  const text = site(proxyTo([{ port: 80 }], 'unhealthy_status 5xx'));
  const { warnings } = checkConfig({ text, adapter: 'caddyfile', filename: 'Caddyfile' }, {});
  assert.ok(warnings.some(({ message, line }) => line === 10 && /need fail_duration/.test(message)));
});
