import assert from 'node:assert/strict';
import { once } from 'node:events';
import http, { type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { checkSpec, config, poolSpec } from '../../../test/support/upstreams-world.ts';
import { systemClock } from '../../shared/clock.ts';
import { seededRandom } from '../../shared/random.ts';
import { StateTable } from '../../shared/state-table/table.ts';
import type { ControlEvent } from '../types.ts';
import { Upstreams } from './upstreams.ts';

async function listen(port: number, handler: http.RequestListener): Promise<Server> {
  const server = http.createServer(handler).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function start() {
  const waiting: { wanted: (event: ControlEvent) => boolean; seen: (event: ControlEvent) => void }[] = [];
  const events: ControlEvent[] = [];
  const upstreams = new Upstreams({
    table: new StateTable(),
    clock: systemClock,
    random: seededRandom(3),
    onChunk: () => {},
    onEndpoints: () => {},
    onMembers: () => {},
    onForgetDerived: () => undefined,
    onForget: () => {},
    onCut: () => {},
    onCutPool: () => {},
    onEvent: (event) => {
      events.push(event);
      for (const one of waiting) if (one.wanted(event)) one.seen(event);
    },
  });
  const until = (type: ControlEvent['type']): Promise<ControlEvent> =>
    new Promise((seen) => waiting.push({ wanted: (event) => event.type === type, seen }));
  return { upstreams, events, until };
}

test('real servers: one dies, is told down, comes back, is told up', { timeout: 60_000 }, async () => {
  const { upstreams, until } = start();
  const kept = await listen(0, (_, response) => response.end('ok'));
  const dying = await listen(0, (_, response) => response.end('ok'));
  const alive = setInterval(() => {}, 1000);
  const [keptPort, port] = [kept, dying].map((server) => (server.address() as AddressInfo).port);
  const check = checkSpec({ http: { uri: '/healthz' }, intervalMs: 50, timeoutMs: 5000, rise: 2, fall: 2 });
  await upstreams.prepare(1, config(poolSpec('p', [`127.0.0.1:${keptPort}`, `localhost:${port}`], { check })));
  upstreams.activate(1);

  const down = until('server-down');
  // localhost may have an IPv6 address too, where nobody listens: that one goes down in any case.
  dying.closeAllConnections();
  dying.close();
  while (upstreams.status()[1]!.state !== 'down') await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal((await down).fields['reason'], 'CONNECT_FAILED');
  assert.equal(upstreams.status()[0]!.state, 'up');

  const up = until('server-up');
  const reborn = await listen(port!, (_, response) => response.end('ok'));
  assert.equal((await up).fields['address'], `127.0.0.1:${port}`);
  assert.equal(upstreams.status()[1]!.state, 'up');
  upstreams.stop();
  clearInterval(alive);
  for (const server of [kept, reborn]) {
    server.closeAllConnections();
    server.close();
  }
});

test(
  'a server that hangs from the start is used until its first result and down after it',
  { timeout: 60_000 },
  async () => {
    const { upstreams, until } = start();
    const hung = await listen(0, () => {});
    const alive = setInterval(() => {}, 1000);
    const { port } = hung.address() as AddressInfo;
    const check = checkSpec({ intervalMs: 100, timeoutMs: 300 });
    await upstreams.prepare(1, config(poolSpec('p', [`127.0.0.1:${port}`], { check })));
    upstreams.activate(1);
    assert.equal(upstreams.status()[0]!.state, 'up');
    const down = await until('server-down');
    assert.equal(down.fields['reason'], 'RECV_RESPONSE_TIMEOUT');
    assert.equal(upstreams.status()[0]!.state, 'down');
    upstreams.stop();
    clearInterval(alive);
    hung.closeAllConnections();
    hung.close();
  },
);
