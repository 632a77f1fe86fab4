/** Workers that are replaced on purpose, while clients of every kind are connected to them. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { eventually, startBackend, startScripted } from '../support/backend.ts';
import { failuresOf, startLoad } from '../support/load.ts';
import { startPlane } from '../support/plane.ts';
import { openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };

test('six retirements under load lose no connection, and none of the requests', OPTIONS, async (t) => {
  const backend = await startBackend(t, 'backend');
  const { plane, port, events } = await startPlane(t, site(proxyTo([backend])));
  const clients = Array.from({ length: 16 }, (_, index) => ({
    name: `client ${index}`,
    headers: index % 2 === 0 ? [] : ['Connection: close'],
  }));
  const load = startLoad(port, clients);
  t.after(() => load.stop());
  for (let round = 0; round < 6; round += 1) {
    await load.more(3);
    const oldest = plane.workers().find(({ state }) => state === 'serving');
    await plane.retireWorker(oldest!.lane);
  }
  await load.more(3);
  await load.stop();
  assert.deepEqual(failuresOf(load.answers), []);
  await eventually(() => events.filter(({ type }) => type === 'worker-stopped').length === 6, 'six workers to end');
  assert.equal(plane.workers().length, 2);
  assert.equal(plane.upstreams()[0]!.endpoints[0]!.requestsTotal, load.answers.length);
});

test('a tunnel and a response under way outlive the retirement of their worker', OPTIONS, async (t) => {
  const upstream = await startScripted(t, (socket, _index, received) => {
    let upgraded = false;
    socket.on('data', (chunk: Buffer) => {
      if (upgraded) return void socket.write(chunk);
      if (!received().includes('\r\n\r\n')) return;
      if (received().startsWith('GET /tunnel')) {
        upgraded = true;
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
      } else {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234');
      }
    });
  });
  const { plane, port, events } = await startPlane(t, site(proxyTo([upstream])), { workers: 1 });
  const tunnel = await openClient(port);
  tunnel.send('GET /tunnel HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  assert.equal((await tunnel.response()).status, 101);
  const download = await openClient(port);
  download.send('GET /half HTTP/1.1\r\nHost: a.test\r\n\r\n');
  await download.until(() => download.received.includes('01234'));

  await plane.retireWorker(plane.workers()[0]!.lane);
  const bytes = randomBytes(50_000).toString('latin1');
  tunnel.send(bytes);
  await tunnel.until(() => tunnel.received.length >= bytes.length);
  assert.equal(tunnel.received, bytes);
  upstream.sockets[1]!.write('56789');
  assert.equal((await download.response()).body, '0123456789');
  assert.equal(plane.workers().filter(({ state }) => state === 'retiring').length, 1);
  tunnel.socket.end();
  upstream.sockets[0]!.end();
  download.socket.end();
  await eventually(
    () => events.some(({ type }) => type === 'worker-stopped'),
    'the old worker to end when its work is done',
  );
});
