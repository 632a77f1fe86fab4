import assert from 'node:assert/strict';
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { FakeClock } from '../../test/support/fake-clock.ts';
import {
  LIMIT_CONNECTIONS,
  LIMIT_CONNECTIONS_PER_SOURCE,
  SERVER_CONNECTIONS,
  SERVER_LIMITS,
} from '../shared/state-table/layout.ts';
import { StateTable } from '../shared/state-table/table.ts';
import { Admission } from './admission.ts';

const ROW = 3;

async function start(t: TestContext, host = '127.0.0.1') {
  const table = new StateTable();
  for (const lane of [1, 2]) table.grow('server', lane, ROW);
  const clock = new FakeClock();
  const admission = new Admission({ clock, table, lane: 1 });
  const other = new Admission({ clock, table, lane: 2 });
  const server = net.createServer({ allowHalfOpen: true }).listen(0, host);
  await once(server, 'listening');
  const sockets: Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const accept = async (localAddress?: string): Promise<{ accepted: Socket; client: Socket }> => {
    const { port } = server.address() as AddressInfo;
    const client = net.connect({ host, port, ...(localAddress === undefined ? {} : { localAddress }) });
    client.on('error', () => {});
    const [accepted] = (await once(server, 'connection')) as [Socket];
    accepted.on('error', () => {});
    sockets.push(client, accepted);
    return { accepted, client };
  };
  const hits = (limit: number): number => table.servers(1).total(ROW, SERVER_LIMITS + limit);
  return { table, clock, admission, other, accept, hits };
}

async function readAll(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

test('the total counts the connections of all workers, and a place given back is taken again', async (t) => {
  const { table, admission, other, accept, hits } = await start(t);
  const limits = { total: 2, perSource: 0 };
  const first = admission.admit(ROW, limits, (await accept()).accepted);
  assert.ok(first !== null);
  assert.ok(other.admit(ROW, limits, (await accept()).accepted) !== null);
  const refused = await accept();
  assert.equal(admission.admit(ROW, limits, refused.accepted), null);
  assert.match(await readAll(refused.client), /^HTTP\/1\.1 503 Service Unavailable\r\n[\s\S]*Connection: close\r\n/);
  assert.equal(hits(LIMIT_CONNECTIONS), 1);
  admission.leave(first);
  assert.ok(admission.admit(ROW, limits, (await accept()).accepted) !== null);
  assert.equal(table.servers(1).load(ROW, SERVER_CONNECTIONS), 1);
});

test('a source is an IPv4 address, and another one has places of its own', async (t) => {
  const { admission, accept, hits } = await start(t);
  const limits = { total: 0, perSource: 1 };
  const place = admission.admit(ROW, limits, (await accept('127.0.3.1')).accepted);
  assert.ok(place !== null);
  assert.equal(admission.admit(ROW, limits, (await accept('127.0.3.1')).accepted), null);
  assert.ok(admission.admit(ROW, limits, (await accept('127.0.3.2')).accepted) !== null);
  assert.equal(hits(LIMIT_CONNECTIONS_PER_SOURCE), 1);
  admission.leave(place);
  assert.ok(admission.admit(ROW, limits, (await accept('127.0.3.1')).accepted) !== null);
});

test('IPv6 sources are told apart by their first 64 bits', async (t) => {
  const { admission, accept } = await start(t);
  const limits = { total: 0, perSource: 1 };
  const from = async (address: string): Promise<Socket> => {
    const { accepted } = await accept();
    Object.defineProperty(accepted, 'remoteAddress', { value: address });
    return accepted;
  };
  assert.ok(admission.admit(ROW, limits, await from('2001:db8:0:1::1')) !== null);
  assert.equal(admission.admit(ROW, limits, await from('2001:db8:0:1:ffff::2')), null);
  assert.ok(admission.admit(ROW, limits, await from('2001:db8:0:2::1')) !== null);
  assert.ok(admission.admit(ROW, limits, await from('::ffff:10.0.0.1')) !== null);
  assert.equal(admission.admit(ROW, limits, await from('10.0.0.1')), null);
});

test('a refused client that never closes is reset after a second', async (t) => {
  const { clock, admission, accept } = await start(t);
  const limits = { total: 1, perSource: 0 };
  admission.admit(ROW, limits, (await accept()).accepted);
  const stubborn = await accept();
  stubborn.client.allowHalfOpen = true;
  assert.equal(admission.admit(ROW, limits, stubborn.accepted), null);
  const closed = once(stubborn.accepted, 'close');
  await clock.advance(1000);
  await closed;
});

test('beyond 64 answers at a time a refused connection is reset without one', async (t) => {
  const { admission, accept, hits } = await start(t);
  const limits = { total: 1, perSource: 0 };
  admission.admit(ROW, limits, (await accept()).accepted);
  const refused: Socket[] = [];
  for (let count = 0; count < 65; count += 1) {
    const { accepted, client } = await accept();
    client.pause();
    client.allowHalfOpen = true;
    refused.push(client);
    admission.admit(ROW, limits, accepted);
  }
  assert.equal(hits(LIMIT_CONNECTIONS), 65);
  const ends = Promise.all(refused.map((client) => readAll(client).catch(() => 'reset')));
  admission.resetAll();
  const last = (await ends).at(-1);
  assert.equal(last, 'reset');
});
