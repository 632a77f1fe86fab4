import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createControlPlane } from '../../src/control-plane/control-plane.ts';
import { ReplacedError } from '../../src/control-plane/reload/load-queue.ts';
import type { ControlPlane, LoadRequest } from '../../src/control-plane/types.ts';
import { silentLogger } from '../../src/shared/log.ts';

const OPTIONS = { timeout: 60_000 };

function planeFor(t: TestContext, dataDir?: string): ControlPlane {
  const plane = createControlPlane({
    workers: 2,
    log: silentLogger,
    env: {},
    ...(dataDir === undefined ? {} : { dataDir }),
  });
  t.after(() => plane.stop(0));
  return plane;
}

type Handler = Readonly<Record<string, unknown>>;

function config(handler: Handler, listen = '127.0.0.1:0'): LoadRequest {
  const servers = { srv0: { listen: [listen], routes: [{ handle: [handler] }] } };
  return { text: JSON.stringify({ apps: { http: { servers } } }), adapter: 'json', filename: 'test.json' };
}

function say(body: string): LoadRequest {
  return config({ handler: 'static_response', body });
}

function proxyTo(...ports: readonly number[]): Handler {
  return { handler: 'reverse_proxy', upstreams: ports.map((port) => ({ dial: `127.0.0.1:${port}` })) };
}

function portOf(plane: ControlPlane): number {
  const [address] = plane.addresses().values();
  if (address === undefined) throw new Error('nothing listens');
  return address.port;
}

async function get(plane: ControlPlane, path = '/', agent?: http.Agent): Promise<string> {
  const request = http.get({ host: '127.0.0.1', port: portOf(plane), path, agent: agent ?? false });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  return (await response.toArray()).join('');
}

async function backend(t: TestContext, listener: http.RequestListener): Promise<number> {
  const server = http.createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

test('a load serves, the same config again does nothing, a forced one makes a new generation', OPTIONS, async (t) => {
  const plane = planeFor(t);
  assert.deepEqual(plane.degraded(), ['no config has been loaded']);
  assert.deepEqual(await plane.load(say('one')), { generation: 1, unchanged: false, warnings: [], changes: [] });
  assert.equal(await get(plane), 'one');
  assert.equal((await plane.load(say('one'))).unchanged, true);
  assert.equal((await plane.load({ ...say('one'), force: true })).generation, 2);
  assert.deepEqual(plane.degraded(), []);
});

test('a config that is refused leaves the old one serving and is told as an event', OPTIONS, async (t) => {
  const plane = planeFor(t);
  const events: string[] = [];
  plane.onEvent(({ type }) => events.push(type));
  await plane.load(say('one'));
  await assert.rejects(plane.load({ text: '{', adapter: 'json', filename: 'broken.json' }), /broken\.json is not JSON/);
  await assert.rejects(plane.load(config({ handler: 'no_such_handler' })));
  assert.equal(await get(plane), 'one');
  assert.deepEqual(
    events.filter((type) => type.startsWith('reload')),
    ['reload', 'reload-failed', 'reload-failed'],
  );
  const { generation, lastSuccessful, total, failures } = plane.reloads();
  assert.deepEqual(
    { generation, lastSuccessful, total, failures },
    { generation: 1, lastSuccessful: false, total: 3, failures: 2 },
  );
});

test('of loads that arrive while one runs only the newest is carried out', OPTIONS, async (t) => {
  const plane = planeFor(t);
  const first = plane.load(say('one'));
  const second = plane.load(say('two'));
  const third = plane.load(say('three'));
  await assert.rejects(second, ReplacedError);
  await Promise.all([first, third]);
  assert.equal(await get(plane), 'three');
});

test(
  'a response under way survives reloads, its load call does not wait, and the next request meets the new config',
  OPTIONS,
  async (t) => {
    const plane = planeFor(t);
    const pending = Promise.withResolvers<http.ServerResponse>();
    const port = await backend(t, (request, response) => {
      if (request.url !== '/stream') return void response.end('old');
      response.write('begin ');
      pending.resolve(response);
    });
    await plane.load(config(proxyTo(port)));
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    t.after(() => agent.destroy());
    assert.equal(await get(plane, '/', agent), 'old');
    const stream = get(plane, '/stream');
    const response = await pending.promise;
    for (let round = 0; round < 20; round += 1) await plane.load(say(`new ${round}`));
    assert.equal(await get(plane, '/', agent), 'new 19');
    response.end('end');
    assert.equal(await stream, 'begin end');
  },
);

test('100 reloads under request load fail no request and leave no old upstream behind', OPTIONS, async (t) => {
  const plane = planeFor(t);
  const port = await backend(t, (_request, response) => void response.end('ok'));
  const reload = (round: number): Promise<unknown> =>
    plane.load(config({ ...proxyTo(port), headers: { request: { set: { 'X-Round': [String(round)] } } } }));
  await reload(0);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
  t.after(() => agent.destroy());
  const load = { running: true };
  const clients = Array.from({ length: 8 }, async (_, client) => {
    let answered = 0;
    // Half of the clients come with a new connection every time.
    while (load.running) answered += Number((await get(plane, '/', client % 2 === 0 ? agent : undefined)) === 'ok');
    return answered;
  });
  for (let round = 1; round <= 100; round += 1) await reload(round);
  load.running = false;
  const answers = await Promise.all(clients);
  assert.ok(answers.every((count) => count > 0));
  assert.equal(plane.upstreams().length, 1);
  assert.equal(plane.slotRows().size, 1);
});

test('retiring every worker under request load fails no request', OPTIONS, async (t) => {
  const plane = planeFor(t);
  const port = await backend(t, (_request, response) => void response.end('ok'));
  await plane.load(config(proxyTo(port)));
  const load = { running: true };
  const clients = Array.from({ length: 8 }, async () => {
    while (load.running) assert.equal(await get(plane), 'ok');
  });
  for (let round = 0; round < 4; round += 1) {
    const [oldest] = plane.workers().filter(({ state }) => state === 'serving');
    await plane.retireWorker(oldest!.lane);
  }
  load.running = false;
  await Promise.all(clients);
});

test('what an operator said about a server holds over a restart', OPTIONS, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-'));
  t.after(() => rmSync(dataDir, { recursive: true }));
  const port = await backend(t, (_request, response) => void response.end('ok'));
  const first = planeFor(t, dataDir);
  await first.load(config(proxyTo(port)));
  assert.equal(first.patchUpstream('127.0.0.1:1', { adminState: 'maint' }), false);
  assert.equal(first.patchUpstream(`127.0.0.1:${port}`, { adminState: 'maint' }), true);
  await first.stop(0);
  const second = planeFor(t, dataDir);
  await second.load(config(proxyTo(port)));
  assert.equal(second.upstreams()[0]?.state, 'maint');
});

test('a fault of the control plane is counted as degraded, and requests are answered', OPTIONS, async (t) => {
  const plane = planeFor(t);
  await plane.load(say('one'));
  plane.noteFault(new Error('surprise'));
  assert.match(plane.degraded().join(), /1 unexpected fault.*surprise/);
  assert.equal(await get(plane), 'one');
});

test('two control planes run side by side, and the second is refused a port of the first', OPTIONS, async (t) => {
  const [first, second] = [planeFor(t), planeFor(t)];
  await first.load(say('first'));
  const taken = `127.0.0.1:${portOf(first)}`;
  await assert.rejects(
    second.load(config({ handler: 'static_response', body: 'second' }, taken)),
    /address already in use/,
  );
  await second.load(say('second'));
  assert.equal(await get(first), 'first');
  assert.equal(await get(second), 'second');
});

test('a load after stop is refused in words', OPTIONS, async (t) => {
  const plane = planeFor(t);
  await plane.load(say('one'));
  await plane.stop(0);
  await assert.rejects(plane.load(say('two')), /is stopping/);
  assert.equal(plane.addresses().size, 0);
});
