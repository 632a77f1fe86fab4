/** Limits on messages and connections: what happens at the limit, one below it, and that each hit is counted. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMIT_NAMES, SERVER_LIMITS } from '../../src/shared/state-table/layout.ts';
import type { ControlPlane } from '../../src/control-plane/types.ts';
import { eventually, startBackend } from '../support/backend.ts';
import { startPlane } from '../support/plane.ts';
import { get, openClient } from '../support/raw-client.ts';
import { site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000, concurrency: true };
const HELLO = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

function hits(plane: ControlPlane, limit: string): number {
  const [row] = plane.serverRows().values();
  let sum = 0;
  for (let lane = 0; lane < plane.table.laneCount; lane += 1) {
    const rows = plane.table.servers(lane);
    if (rows.capacity > row!) sum += rows.total(row!, SERVER_LIMITS + LIMIT_NAMES.indexOf(limit));
  }
  return sum;
}

function limited(lines: string, body = 'respond "hello"'): string {
  return site(body, { servers: `limits {\n${lines}\n}` });
}

describe('limits', OPTIONS, () => {
  test('connections: all workers together; one more gets 503 and the end, a free place is used again', async (t) => {
    const { plane, port } = await startPlane(t, limited('connections 4'));
    const clients = await Promise.all(Array.from({ length: 4 }, () => openClient(port)));
    for (const client of clients) assert.equal((await client.send(HELLO).response()).status, 200);
    for (let index = 0; index < 3; index += 1) {
      const refused = await openClient(port);
      assert.equal((await refused.response()).status, 503);
      assert.equal(await refused.ended(), 'fin');
    }
    assert.equal(hits(plane, 'connections'), 3);
    clients[0]!.socket.destroy();
    await eventually(async () => (await get(port)).status === 200, 'the place to be free');
    assert.equal((await clients[1]!.send(HELLO).response()).status, 200);
    for (const client of clients) client.socket.destroy();
  });

  test('connections_per_source: one client that takes all its places takes none of the others', async (t) => {
    const { plane, port } = await startPlane(t, limited('connections_per_source 2'), { workers: 1 });
    const greedy = await Promise.all([openClient(port, '127.0.9.1'), openClient(port, '127.0.9.1')]);
    for (const client of greedy) assert.equal((await client.send(HELLO).response()).status, 200);
    const third = await openClient(port, '127.0.9.1');
    assert.equal((await third.response()).status, 503);
    assert.equal((await get(port, '/', {}, '127.0.9.2')).status, 200);
    assert.equal(hits(plane, 'connections_per_source'), 1);
    for (const client of greedy) client.socket.destroy();
    await eventually(async () => (await get(port, '/', {}, '127.0.9.1')).status === 200, 'its places to be free');
  });

  test('a flood over the limit leaves no connection behind and the server serves on', async (t) => {
    const { plane, port } = await startPlane(t, limited('connections 2'));
    const kept = await openClient(port);
    assert.equal((await kept.send(HELLO).response()).status, 200);
    const flood = await Promise.allSettled(Array.from({ length: 300 }, () => openClient(port)));
    const open = flood.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    for (const client of open) client.socket.end();
    await Promise.all(open.map((client) => client.ended(20_000)));
    assert.ok(hits(plane, 'connections') > 100);
    assert.equal((await kept.send(HELLO).response()).status, 200);
    kept.socket.destroy();
    await eventually(async () => (await get(port)).status === 200, 'a place to be free');
  });

  test('a reload changes the limit for new connections', async (t) => {
    const { port, reload } = await startPlane(t, limited('connections 1'));
    const first = await openClient(port);
    assert.equal((await first.send(HELLO).response()).status, 200);
    assert.equal((await get(port)).status, 503);
    await reload(limited('connections 2'));
    assert.equal((await get(port)).status, 200);
    await reload(site('respond "hello"'));
    const more = await Promise.all([get(port), get(port), get(port)]);
    assert.deepEqual(
      more.map(({ status }) => status),
      [200, 200, 200],
    );
    first.socket.destroy();
  });

  test('a worker that crashes gives its places back', async (t) => {
    const workerEntry = new URL('../support/faulty-worker.ts', import.meta.url);
    const { port } = await startPlane(t, limited('connections 2'), { workers: 1, workerEntry });
    const clients = await Promise.all([openClient(port), openClient(port)]);
    for (const client of clients) assert.equal((await client.send(HELLO).response()).status, 200);
    clients[0].send('GET /throw HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.equal(await clients[1].ended(), 'reset');
    await eventually(async () => {
      const again = await Promise.all([openClient(port), openClient(port)]);
      const answers = await Promise.all(again.map((client) => client.send(HELLO).response()));
      for (const client of again) client.socket.destroy();
      return answers.every(({ status }) => status === 200);
    }, 'both places to be free');
  });

  test('requests_per_connection: the last one says so and the connection ends', async (t) => {
    const { plane, port } = await startPlane(t, limited('requests_per_connection 3'));
    const client = await openClient(port);
    const answers = [];
    for (let index = 0; index < 3; index += 1) answers.push(await client.send(HELLO).response());
    assert.deepEqual(
      answers.map((answer) => answer.header('connection')),
      [undefined, undefined, 'close'],
    );
    assert.equal(await client.ended(), 'fin');
    assert.equal(hits(plane, 'requests_per_connection'), 1);
  });

  test('header_fields: as many lines pass, one more is 431', async (t) => {
    const { plane, port } = await startPlane(t, limited('header_fields 10'));
    const request = (lines: number): string =>
      `GET / HTTP/1.1\r\nHost: a\r\n${Array.from({ length: lines - 1 }, (_, at) => `X-${at}: 1\r\n`).join('')}\r\n`;
    const passing = await openClient(port);
    assert.equal((await passing.send(request(10)).response()).status, 200);
    assert.equal((await passing.send(request(11)).response()).status, 431);
    assert.equal(hits(plane, 'header_fields'), 1);
  });

  test('each limit of a message is counted under its own name', async (t) => {
    const backend = await startBackend(t, 'one');
    const { plane, port } = await startPlane(t, site(`reverse_proxy 127.0.0.1:${backend.port}`));
    const post = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    const requests: readonly (readonly [string, number, string])[] = [
      ['header_bytes', 431, `GET / HTTP/1.1\r\nHost: a\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`],
      ['request_line', 414, `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
      ['chunk_extensions', 413, `${post}1;${'a'.repeat(5000)}\r\nx\r\n0\r\n\r\n`],
      ['trailers', 431, `${post}0\r\nX-Long: ${'a'.repeat(9000)}\r\n\r\n`],
    ];
    for (const [limit, status, request] of requests) {
      const client = await openClient(port);
      assert.equal((await client.send(request).response()).status, status, limit);
      assert.equal(hits(plane, limit), 1, limit);
    }
  });
});
