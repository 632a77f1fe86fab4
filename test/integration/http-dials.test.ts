/** Dials that get no answer: what waits for one is bounded, and goes with its client. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FACT_CONNECTIONS, FACT_IN_FLIGHT } from '../../src/shared/state-table/layout.ts';
import { eventually } from '../support/backend.ts';
import { startFullBacklog } from '../support/full-backlog.ts';
import { startPlane } from '../support/plane.ts';
import { openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

const LONG = 'transport http {\ndial_timeout 60s\n}';
const HEAD = 'Host: a\r\n\r\n';

test('a dial is given up when its client has gone', async (t) => {
  const port = await startFullBacklog(t);
  const { plane, port: own } = await startPlane(t, site(proxyTo([{ port }], LONG)), { workers: 1 });
  const clients = await Promise.all(Array.from({ length: 5 }, () => openClient(own)));
  for (const client of clients) client.send(`GET / HTTP/1.1\r\n${HEAD}`);
  await eventually(() => plane.table.sumFacts(0, FACT_IN_FLIGHT) === 5, 'five exchanges');
  assert.equal(plane.table.sumFacts(0, FACT_CONNECTIONS), 5);
  for (const client of clients) client.socket.resetAndDestroy();
  await eventually(() => plane.table.sumFacts(0, FACT_CONNECTIONS) === 0, 'the dials to be given up', 10_000);
  assert.equal(plane.table.sumFacts(0, FACT_IN_FLIGHT), 0);
});

test('a body in chunks of one byte is not read without end while its upstream is dialled', async (t) => {
  const port = await startFullBacklog(t);
  const { port: own } = await startPlane(t, site(proxyTo([{ port }], LONG)), { workers: 1 });
  const before = process.memoryUsage.rss();
  const chunks = Buffer.from('1\r\nx\r\n'.repeat(50_000));
  const clients = await Promise.all(Array.from({ length: 40 }, () => openClient(own)));
  for (const client of clients) client.send(`POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n${HEAD}`).send(chunks);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const growth = process.memoryUsage.rss() - before;
  assert.ok(growth < 40 * 4_000_000, `grew by ${growth} bytes`);
  for (const client of clients) client.close();
});
