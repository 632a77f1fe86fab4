/** A worker that throws or hangs: what its clients see, what the others see, and what the counters say. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Metrics } from '../../src/control-plane/metrics/metrics.ts';
import type { ControlEvent } from '../../src/control-plane/types.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { eventually, startBackend, startScripted } from '../support/backend.ts';
import { failuresOf, startLoad } from '../support/load.ts';
import { startPlane, type TestPlane } from '../support/plane.ts';
import { get, openClient, type RawClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };
const FAULTY = new URL('../support/faulty-worker.ts', import.meta.url);
const HANG_TIMEOUT_MS = 1000;
const FAULTS = [
  { path: '/throw', event: 'worker-crashed', restarts: { crashes: 1, hangs: 0 } },
  { path: '/hang', event: 'worker-hung', restarts: { crashes: 0, hangs: 1 } },
] as const;

function startFaulty(t: TestContext, caddyfile: string, workers = 2): Promise<TestPlane> {
  return startPlane(t, caddyfile, { workers, workerEntry: FAULTY, hangTimeoutMs: HANG_TIMEOUT_MS });
}

function fail(client: RawClient, path: string): void {
  client.send(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
}

function countOf(events: readonly ControlEvent[], type: ControlEvent['type']): number {
  return events.filter((event) => event.type === type).length;
}

/** Counters (`_total`, `_count`, `_bucket`) of a metrics page: series → value. */
function countersOf(page: string): Map<string, number> {
  const samples = page.split('\n').filter((line) => /^\w+_(total|count|bucket|sum)[ {]/.test(line));
  return new Map(
    samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

for (const { path, event, restarts } of FAULTS) {
  test(`${path}: responses under way are reset, never ended, and the worker is replaced`, OPTIONS, async (t) => {
    const head = 'HTTP/1.1 200 OK\r\n';
    const upstream = await startScripted(t, (socket, _index, received) => {
      socket.on('data', () => {
        if (!received().includes('\r\n\r\n')) return;
        if (received().startsWith('GET /length')) socket.write(`${head}Content-Length: 100\r\n\r\npart`);
        else if (received().startsWith('GET /chunked'))
          socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n`);
        else if (received().startsWith('GET /tunnel'))
          socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\npart');
        else if (received().startsWith('GET /close')) socket.write(`${head}Connection: close\r\n\r\npart`);
      });
    });
    const { plane, port, events } = await startFaulty(t, site(proxyTo([upstream])), 1);
    const requests = [
      'GET /length HTTP/1.1\r\nHost: a.test\r\n\r\n',
      'GET /chunked HTTP/1.1\r\nHost: a.test\r\n\r\n',
      'GET /close HTTP/1.1\r\nHost: a.test\r\n\r\n',
      // Towards HTTP/1.0 the end of the connection is the end of the body.
      'GET /close HTTP/1.0\r\nHost: a.test\r\n\r\n',
      'GET /tunnel HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
      'GET /silent HTTP/1.1\r\nHost: a.test\r\n\r\n',
    ];
    const clients = await Promise.all(requests.map(() => openClient(port)));
    clients.forEach((client, index) => client.send(requests[index]!));
    await Promise.all(clients.slice(0, -1).map((client) => client.until(() => client.received.includes('part'))));
    await eventually(() => plane.upstreams()[0]!.inFlight === requests.length, 'six exchanges in flight');
    const upstreamEnds = upstream.sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)));

    const culprit = await openClient(port);
    fail(culprit, path);
    const ends = await Promise.all([...clients, culprit].map((client) => client.ended(20_000)));
    assert.deepEqual(new Set(ends), new Set(['reset']));
    await Promise.all(upstreamEnds);
    await eventually(() => countOf(events, 'worker-started') === 2, 'a replacement', 20_000);
    assert.equal(countOf(events, event), 1);
    assert.deepEqual(plane.workerRestarts(), restarts);
    assert.equal(plane.upstreams()[0]!.inFlight, 0);
    assert.deepEqual(plane.degraded(), []);
    const next = await openClient(port);
    next.send('GET /length HTTP/1.1\r\nHost: a.test\r\n\r\n');
    await next.until(() => next.received.includes('part'));
    next.close();
  });

  test(`${path}: the other worker's clients notice nothing, and no counter goes down`, OPTIONS, async (t) => {
    const backend = await startBackend(t, 'backend');
    const { plane, port, events } = await startFaulty(t, site(proxyTo([backend])));
    const metrics = new Metrics(plane, systemClock, 'test');
    const load = startLoad(
      port,
      Array.from({ length: 12 }, (_, index) => ({ name: `client ${index}` })),
    );
    t.after(() => load.stop());
    await load.more(10);
    const before = load.answers.length;
    fail(await openClient(port), path);

    let last = new Map<string, number>();
    const replaced = (): boolean => countOf(events, 'worker-started') === 3;
    await eventually(
      async () => {
        const now = countersOf(await metrics.text());
        for (const [series, value] of last)
          assert.ok((now.get(series) ?? -1) >= value, `${series} went from ${value} to ${now.get(series)}`);
        last = now;
        return replaced();
      },
      'a replacement',
      20_000,
    );
    const after = await load.more(10);
    await load.stop();
    assert.deepEqual(failuresOf(after), []);
    // Each client has one connection: it can lose one request, and only if it was on the faulty worker.
    const lost = failuresOf(load.answers.slice(before));
    assert.ok(
      lost.every(({ status }) => status === 0),
      'a lost request is a reset, never an error page',
    );
    assert.equal(new Set(lost.map(({ client }) => client)).size, lost.length);
    assert.ok(lost.length < 12, 'every client lost a request: the other worker did not serve on');
    await eventually(() => plane.upstreams()[0]!.inFlight === 0, 'in-flight counts to return to zero');
    const total = plane.upstreams()[0]!.endpoints[0]!.requestsTotal;
    assert.ok(total >= load.answers.length - lost.length);
    assert.ok(plane.workers().every(({ state }) => state === 'serving'));
  });
}

test(
  'a worker that throws again and again is replaced with growing delays, and the other one serves on',
  OPTIONS,
  async (t) => {
    const backend = await startBackend(t, 'backend');
    const { plane, port, events } = await startFaulty(t, site(proxyTo([backend])));
    for (let round = 1; round <= 4; round += 1) {
      const victim = await openClient(port);
      fail(victim, '/throw');
      assert.equal(await victim.ended(), 'reset');
      assert.equal((await get(port)).body, 'backend');
      await eventually(() => countOf(events, 'worker-started') === 2 + round, `replacement ${round}`);
    }
    assert.equal(plane.workerRestarts().crashes, 4);
    const messages = events.filter(({ type }) => type === 'worker-crashed').map(({ message }) => message);
    assert.ok(
      messages.every((message) => /^worker-\d+ crashed: thrown on request$/.test(message)),
      messages.join('\n'),
    );
  },
);
