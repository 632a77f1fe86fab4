import assert from 'node:assert/strict';
import * as net from 'node:net';
import { test, type TestContext } from 'node:test';
import { ListenError } from '../../src/control-plane/listeners/bind.ts';
import { FACT_IN_FLIGHT, FACT_REQUESTS, LANE_HEARTBEAT } from '../../src/shared/state-table/layout.ts';
import {
  churn,
  connect,
  countOf,
  listener,
  plan,
  portOf,
  startFleet,
  type Client,
  type TestFleet,
  type TestFleetOptions,
} from './fleet-fixture.ts';

const OPTIONS = { timeout: 60_000 };

async function fleetFor(t: TestContext, options: TestFleetOptions = {}): Promise<TestFleet> {
  const started = await startFleet(options);
  t.after(() => started.fleet.stop(0));
  return started;
}

/** Lanes that answer `count` connections opened at the same time. */
async function lanesOf(port: number, count: number): Promise<number[]> {
  const clients = await Promise.all(Array.from({ length: count }, () => connect(port)));
  const answers = await Promise.all(clients.map(({ ask }) => ask('who')));
  for (const { socket } of clients) socket.destroy();
  return answers.map(({ lane }) => lane);
}

async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test('port 0 is one port for all workers, and every worker accepts on it', OPTIONS, async (t) => {
  const started = await fleetFor(t);
  await started.fleet.apply(plan(1, [listener()]));
  const port = portOf(started);
  assert.notEqual(port, 0);
  assert.equal(new Set(await lanesOf(port, 64)).size, 2);
});

test('100 reloads under connection load fail no connection and leave only the last generation', OPTIONS, async (t) => {
  const started = await fleetFor(t);
  await started.fleet.apply(plan(1, [listener()]));
  const port = portOf(started);
  const load = churn(port, 16);
  for (let generation = 2; generation <= 101; generation += 1)
    await started.fleet.apply(plan(generation, [listener()]));
  const { answered, failures } = await load.stop();
  assert.deepEqual(failures, []);
  assert.ok(answered > 100);
  const { ask, socket } = await connect(port);
  assert.equal((await ask('who')).generation, 101);
  socket.destroy();
  assert.deepEqual(
    started.released,
    Array.from({ length: 100 }, (_, index) => index + 1),
  );
});

test('a keep-alive connection made before a reload is answered by the new generation', OPTIONS, async (t) => {
  const started = await fleetFor(t);
  await started.fleet.apply(plan(1, [listener()]));
  const { ask, socket } = await connect(portOf(started));
  assert.equal((await ask('who')).generation, 1);
  await started.fleet.apply(plan(2, [listener()]));
  assert.equal((await ask('who')).generation, 2);
  socket.destroy();
});

test('workers retired under load lose no connection, and their totals move to the base lane', OPTIONS, async (t) => {
  const started = await fleetFor(t);
  await started.fleet.apply(plan(1, [listener()]));
  const load = churn(portOf(started), 16);
  for (let round = 0; round < 4; round += 1) {
    const [first] = started.fleet.status().filter(({ state }) => state === 'serving');
    await started.fleet.retire(first!.lane, 5000);
  }
  const { answered, failures } = await load.stop();
  assert.deepEqual(failures, []);
  await started.event('worker-stopped', 4);
  assert.ok(started.table.facts(0).total(0, FACT_REQUESTS) > 0);
  assert.ok(started.table.sumFactTotals(0, FACT_REQUESTS) >= answered);
});

test('a connection held open outlives the retirement of its worker until the grace period ends', OPTIONS, async (t) => {
  const started = await fleetFor(t, { workers: 1 });
  await started.fleet.apply(plan(1, [listener()]));
  const client = await connect(portOf(started));
  const { lane } = await client.ask('who');
  await started.fleet.retire(lane, 300);
  assert.equal((await client.ask('who')).lane, lane);
  const [successor] = await lanesOf(portOf(started), 1);
  assert.notEqual(successor, lane);
  assert.equal(await client.ended, 'reset');
});

test('a worker that throws resets its clients, is replaced, and leaves nothing in flight', OPTIONS, async (t) => {
  const started = await fleetFor(t);
  await started.fleet.apply(plan(1, [listener()]));
  const port = portOf(started);
  const clients = await Promise.all(Array.from({ length: 20 }, () => connect(port)));
  const lanes = await Promise.all(clients.map(async ({ ask }) => (await ask('who')).lane));
  const victim = lanes[0]!;
  clients[0]!.socket.write('throw\n');
  const ends = await Promise.all(clients.filter((_, index) => lanes[index] === victim).map(({ ended }) => ended));
  assert.deepEqual(new Set(ends), new Set(['reset']));
  await started.event('worker-started', 3);
  assert.equal(started.fleet.restarts().crashes, 1);
  const survivors = clients.filter((_, index) => lanes[index] !== victim);
  assert.equal(started.table.sumFacts(0, FACT_IN_FLIGHT), survivors.length);
  assert.equal(started.table.sumFactTotals(0, FACT_REQUESTS), 20);
  for (const { ask, socket } of survivors) {
    await ask('who');
    socket.destroy();
  }
});

test(
  'clients who connect while their only worker is being replaced are answered by the next one',
  OPTIONS,
  async (t) => {
    const started = await fleetFor(t, { workers: 1 });
    await started.fleet.apply(plan(1, [listener()]));
    const port = portOf(started);
    const victim = await connect(port);
    victim.socket.write('throw\n');
    assert.equal(await victim.ended, 'reset');
    const lanes = await lanesOf(port, 10);
    assert.equal(lanes.length, 10);
  },
);

test('a worker that hangs resets its clients, shows as a hang, and is replaced', OPTIONS, async (t) => {
  const started = await fleetFor(t, { hangTimeoutMs: 1000 });
  await started.fleet.apply(plan(1, [listener()]));
  const port = portOf(started);
  const clients = await Promise.all(Array.from({ length: 20 }, () => connect(port)));
  const lanes = await Promise.all(clients.map(async ({ ask }) => (await ask('who')).lane));
  clients[0]!.socket.write('hang\n');
  const ends = await Promise.all(clients.filter((_, index) => lanes[index] === lanes[0]).map(({ ended }) => ended));
  assert.deepEqual(new Set(ends), new Set(['reset']));
  await started.event('worker-started', 3);
  assert.deepEqual(started.fleet.restarts(), { crashes: 0, hangs: 1 });
  assert.equal(countOf(started.events, 'worker-hung'), 1);
  for (const client of clients.filter((_, index) => lanes[index] !== lanes[0])) {
    await client.ask('who');
    client.socket.destroy();
  }
});

test('a second instance is refused a port that the first holds, in words', OPTIONS, async (t) => {
  const first = await fleetFor(t, { workers: 1 });
  await first.fleet.apply(plan(1, [listener()]));
  const second = await fleetFor(t, { workers: 1 });
  const port = portOf(first);
  await assert.rejects(second.fleet.apply(plan(1, [listener(port)])), (error) => {
    assert.ok(error instanceof ListenError);
    assert.equal(error.code, 'EADDRINUSE');
    assert.match(error.message, new RegExp(`^cannot listen on 127.0.0.1:${port}: address already in use`));
    return true;
  });
  assert.equal((await lanesOf(port, 4)).length, 4);
});

test(
  'a plan that a worker refuses, or whose port is taken, leaves the old one serving everywhere',
  OPTIONS,
  async (t) => {
    const started = await fleetFor(t);
    await started.fleet.apply(plan(1, [listener()]));
    const port = portOf(started);
    await assert.rejects(
      started.fleet.apply(plan(2, [listener()], 'refused')),
      /refused the plan: cannot compile refused/,
    );
    const foreign = net.createServer();
    await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve));
    const taken = (foreign.address() as net.AddressInfo).port;
    await assert.rejects(started.fleet.apply(plan(3, [listener(taken)])), ListenError);
    foreign.close();
    const clients = await Promise.all(Array.from({ length: 16 }, () => connect(port)));
    for (const { ask, socket } of clients) {
      assert.equal((await ask('who')).generation, 1);
      socket.destroy();
    }
  },
);

test('a worker that dies while it stages is left out, and its replacement runs the new plan', OPTIONS, async (t) => {
  const started = await fleetFor(t);
  await started.fleet.apply(plan(1, [listener()]));
  await started.fleet.apply(plan(2, [listener()], 'deadly-once'));
  await started.event('worker-started', 3);
  const clients = await Promise.all(Array.from({ length: 16 }, () => connect(portOf(started))));
  for (const { ask, socket } of clients) {
    assert.equal((await ask('who')).generation, 2);
    socket.destroy();
  }
});

test('a plan that ends every worker is rolled back, and the replacements run the old one', OPTIONS, async (t) => {
  const started = await fleetFor(t);
  await started.fleet.apply(plan(1, [listener()]));
  await assert.rejects(started.fleet.apply(plan(2, [listener()], 'deadly')), /every worker ended/);
  await started.event('worker-started', 4);
  const { ask, socket } = await connect(portOf(started));
  assert.equal((await ask('who')).generation, 1);
  socket.destroy();
});

test('a load while no worker lives comes into force and starts them at once', OPTIONS, async (t) => {
  const started = await fleetFor(t, { workers: 1 });
  await started.fleet.apply(plan(1, [listener()]));
  const port = portOf(started);
  // The second end in a minute makes the replacement wait; the third wait is longer still.
  for (let crashes = 1; crashes <= 4; crashes += 1) {
    const victim = await connect(port);
    victim.socket.write('throw\n');
    await started.event('worker-crashed', crashes);
    if (crashes < 4) await started.event('worker-started', crashes + 1);
  }
  await started.fleet.apply(plan(2, [listener()]));
  const { ask, socket } = await connect(port);
  assert.equal((await ask('who')).generation, 2);
  socket.destroy();
});

test(
  'a listener that a reload removes is closed, one that it adds accepts, connections of the old one go on',
  OPTIONS,
  async (t) => {
    const started = await fleetFor(t);
    await started.fleet.apply(plan(1, [listener()]));
    const oldPort = portOf(started);
    const kept = await connect(oldPort);
    await kept.ask('who');
    const newPort = await freePort();
    await started.fleet.apply(plan(2, [listener(newPort)]));
    assert.equal((await lanesOf(newPort, 4)).length, 4);
    assert.equal((await kept.ask('who')).generation, 2);
    const late = await connect(oldPort);
    assert.equal(await late.ended, 'ECONNREFUSED');
    kept.socket.destroy();
  },
);

test('accept mode shared spreads connections exactly evenly', OPTIONS, async (t) => {
  const started = await fleetFor(t);
  await started.fleet.apply(plan(1, [listener(0, 'shared')]));
  const port = portOf(started);
  const clients: { client: Client; lane: number }[] = [];
  for (let index = 0; index < 20; index += 1) {
    const client = await connect(port);
    clients.push({ client, lane: (await client.ask('who')).lane });
  }
  const lanes = [...new Set(clients.map(({ lane }) => lane))];
  const counts = lanes.map((lane) => clients.filter((one) => one.lane === lane).length);
  for (const { client } of clients) client.socket.destroy();
  assert.deepEqual(counts, [10, 10]);
});

test('accept mode shared loses no connection when workers retire, and goes on when one throws', OPTIONS, async (t) => {
  const started = await fleetFor(t);
  await started.fleet.apply(plan(1, [listener(0, 'shared')]));
  const port = portOf(started);
  const load = churn(port, 16);
  for (let round = 0; round < 3; round += 1) {
    const [first] = started.fleet.status().filter(({ state }) => state === 'serving');
    await started.fleet.retire(first!.lane, 5000);
  }
  const { failures } = await load.stop();
  assert.deepEqual(failures, []);
  const victim = await connect(port);
  victim.socket.write('throw\n');
  assert.equal(await victim.ended, 'reset');
  assert.equal((await lanesOf(port, 10)).length, 10);
});

test('an acceptor that throws is replaced and loses no connection', OPTIONS, async (t) => {
  const started = await fleetFor(t, { acceptorEntry: new URL('./fragile-acceptor.ts', import.meta.url) });
  await started.fleet.apply(plan(1, [listener(0, 'shared')]));
  const load = churn(portOf(started), 8);
  await started.logs('the acceptor thread threw: thrown by the acceptor');
  await started.fleet.apply(plan(2, [listener(0, 'shared')]));
  const { answered, failures } = await load.stop();
  assert.deepEqual(failures, []);
  assert.ok(answered > 0);
});

test('an accept mode changed by a reload keeps the port', OPTIONS, async (t) => {
  const started = await fleetFor(t);
  const port = await freePort();
  await started.fleet.apply(plan(1, [listener(port)]));
  const load = churn(port, 4);
  await started.fleet.apply(plan(2, [listener(port, 'shared')]));
  await started.fleet.apply(plan(3, [listener(port)]));
  await load.stop();
  assert.equal((await lanesOf(port, 8)).length, 8);
});

test('the heartbeat word of every worker moves', OPTIONS, async (t) => {
  const started = await fleetFor(t);
  const beats = (): number[] =>
    started.fleet.status().map(({ lane }) => started.table.lanes.load(lane, LANE_HEARTBEAT));
  const before = beats();
  while (!beats().every((beat, index) => beat > before[index]!))
    await new Promise((resolve) => setTimeout(resolve, 50));
});

test('stop drains, resets what outlives the grace period, and ends', OPTIONS, async () => {
  const started = await startFleet();
  await started.fleet.apply(plan(1, [listener()]));
  const client = await connect(portOf(started));
  await client.ask('who');
  await started.fleet.stop(100);
  assert.equal(await client.ended, 'reset');
  assert.equal(started.table.sumFacts(0, FACT_IN_FLIGHT), 0);
});
