/** However exchanges end, what counts running ones comes back to zero on every lane. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CHUNK_ROWS,
  FACT_CONNECTIONS,
  FACT_IN_FLIGHT,
  FACT_REQUESTS,
  LANE_CONNECTIONS,
  LANE_EXCHANGES,
  LANE_TUNNELS,
  SERVER_IN_FLIGHT,
} from '../../src/shared/state-table/layout.ts';
import type { Rows, StateTable } from '../../src/shared/state-table/table.ts';
import { eventually, startScripted } from '../support/backend.ts';
import { openClient, type RawClient } from '../support/raw-client.ts';
import { startPlane } from '../support/plane.ts';
import { proxyTo, site } from '../support/site.ts';

/** More for a long run: `EXCHANGES=10000`. */
const EXCHANGES = Number(process.env['EXCHANGES'] ?? 1500);
const CLIENTS = 20;
const BIG = `HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n${'x'.repeat(100_000)}`;

/** What a server does to a request for `/<word>`. */
const ENDINGS: Readonly<Record<string, (socket: Socket) => void>> = {
  '/answer': (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'),
  '/close': (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nuntil the end'),
  '/fin': (socket) => socket.end(),
  '/reset': (socket) => socket.resetAndDestroy(),
  '/cut': (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf', () => socket.resetAndDestroy()),
  '/junk': (socket) => socket.write('what?\r\n\r\n'),
  '/silent': () => {},
  '/big': (socket) => socket.write(BIG),
  '/tunnel': (socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello');
    socket.on('data', (bytes: Buffer) => {
      if (bytes.includes('fin')) socket.end();
      if (bytes.includes('rst')) socket.resetAndDestroy();
    });
  },
};

const TUNNEL = 'GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';
const head = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const post = (path: string, length: number, body: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${body}`;

/** What a client sends, and how it goes; `wait` first lets something come back. */
const VISITS: readonly { readonly sends: string; readonly wait?: string; readonly goes: 'fin' | 'reset' | 'never' }[] =
  [
    { sends: head('/answer').repeat(5), goes: 'fin' },
    { sends: head('/answer').repeat(20), goes: 'reset' },
    { sends: head('/answer'), wait: 'ok', goes: 'reset' },
    { sends: head('/close'), wait: '0\r\n\r\n', goes: 'fin' },
    { sends: head('/fin'), wait: '502', goes: 'fin' },
    { sends: post('/reset', 2, 'hi') + head('/answer'), wait: 'ok', goes: 'fin' },
    { sends: head('/cut'), goes: 'never' },
    { sends: head('/junk'), wait: '502', goes: 'reset' },
    { sends: head('/silent'), goes: 'reset' },
    { sends: head('/silent'), wait: '504', goes: 'fin' },
    { sends: head('/big'), wait: 'xxx', goes: 'reset' },
    { sends: post('/answer', 100_000, 'half of it'), goes: 'reset' },
    { sends: post('/answer', 100_000, 'half of it'), goes: 'fin' },
    { sends: 'POST /answer HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', wait: '400', goes: 'fin' },
    { sends: 'GARBAGE\r\n\r\n', wait: '400', goes: 'fin' },
    { sends: TUNNEL, wait: 'hello', goes: 'reset' },
    { sends: `${TUNNEL}early`, wait: 'hello', goes: 'fin' },
    { sends: `${TUNNEL}fin`, wait: 'hello', goes: 'fin' },
    { sends: `${TUNNEL}rst`, goes: 'never' },
  ];

async function visit(port: number, index: number): Promise<void> {
  const { sends, wait = '', goes } = VISITS[index % VISITS.length]!;
  const client = await openClient(port);
  client.send(sends);
  if (wait !== '') await client.until(() => client.received.includes(wait) || client.end !== undefined);
  await leave(client, goes, index);
}

async function leave(client: RawClient, goes: 'fin' | 'reset' | 'never', index: number): Promise<void> {
  if (goes === 'never') await client.ended();
  await sleep(index % 7);
  if (goes === 'reset') client.socket.resetAndDestroy();
  else client.socket.end(() => client.close());
}

function sum(rows: Rows, words: readonly number[]): number[] {
  return words.map((word) => {
    let total = 0;
    for (let row = 0; row < rows.capacity; row += 1) total += Math.abs(rows.load(row, word));
    return total;
  });
}

/** Running work, of each lane by itself: two lanes must not make up for each other. */
function running(table: StateTable): number[] {
  const lanes = sum(table.lanes, [LANE_CONNECTIONS, LANE_EXCHANGES, LANE_TUNNELS]);
  for (let lane = 0; lane < table.laneCount; lane += 1) {
    lanes.push(...sum(table.facts(lane), [FACT_IN_FLIGHT]), ...sum(table.servers(lane), [SERVER_IN_FLIGHT]));
  }
  return lanes;
}

function requests(table: StateTable): number {
  let total = 0;
  for (let slot = 0; slot < CHUNK_ROWS; slot += 1) total += table.sumFactTotals(slot, FACT_REQUESTS);
  return total;
}

test(
  'aborted, cut, failed, refused, upgraded and finished exchanges leave nothing behind',
  { timeout: 240_000 },
  async (t) => {
    const upstream = await startScripted(t, (socket, _, received) => {
      let taken = 0;
      socket.on('end', () => socket.end());
      socket.on('data', () => {
        for (let end = received().indexOf('\r\n\r\n', taken); end >= 0; end = received().indexOf('\r\n\r\n', taken)) {
          const [, path = ''] = received().slice(taken, end).trim().split(' ');
          taken = end + 4;
          ENDINGS[path]?.(socket);
        }
      });
    });
    const dead = await startScripted(t, (socket) => void socket.resetAndDestroy());
    const options = 'lb_policy round_robin\ntransport http {\nresponse_header_timeout 300ms\n}';
    const { plane, port } = await startPlane(t, site(proxyTo([upstream, dead, { port: 1 }], options)));
    let next = 0;
    const visitor = async (): Promise<void> => {
      while (next < EXCHANGES) await visit(port, next++);
    };
    await Promise.all(Array.from({ length: CLIENTS }, visitor));
    await eventually(() => running(plane.table).every((count) => count === 0), 'nothing to run any more');
    assert.ok(requests(plane.table) > EXCHANGES / 2);
    // What is still open upstream is idle, and known as open.
    let open = 0;
    for (let slot = 0; slot < CHUNK_ROWS; slot += 1) open += plane.table.sumFacts(slot, FACT_CONNECTIONS);
    assert.ok(open <= 2 * 32, `${open} connections upstream`);
  },
);
