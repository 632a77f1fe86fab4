import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import * as net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { udpPeer } from '../support/udp-peer.ts';
import {
  listener,
  plan,
  startFleet,
  udpListener,
  unixListener,
  type TestFleet,
  type TestFleetOptions,
} from './fleet-fixture.ts';

const OPTIONS = { timeout: 60_000 };

async function fleetOf(t: TestContext, options: TestFleetOptions = {}): Promise<TestFleet> {
  const started = await startFleet(options);
  t.after(() => started.fleet.stop(0));
  return started;
}

function portOf({ fleet }: TestFleet, key = 'udp/127.0.0.1:0'): number {
  return fleet.addresses().get(key)!.port;
}

/** Lane and generation of whoever answers a datagram. */
async function ask(t: TestContext, port: number, word = 'who'): Promise<string> {
  const client = await udpPeer(t);
  return String(await client.ask(word, port)).trim();
}

async function askUntil(t: TestContext, port: number, holds: (answer: string) => boolean): Promise<string> {
  return (await udpPeer(t)).askUntil('who', port, holds);
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'holdfast-owned-'));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

async function askUnix(path: string): Promise<string> {
  const socket = net.connect({ path });
  socket.on('error', () => {});
  socket.write('who\n');
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return String(chunk).trim();
}

test('port 0 of a UDP listener is resolved once, and an unchanged listener keeps its socket', OPTIONS, async (t) => {
  const running = await fleetOf(t);
  await running.fleet.apply(plan(1, [udpListener()]));
  const port = portOf(running);
  assert.ok(port > 0);
  const [owner] = (await ask(t, port)).split(' ');
  await running.fleet.apply(plan(2, [udpListener(), listener()]));
  assert.equal(portOf(running), port);
  assert.equal(await ask(t, port), `${owner} 2`);
});

test('UDP listeners are spread over the workers', OPTIONS, async (t) => {
  const running = await fleetOf(t);
  const other = { ...udpListener(), key: 'udp/other:0' };
  await running.fleet.apply(plan(1, [udpListener(), other]));
  const lanes = [await ask(t, portOf(running)), await ask(t, portOf(running, 'udp/other:0'))];
  assert.equal(new Set(lanes).size, 2);
});

test('a UDP port that another process has is refused in words, and nothing changes', OPTIONS, async (t) => {
  const running = await fleetOf(t);
  await running.fleet.apply(plan(1, [udpListener()]));
  const taken = await udpPeer(t);
  await assert.rejects(running.fleet.apply(plan(2, [udpListener(), udpListener(taken.port)])), {
    name: 'ListenError',
    code: 'EADDRINUSE',
    message: new RegExp(
      `^cannot listen on udp/127\\.0\\.0\\.1:${taken.port}: address already in use .*, at Caddyfile:1$`,
    ),
  });
  assert.match(await ask(t, portOf(running)), / 1$/);
});

test('a second instance is refused a UDP port, whichever way the first one shares it', OPTIONS, async (t) => {
  for (const owners of ['one', 'all'] as const) {
    const first = await fleetOf(t);
    await first.fleet.apply(plan(1, [udpListener(0, owners)]));
    const second = await fleetOf(t);
    await assert.rejects(second.fleet.apply(plan(1, [udpListener(portOf(first), owners)])), { code: 'EADDRINUSE' });
  }
});

test('what was bound for a plan that is refused is given back', OPTIONS, async (t) => {
  const running = await fleetOf(t);
  const free = await udpPeer(t);
  const { port } = free;
  const taken = await udpPeer(t);
  free.socket.close();
  await assert.rejects(running.fleet.apply(plan(1, [udpListener(port), udpListener(taken.port)])));
  await udpPeer(t, '127.0.0.1', port);
});

test('a listener that a plan does not have any more gives its port back', OPTIONS, async (t) => {
  const running = await fleetOf(t);
  await running.fleet.apply(plan(1, [udpListener()]));
  const port = portOf(running);
  await running.fleet.apply(plan(2, [listener()]));
  assert.equal(running.fleet.addresses().has('udp/127.0.0.1:0'), false);
  // The answer to the reload does not wait for the worker's.
  for (;;) {
    const bound = await udpPeer(t, '127.0.0.1', port).catch(() => null);
    if (bound !== null) break;
  }
});

test('with `workers all` every worker answers on the one port', OPTIONS, async (t) => {
  const running = await fleetOf(t);
  await running.fleet.apply(plan(1, [udpListener(0, 'all')]));
  const lanes = new Set<string>();
  while (lanes.size < 2) lanes.add(await ask(t, portOf(running)));
});

test('one owner becomes many, and one again, on the same port', OPTIONS, async (t) => {
  const running = await fleetOf(t);
  const { port } = await udpPeer(t).then((peer) => {
    const bound = { port: peer.port };
    peer.socket.close();
    return bound;
  });
  await running.fleet.apply(plan(1, [udpListener(port)]));
  await running.fleet.apply(plan(2, [udpListener(port, 'all')]));
  const lanes = new Set<string>();
  while (lanes.size < 2) lanes.add(await askUntil(t, port, (answer) => answer.trim().endsWith(' 2')));
  await running.fleet.apply(plan(3, [udpListener(port)]));
  assert.match(await askUntil(t, port, (answer) => answer.trim().endsWith(' 3')), / 3/);
});

test("a worker's throw costs only its own listener: the successor binds it anew", OPTIONS, async (t) => {
  const running = await fleetOf(t);
  const other = { ...udpListener(), key: 'udp/other:0' };
  await running.fleet.apply(plan(1, [udpListener(), other]));
  const port = portOf(running);
  const survivor = await udpPeer(t);
  const before = String(await survivor.ask('who', portOf(running, 'udp/other:0')));
  (await udpPeer(t)).send('throw', port);
  await running.event('worker-crashed');
  assert.equal(String(await survivor.ask('who', portOf(running, 'udp/other:0'))), before);
  const [dead] = before.split(' ');
  assert.match(await askUntil(t, port, (answer) => !answer.startsWith(`${dead} `)), / 1/);
  assert.deepEqual(running.fleet.degraded(), []);
});

test('a worker that hangs loses its UDP listener to its successor', OPTIONS, async (t) => {
  const running = await fleetOf(t, { hangTimeoutMs: 1500 });
  await running.fleet.apply(plan(1, [udpListener()]));
  (await udpPeer(t)).send('hang', portOf(running));
  await running.event('worker-hung');
  assert.match(await askUntil(t, portOf(running), () => true), / 1/);
});

test('whoever replaces a worker takes its UDP listener over', OPTIONS, async (t) => {
  const running = await fleetOf(t);
  await running.fleet.apply(plan(1, [udpListener()]));
  const port = portOf(running);
  const before = await ask(t, port);
  await running.fleet.retire(Number(before.split(' ')[0]), 0);
  await askUntil(t, port, (answer) => answer.trim() !== before);
});

test('a Unix listener answers, has the mode it was given, and is taken over by a successor', OPTIONS, async (t) => {
  const path = join(await folder(t), 'in.sock');
  const running = await fleetOf(t);
  await running.fleet.apply(plan(1, [unixListener(path)]));
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  const before = await askUnix(path);
  await running.fleet.apply(plan(2, [unixListener(path)]));
  await running.fleet.retire(Number(before.split(' ')[0]), 0);
  assert.notEqual((await askUnix(path)).split(' ')[0], before.split(' ')[0]);
  await running.fleet.apply(plan(3, [listener()]));
  for (;;) if ((await stat(path).catch(() => null)) === null) break;
});

test(
  'a Unix listener comes back when its worker throws, and what a dead process left is removed',
  OPTIONS,
  async (t) => {
    const path = join(await folder(t), 'in.sock');
    const running = await fleetOf(t);
    await running.fleet.apply(plan(1, [unixListener(path)]));
    const socket = net.connect({ path });
    socket.on('error', () => {});
    socket.write('throw\n');
    await running.event('worker-crashed');
    await running.event('worker-started', 3);
    assert.match(await askUnix(path), / 1$/);
  },
);

test('a Unix path that is in use, or no socket, is refused in words', OPTIONS, async (t) => {
  const path = join(await folder(t), 'in.sock');
  const first = await fleetOf(t);
  await first.fleet.apply(plan(1, [unixListener(path)]));
  const second = await fleetOf(t);
  await assert.rejects(second.fleet.apply(plan(1, [unixListener(path)])), {
    message: `cannot listen on unix/${path}: somebody listens on it (is another server, or another Holdfast, running?), at Caddyfile:1`,
  });
  await writeFile(`${path}.txt`, 'precious');
  await assert.rejects(
    second.fleet.apply(plan(1, [unixListener(`${path}.txt`)])),
    /a file of that name that is no socket/,
  );
});
