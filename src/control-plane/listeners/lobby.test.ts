import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as net from 'node:net';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../shared/clock.ts';
import { silentLogger } from '../../shared/log.ts';
import { Lobby, type SocketTaker } from './lobby.ts';

async function parked(t: TestContext, lobby: Lobby): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  lobby.park('tcp/test', server);
  return (server.address() as net.AddressInfo).port;
}

/** Answers every socket it is given with its first bytes. */
const echo: SocketTaker = {
  takeSocket(_key, socket) {
    socket.on('error', () => {});
    socket.once('data', (chunk) => socket.end(chunk));
  },
};

function ask(port: number, word: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(word));
    socket.on('data', (chunk) => resolve(String(chunk)));
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
  });
}

test('sockets wait, with what their clients sent, until somebody serves', async (t) => {
  let taker: SocketTaker | null = null;
  const waiting = Promise.withResolvers<void>();
  const lobby = new Lobby(() => {
    waiting.resolve();
    return taker;
  }, silentLogger);
  const answer = ask(await parked(t, lobby), 'early');
  await waiting.promise;
  taker = { takeSocket: (key, socket) => (echo.takeSocket(key, socket), void socket.resume()) };
  lobby.flush();
  assert.equal(await answer, 'early');
});

test('sockets that wait are reset when nobody will come', async (t) => {
  const waiting = Promise.withResolvers<void>();
  const lobby = new Lobby(() => {
    setImmediate(waiting.resolve);
    return null;
  }, silentLogger);
  const answer = ask(await parked(t, lobby), 'late');
  await waiting.promise;
  lobby.clear();
  assert.equal(await answer, 'ECONNRESET');
});

test('a whole backlog is passed on before the lobby has settled', async (t) => {
  let taken = 0;
  const lobby = new Lobby(
    () => ({ takeSocket: (_key, socket) => void ((taken += 1), socket.destroy()) }),
    silentLogger,
  );
  const port = await parked(t, lobby);
  const clients = Array.from({ length: 20 }, () => net.connect(port, '127.0.0.1'));
  // The kernel completes a connection on its own: the clients see it before this thread has accepted one.
  await Promise.all(clients.map((client) => once(client, 'connect')));
  await lobby.settle(systemClock);
  assert.equal(taken, clients.length);
  for (const client of clients) client.destroy();
});
