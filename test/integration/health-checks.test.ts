/** Active checks against real servers: what counts, from when on, and what a reload leaves alone. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { ControlEvent } from '../../src/control-plane/types.ts';
import { eventually, startBackend, type Backend } from '../support/backend.ts';
import { startPlane, type TestPlane } from '../support/plane.ts';
import { get } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };
const CHECK = 'health_uri /health\nhealth_interval 50ms\nhealth_fails 3\nhealth_passes 2';

interface Checked {
  readonly backend: Backend;
  readonly port: number;
  /** Probes that came so far. */
  readonly probes: number;
  /** Requests of clients. */
  readonly served: number;
}

/** A server whose n-th probe (from 0) is answered by `answer`; everything else is 200 with its name. */
async function startChecked(
  t: TestContext,
  name: string,
  answer: (probe: number, response: ServerResponse) => void,
  host?: string,
): Promise<Checked> {
  let probes = 0;
  let served = 0;
  const backend = await startBackend(
    t,
    name,
    (request: IncomingMessage, response) => {
      if (request.url?.startsWith('/health') === true) return answer(probes++, response);
      served += 1;
      response.end(name);
    },
    0,
    host,
  );
  return {
    backend,
    port: backend.port,
    get probes() {
      return probes;
    },
    get served() {
      return served;
    },
  };
}

function status(code: number): (probe: number, response: ServerResponse) => void {
  return (_probe, response) => void response.writeHead(code).end();
}

/** Answers by letters: P passes, F fails; after the last one the pattern begins anew from `again`. */
function pattern(letters: string, again = letters.length - 1): (probe: number, response: ServerResponse) => void {
  return (probe, response) => {
    const at = probe < letters.length ? probe : again + ((probe - letters.length) % (letters.length - again));
    response.writeHead(letters[at] === 'P' ? 200 : 500).end();
  };
}

function ofType(events: readonly ControlEvent[], type: ControlEvent['type']): ControlEvent[] {
  return events.filter((event) => event.type === type);
}

function stateOf({ plane }: TestPlane, server: { readonly port: number }): string | undefined {
  return plane.upstreams().find(({ upstream }) => upstream.endsWith(`:${server.port}`))?.state;
}

test('passes and failures in turn never take a server down', OPTIONS, async (t) => {
  const server = await startChecked(t, 'server', pattern('FP', 0));
  const { events } = await startPlane(t, site(proxyTo([server], CHECK)), { workers: 1 });
  await eventually(() => server.probes > 24, 'two dozen probes');
  assert.deepEqual(ofType(events, 'server-down'), []);
});

test(
  'a server goes down with the third failure in a row and comes back with the second pass in a row',
  OPTIONS,
  async (t) => {
    const server = await startChecked(t, 'server', pattern('FFFPFPP'));
    const running = await startPlane(t, site(proxyTo([server], CHECK)), { workers: 1 });
    const probesAt: string[] = [];
    running.plane.onEvent(({ type }) => {
      if (type.startsWith('server-')) probesAt.push(`${type} after probe ${server.probes}`);
    });
    await eventually(() => server.probes > 12, 'a dozen probes');
    assert.deepEqual(probesAt, ['server-down after probe 3', 'server-up after probe 7']);
    const down = ofType(running.events, 'server-down')[0]!;
    assert.match(down.message, /^127\.0\.0\.1:\d+ is down: HTTP_CODE_NOT_MATCH: .*500/);
    assert.ok(String(down.fields['cause']).length > 10 && String(down.fields['remedy']).length > 10);
  },
);

test('a server that is down gets no request, and none is lost when it goes', OPTIONS, async (t) => {
  let healthy = true;
  const server = await startChecked(
    t,
    'first',
    (_probe, response) => void response.writeHead(healthy ? 200 : 503).end(),
  );
  const other = await startChecked(t, 'other', status(200));
  const running = await startPlane(t, site(proxyTo([server, other], `lb_policy first\n${CHECK}`)));
  assert.equal((await get(running.port)).body, 'first');
  healthy = false;
  await eventually(() => stateOf(running, server) === 'down', 'the server to go down');
  const served = server.served;
  for (let index = 0; index < 20; index += 1) assert.equal((await get(running.port)).body, 'other');
  assert.equal(server.served, served);
  healthy = true;
  await eventually(() => stateOf(running, server) === 'up', 'the server to come back');
  assert.equal((await get(running.port)).body, 'first');
});

test('at start a server that has not answered a probe yet is in service', OPTIONS, async (t) => {
  const server = await startChecked(t, 'server', () => {});
  const running = await startPlane(t, site(proxyTo([server], `${CHECK}\nhealth_timeout 30s`)), { workers: 1 });
  assert.equal(stateOf(running, server), 'up');
  assert.equal((await get(running.port)).body, 'server');
  await eventually(() => server.probes === 1, 'a probe');
});

test('with health_initial down a server is out of service until its first pass', OPTIONS, async (t) => {
  const probe = Promise.withResolvers<ServerResponse>();
  const server = await startChecked(t, 'server', (number, response) => {
    if (number === 0) probe.resolve(response);
    else response.end();
  });
  const check = `health_uri /health\nhealth_interval 50ms\nhealth_timeout 30s\nhealth_initial down`;
  const running = await startPlane(t, site(proxyTo([server], check)), { workers: 1 });
  assert.equal((await get(running.port)).status, 503);
  (await probe.promise).end();
  await eventually(() => stateOf(running, server) === 'up', 'the first pass to count');
  assert.equal((await get(running.port)).body, 'server');
});

test('a server added by a reload gets no request before its first pass', OPTIONS, async (t) => {
  const probe = Promise.withResolvers<ServerResponse>();
  const old = await startChecked(t, 'old', status(200));
  const added = await startChecked(t, 'added', (number, response) => {
    if (number === 0) probe.resolve(response);
    else response.end();
  });
  const config = (...servers: Checked[]): string =>
    site(proxyTo(servers, `lb_policy round_robin\n${CHECK}\nhealth_timeout 30s`));
  const running = await startPlane(t, config(old), { workers: 1 });
  await running.reload(config(old, added));
  for (let index = 0; index < 10; index += 1) assert.equal((await get(running.port)).body, 'old');
  assert.equal(stateOf(running, added), 'initial');
  (await probe.promise).end();
  // One pass is enough here, whatever health_passes says.
  await eventually(() => stateOf(running, added) === 'up', 'the first pass to count');
  await get(running.port);
  await get(running.port);
  assert.ok(added.served > 0);
});

test('a server that is down is down after a reload too, and its results are remembered', OPTIONS, async (t) => {
  let healthy = false;
  const server = await startChecked(
    t,
    'dead',
    (_probe, response) => void response.writeHead(healthy ? 200 : 500).end(),
  );
  const other = await startChecked(t, 'other', status(200));
  const config = (round: number): string =>
    site(`header X-Round ${round}\n${proxyTo([server, other], `lb_policy first\n${CHECK}`)}`);
  const running = await startPlane(t, config(0), { workers: 1 });
  await eventually(() => stateOf(running, server) === 'down', 'the server to go down');
  const served = server.served;
  for (let round = 1; round <= 5; round += 1) {
    await running.reload(config(round));
    assert.equal(stateOf(running, server), 'down');
    const answer = await get(running.port);
    assert.deepEqual([answer.body, answer.header('x-round')], ['other', String(round)]);
  }
  assert.equal(server.served, served);
  assert.equal(ofType(running.events, 'server-down').length, 1);
  healthy = true;
  await eventually(() => stateOf(running, server) === 'up', 'the server to come back');
  const [check] = running.plane.upstreams()[0]!.endpoints[0]!.checks;
  assert.ok(
    check!.results.some(({ outcome }) => outcome === 'fail'),
    'the results from before the reload are still there',
  );
});

test('a probe that a reload cancels is no result', OPTIONS, async (t) => {
  const server = await startChecked(t, 'server', (probe, response) => {
    if (probe > 0) response.end();
  });
  const config = (uri: string): string =>
    site(proxyTo([server], `health_uri ${uri}\nhealth_interval 50ms\nhealth_timeout 30s\nhealth_fails 1`));
  const running = await startPlane(t, config('/health'), { workers: 1 });
  await eventually(() => server.probes === 1, 'a probe that hangs');
  await running.reload(config('/health2'));
  await eventually(() => server.probes > 5, 'probes of the new check');
  assert.deepEqual(ofType(running.events, 'server-down'), []);
  const [check] = running.plane.upstreams()[0]!.endpoints[0]!.checks;
  assert.ok(check!.results.length > 0 && check!.results.every(({ outcome }) => outcome === 'pass'));
});

test('a probe that runs while an unchanged check is reloaded goes on and counts', OPTIONS, async (t) => {
  const probe = Promise.withResolvers<ServerResponse>();
  const server = await startChecked(t, 'server', (number, response) => {
    if (number === 0) probe.resolve(response);
    else response.end();
  });
  const config = (round: number): string =>
    site(
      `header X-Round ${round}\n${proxyTo([server], 'health_uri /health\nhealth_interval 200ms\nhealth_timeout 30s\nhealth_fails 1')}`,
    );
  const running = await startPlane(t, config(0), { workers: 1 });
  const response = await probe.promise;
  await running.reload(config(1));
  response.writeHead(500).end();
  await eventually(() => ofType(running.events, 'server-down').length === 1, 'the failure to count');
});

test('twenty servers are probed within a second of the start, and never all at once', OPTIONS, async (t) => {
  const arrivals = new Map<string, number[]>();
  const server = await startBackend(
    t,
    'server',
    (request, response) => {
      const address = request.socket.localAddress!;
      arrivals.set(address, [...(arrivals.get(address) ?? []), performance.now()]);
      response.end();
    },
    0,
    '0.0.0.0',
  );
  const addresses = Array.from({ length: 20 }, (_, index) => `127.0.0.${index + 1}`);
  const upstreams = addresses.map((address) => `${address}:${server.port}`).join(' ');
  const startedAt = performance.now();
  await startPlane(t, site(`reverse_proxy ${upstreams} {\nhealth_uri /health\nhealth_interval 2s\n}`), { workers: 1 });
  await eventually(() => addresses.every((address) => (arrivals.get(address)?.length ?? 0) >= 2), 'two probes of each');
  const firsts = addresses.map((address) => arrivals.get(address)![0]!);
  // One second by design; the rest is for starting threads on a busy machine.
  assert.ok(Math.max(...firsts) - startedAt < 5000, 'the first probes came late');
  for (const round of [0, 1]) {
    const ticks = Map.groupBy(addresses, (address) => Math.floor(arrivals.get(address)![round]! / 50));
    assert.ok(
      [...ticks.values()].every((tick) => tick.length < 15),
      `round ${round}: nearly all probes came in the same tick`,
    );
  }
});

test('a check slower than its interval never overlaps itself', OPTIONS, async (t) => {
  let running = 0;
  let most = 0;
  const server = await startChecked(t, 'slow', (_probe, response) => {
    running += 1;
    most = Math.max(most, running);
    setTimeout(() => {
      running -= 1;
      response.end();
    }, 120);
  });
  const { events } = await startPlane(
    t,
    site(proxyTo([server], 'health_uri /health\nhealth_interval 20ms\nhealth_timeout 10s\nhealth_fails 1')),
    { workers: 1 },
  );
  await eventually(() => server.probes > 6, 'some probes');
  assert.equal(most, 1);
  assert.deepEqual(ofType(events, 'server-down'), []);
});

/** Tells of each probe and answers it when word 0 is set, which this thread does right before it stands still. */
const ANSWERS_DURING_STALLS = `
  const { createServer } = require('node:http');
  const { parentPort, workerData } = require('node:worker_threads');
  const server = createServer((request, response) => {
    parentPort.postMessage('probe');
    Atomics.wait(workerData, 0, 0, 60);
    response.end();
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

test('a control plane that stands still for 150 ms, twenty times, takes no server down', OPTIONS, async (t) => {
  const stalling = new Int32Array(new SharedArrayBuffer(4));
  // In a thread of its own: it answers in time, while this one cannot look.
  const thread = new Worker(ANSWERS_DURING_STALLS, { eval: true, workerData: stalling });
  t.after(() => thread.terminate());
  const port = await new Promise<number>((resolve) => thread.once('message', resolve));
  let stalls = 0;
  thread.on('message', () => {
    if (stalls === 20) return;
    stalls += 1;
    Atomics.store(stalling, 0, 1);
    Atomics.notify(stalling, 0);
    const until = performance.now() + 150;
    while (performance.now() < until);
    Atomics.store(stalling, 0, 0);
  });
  // Every probe of the twenty meets a stall longer than its timeout: two would be enough to take it down.
  const check = 'health_uri /health\nhealth_interval 60ms\nhealth_timeout 100ms\nhealth_fails 2';
  const { plane, events } = await startPlane(t, site(proxyTo([{ port }], check)), { workers: 1 });
  const passes = (): number => plane.upstreams()[0]!.endpoints[0]!.checks[0]!.consecutivePasses;
  await eventually(() => stalls === 20 && passes() > 2, 'twenty stalls, and passes after them');
  assert.deepEqual(ofType(events, 'server-down'), []);
});
