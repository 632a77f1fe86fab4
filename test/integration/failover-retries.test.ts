/** Tries: which failures go to another server, how often, and for how long. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend, startScripted, eventually } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { valueOf } from '../support/metric.ts';
import { freePort } from '../support/named-servers.ts';
import { ask, get, openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

const DIALS = 'holdfast_upstream_connections_total';
const FAILURES = 'holdfast_upstream_failures_total';

async function deadPorts(count: number): Promise<{ readonly port: number }[]> {
  return Promise.all(Array.from({ length: count }, async () => ({ port: await freePort() })));
}

function post(body: string, extra = ''): string {
  return `POST /form HTTP/1.1\r\nHost: x.test\r\nContent-Length: ${body.length}\r\n${extra}Connection: close\r\n\r\n${body}`;
}

test('without any option a refused dial goes to the next server, for every method, body and all', async (t) => {
  const [dead] = await deadPorts(1);
  const alive = await startBackend(t, 'alive');
  const balancer = await startBalancer(t, site(proxyTo([dead!, alive], 'lb_policy first')));
  assert.equal((await get(balancer.port)).body, 'alive');
  const large = 'x'.repeat(1_048_576);
  assert.equal((await ask(balancer.port, post(large))).body, 'alive');
  assert.equal(
    (
      await ask(
        balancer.port,
        post('in chunks', '')
          .replace('Content-Length: 9', 'Transfer-Encoding: chunked')
          .replace('in chunks', '9\r\nin chunks\r\n0\r\n\r\n'),
      )
    ).body,
    'alive',
  );
  assert.deepEqual(
    alive.bodies.map((body) => body.toString('latin1')),
    ['', large, 'in chunks'],
  );
  await eventually(() => balancer.accessLines.length === 3, 'access lines');
  assert.deepEqual(
    balancer.accessLines.map(({ attempts }) => attempts),
    [2, 2, 2],
  );
  const metrics = await balancer.metrics();
  assert.equal(valueOf(metrics, FAILURES, { upstream: `127.0.0.1:${dead!.port}`, cause: 'dial' }), 3);
  assert.equal(valueOf(metrics, 'holdfast_upstream_retries_total', { upstream: `127.0.0.1:${dead!.port}` }), 3);
});

test('when every server refuses, each is dialled once and the client gets 502', async (t) => {
  const dead = await deadPorts(3);
  const balancer = await startBalancer(t, site(proxyTo(dead, 'lb_policy round_robin')));
  const response = await get(balancer.port);
  assert.equal(response.status, 502);
  const metrics = await balancer.metrics();
  for (const { port } of dead)
    assert.equal(valueOf(metrics, DIALS, { upstream: `127.0.0.1:${port}`, origin: 'new' }), 1);
  await eventually(() => balancer.accessLines.length === 1, 'the access line');
  assert.deepEqual([balancer.accessLines[0]?.['status'], balancer.accessLines[0]?.['attempts']], [502, 3]);
});

test('lb_retries 0 turns failover off: one dial, then 502', async (t) => {
  const [dead] = await deadPorts(1);
  const alive = await startBackend(t, 'alive');
  const balancer = await startBalancer(t, site(proxyTo([dead!, alive], 'lb_policy first\nlb_retries 0')));
  assert.equal((await get(balancer.port)).status, 502);
  assert.equal(alive.requests.length, 0);
  assert.equal(valueOf(await balancer.metrics(), DIALS, { upstream: `127.0.0.1:${dead!.port}`, origin: 'new' }), 1);
});

test('lb_retries 1 tries one more server and no third', async (t) => {
  const dead = await deadPorts(2);
  const alive = await startBackend(t, 'alive');
  const balancer = await startBalancer(t, site(proxyTo([...dead, alive], 'lb_policy first\nlb_retries 1')));
  assert.equal((await get(balancer.port)).status, 502);
  assert.equal(alive.requests.length, 0);
});

test('lb_try_duration waits for a server to come back', async (t) => {
  const server = await startBackend(t, 'back again');
  const balancer = await startBalancer(t, site(proxyTo([server], 'lb_try_duration 20s\nlb_try_interval 50ms')));
  await server.kill();
  const client = await openClient(balancer.port);
  t.after(() => client.close());
  client.send('POST / HTTP/1.1\r\nHost: x.test\r\nContent-Length: 2\r\n\r\nhi');
  await eventually(async () => {
    const metrics = await balancer.metrics();
    return valueOf(metrics, FAILURES, { upstream: `127.0.0.1:${server.port}`, cause: 'dial' }) >= 2;
  }, 'two refused dials');
  assert.equal(client.received, '', 'no answer yet');
  await server.revive();
  assert.equal((await client.response()).body, 'back again');
  assert.deepEqual(server.bodies.map(String), ['hi']);
});

test('a client that leaves while its request waits ends the tries', async (t) => {
  const [dead] = await deadPorts(1);
  const balancer = await startBalancer(t, site(proxyTo([dead!], 'lb_try_duration 1m\nlb_try_interval 20ms')));
  const failures = async (): Promise<number> =>
    valueOf(await balancer.metrics(), FAILURES, { upstream: `127.0.0.1:${dead!.port}`, cause: 'dial' });
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: x.test\r\n\r\n');
  await eventually(async () => (await failures()) > 0, 'a refused dial');
  // A reset: a mere FIN may be the half-close of a client that still waits.
  client.socket.resetAndDestroy();
  await eventually(
    async () => valueOf(await balancer.metrics(), 'holdfast_http_requests_aborted_total') === 1,
    'the end',
  );
  const then = await failures();
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(await failures(), then);
});

test('a GET whose connection breaks before the answer goes to one other server, once', async (t) => {
  const breaking = await Promise.all(
    [0, 1].map(() => startScripted(t, (socket) => socket.once('data', () => socket.destroy()))),
  );
  // Counted by what arrived: a port that was just free may still be dialled by somebody else.
  const tries = (): number[] =>
    breaking.map(({ received }) => received.filter((text) => text.startsWith('GET /broken ')).length);
  const alive = await startBackend(t, 'alive');
  const balancer = await startBalancer(t, site(proxyTo([breaking[0]!, alive], 'lb_policy first')));
  assert.equal((await get(balancer.port, '/broken')).body, 'alive');
  assert.deepEqual(tries(), [1, 0]);
  await balancer.reload(site(proxyTo([...breaking, alive], 'lb_policy first')));
  assert.equal((await get(balancer.port, '/broken')).status, 502, 'two broken ones: the third is not bothered');
  assert.deepEqual(tries(), [2, 1]);
});

test('a POST whose connection breaks after its bytes were sent is 502 and reaches nobody else', async (t) => {
  const breaking = await startScripted(t, (socket) => socket.once('data', () => socket.destroy()));
  const alive = await startBackend(t, 'alive');
  const balancer = await startBalancer(t, site(proxyTo([breaking, alive], 'lb_policy first')));
  assert.equal((await ask(balancer.port, post('pay 10'))).status, 502);
  assert.equal(alive.requests.length, 0);
});

test('a server that accepts and never answers is 504 after response_header_timeout', async (t) => {
  const silent = await startScripted(t, () => {});
  const alive = await startBackend(t, 'alive');
  const options = 'lb_policy first\ntransport http {\nresponse_header_timeout 200ms\n}';
  const balancer = await startBalancer(t, site(proxyTo([silent, alive], options)));
  assert.equal((await ask(balancer.port, post('x'))).status, 504);
  assert.equal(
    valueOf(await balancer.metrics(), FAILURES, { upstream: `127.0.0.1:${silent.port}`, cause: 'timeout' }),
    1,
  );
});
