/** `max_requests` and `lb_queue`: places on servers and the lines in front of them, over all workers. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { eventually, startBackend, type Backend } from '../support/backend.ts';
import { globals, startBalancer } from '../support/balance.ts';
import { startPlane } from '../support/plane.ts';
import { get, openClient } from '../support/raw-client.ts';

interface Holding extends Backend {
  /** Requests that wait for an answer, in order of arrival. */
  readonly held: ServerResponse[];
  /** The most that ran at the same time. */
  readonly most: number;
}

/** Keeps every request to /hold until the test answers it. */
async function startHolding(t: TestContext, name: string): Promise<Holding> {
  const held: ServerResponse[] = [];
  let running = 0;
  let most = 0;
  const backend = await startBackend(t, name, (request, response) => {
    running += 1;
    most = Math.max(most, running);
    response.on('close', () => (running -= 1));
    response.setHeader('X-Backend', name);
    if (request.url?.startsWith('/hold') === true) held.push(response);
    else response.end(name);
  });
  return Object.defineProperties(backend, {
    held: { value: held },
    most: { get: () => most },
  }) as Holding;
}

function config(servers: readonly Backend[], limit: string, options = ''): string {
  const lines = servers.map(({ port }) => `to 127.0.0.1:${port} {\n${limit}\n}`).join('\n');
  return `${globals()}http://:0 {\nbind 127.0.0.1\nreverse_proxy {\n${lines}\n${options}\n}\n}\n`;
}

const answerAll = (server: Holding): void => {
  for (const response of server.held.splice(0)) response.end(server.name);
};

test('no server ever has more than max_requests, whatever the number of workers', async (t) => {
  let running = 0;
  let most = 0;
  const counting = await startBackend(t, 'counting', (_request, response) => {
    running += 1;
    most = Math.max(most, running);
    setTimeout(() => {
      running -= 1;
      response.end('counting');
    }, 2);
  });
  const balancer = await startBalancer(t, config([counting], 'max_requests 3', 'lb_queue 500 20s'), { workers: 3 });
  const answers = await Promise.all(Array.from({ length: 240 }, () => get(balancer.port)));
  assert.equal(answers.filter(({ status }) => status === 200).length, 240);
  assert.equal(most, 3);
});

test('a request that finds every server full is told so at once without a queue', async (t) => {
  const server = await startHolding(t, 'one');
  const balancer = await startBalancer(t, config([server], 'max_requests 1'), { workers: 2 });
  const first = get(balancer.port, '/hold');
  await eventually(() => server.held.length === 1, 'the first request has arrived');
  assert.equal((await get(balancer.port)).status, 503);
  answerAll(server);
  assert.equal((await first).status, 200);
  assert.equal((await get(balancer.port)).status, 200);
});

test('clients of a full server take their second home for that request, and come home afterwards', async (t) => {
  const servers = await Promise.all(['one', 'two', 'three'].map((name) => startHolding(t, name)));
  const balancer = await startBalancer(t, config(servers, 'max_requests 1', 'lb_policy ip_hash'));
  const home = (await get(balancer.port)).body;
  const full = servers.find(({ name }) => name === home)!;
  const first = get(balancer.port, '/hold');
  await eventually(() => full.held.length === 1, 'its home is full');
  const elsewhere = (await get(balancer.port)).body;
  assert.notEqual(elsewhere, home);
  assert.equal((await get(balancer.port)).body, elsewhere);
  answerAll(full);
  await first;
  assert.equal((await get(balancer.port)).body, home);
});

test('a cookie stays as it is while its server is full', async (t) => {
  const servers = await Promise.all(['one', 'two'].map((name) => startHolding(t, name)));
  const policy = 'lb_policy cookie lb a-secret-of-thirty-two-bytes-or-more';
  const balancer = await startBalancer(t, config(servers, 'max_requests 1', policy));
  const fresh = await get(balancer.port);
  const cookie = /^lb=[^;]+/.exec(fresh.header('set-cookie')!)![0];
  const own = servers.find(({ name }) => name === fresh.body)!;
  const first = get(balancer.port, '/hold', { Cookie: cookie });
  await eventually(() => own.held.length === 1, 'its server is full');
  const passed = await get(balancer.port, '/', { Cookie: cookie });
  assert.notEqual(passed.body, own.name);
  assert.equal(passed.header('set-cookie'), undefined);
  answerAll(own);
  await first;
  assert.equal((await get(balancer.port, '/', { Cookie: cookie })).body, own.name);
});

test('with a queue the clients of a full server wait for it', async (t) => {
  const servers = await Promise.all(['one', 'two', 'three'].map((name) => startHolding(t, name)));
  const balancer = await startBalancer(t, config(servers, 'max_requests 1', 'lb_policy ip_hash\nlb_queue 10 20s'), {
    workers: 2,
  });
  const home = (await get(balancer.port)).body;
  const full = servers.find(({ name }) => name === home)!;
  const first = get(balancer.port, '/hold');
  await eventually(() => full.held.length === 1, 'its home is full');
  const waiting = Array.from({ length: 6 }, () => get(balancer.port));
  await new Promise((resolve) => setTimeout(resolve, 100));
  answerAll(full);
  const bodies = (await Promise.all([first, ...waiting])).map(({ body }) => body);
  assert.deepEqual(new Set(bodies), new Set([home]));
  assert.equal(full.most, 1);
});

test('one worker serves those who wait in the order in which they came', async (t) => {
  const server = await startHolding(t, 'one');
  const balancer = await startBalancer(t, config([server], 'max_requests 1', 'lb_queue 10 20s'));
  const first = get(balancer.port, '/hold/0');
  await eventually(() => server.held.length === 1, 'the server is full');
  const rest: Promise<unknown>[] = [];
  for (const number of [1, 2, 3, 4]) {
    rest.push(get(balancer.port, `/hold/${number}`));
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  for (let number = 0; number <= 4; number += 1) {
    await eventually(() => server.held.length === 1, `request ${number} has arrived`);
    assert.equal(server.requests.at(-1)!.url, `/hold/${number}`);
    answerAll(server);
  }
  await Promise.all([first, ...rest]);
});

test('the queue is bounded, and who waits too long is answered 503', async (t) => {
  const server = await startHolding(t, 'one');
  const { plane, port } = await startPlane(t, config([server], 'max_requests 1', 'lb_queue 2 1s'));
  const first = get(port, '/hold');
  await eventually(() => server.held.length === 1, 'the server is full');
  const waiting = [get(port), get(port)];
  await eventually(() => plane.upstreams()[0]!.waiting === 2, 'two wait');
  assert.equal((await get(port)).status, 503);
  assert.deepEqual(
    (await Promise.all(waiting)).map(({ status }) => status),
    [503, 503],
  );
  assert.equal(plane.upstreams()[0]!.waiting, 0);
  answerAll(server);
  assert.equal((await first).status, 200);
});

test('a client that goes away waits no more', async (t) => {
  const server = await startHolding(t, 'one');
  const { plane, port } = await startPlane(t, config([server], 'max_requests 1', 'lb_queue 1 20s'));
  const first = get(port, '/hold');
  await eventually(() => server.held.length === 1, 'the server is full');
  const client = await openClient(port);
  client.send('GET / HTTP/1.1\r\nHost: x.test\r\n\r\n');
  await eventually(() => plane.upstreams()[0]!.waiting === 1, 'it waits');
  client.socket.resetAndDestroy();
  await eventually(() => plane.upstreams()[0]!.waiting === 0, 'it waits no more');
  const next = get(port);
  await eventually(() => plane.upstreams()[0]!.waiting === 1, 'there is room for another');
  answerAll(server);
  assert.deepEqual([(await first).status, (await next).status], [200, 200]);
  assert.equal(server.requests.length, 2);
});

test('who waits for a server that goes down is served by another', async (t) => {
  const servers = await Promise.all(['one', 'two'].map((name) => startHolding(t, name)));
  const balancer = await startBalancer(t, config(servers, 'max_requests 1', 'lb_policy ip_hash\nlb_queue 4 20s'));
  const home = (await get(balancer.port)).body;
  const full = servers.find(({ name }) => name === home)!;
  const first = get(balancer.port, '/hold');
  await eventually(() => full.held.length === 1, 'its home is full');
  const waiting = get(balancer.port);
  await eventually(() => balancer.upstreams().some((upstream) => upstream.waiting === 1), 'it waits');
  balancer.patchUpstream(`127.0.0.1:${full.port}`, { adminState: 'maint' });
  assert.notEqual((await waiting).body, home);
  answerAll(full);
  await first;
});
