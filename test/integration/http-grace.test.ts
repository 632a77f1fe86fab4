/** The end of the grace period: what is cut then is seen as cut, and written down. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBalancer } from '../support/balance.ts';
import { eventually, startScripted } from '../support/backend.ts';
import { openClient } from '../support/raw-client.ts';
import { site } from '../support/site.ts';

const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';

test('what the grace period cuts leaves its access lines: an exchange and a tunnel', async (t) => {
  const upstream = await startScripted(t, (socket, _, received) => {
    socket.on('data', () => {
      if (received().includes('Upgrade: x')) socket.write(SWITCHED);
    });
  });
  const balancer = await startBalancer(t, site(`\treverse_proxy 127.0.0.1:${upstream.port}`));
  const tunnel = await openClient(balancer.port);
  tunnel.send('GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  assert.equal((await tunnel.response()).status, 101);
  const silent = await openClient(balancer.port);
  silent.send('GET /silent HTTP/1.1\r\nHost: a\r\n\r\n');
  await eventually(() => upstream.received.length === 2 && upstream.received[1] !== '', 'both upstream');
  await balancer.stop(200);
  assert.deepEqual([await tunnel.ended(), await silent.ended()], ['reset', 'reset']);
  const lines = balancer.accessLines.map(({ target, status }) => `${String(target)} ${String(status)}`).sort();
  assert.deepEqual(lines, ['/silent 499', '/tunnel 101']);
});
