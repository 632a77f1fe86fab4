import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inheritedPort, listenOnInherited } from '../../src/control-plane/listeners/inherited.ts';
import { descriptorOf, openListeningSocket } from '../support/listening-socket.ts';

const LINUX = { skip: process.platform !== 'linux' && 'the system does not tell' };
const LOSER = fileURLToPath(new URL('lose-inherited.ts', import.meta.url));
const REFUSAL = /: the descriptor is no listening TCP socket .*, at Caddyfile:3$/;

test('a listening socket is known by its port, over IPv4 and IPv6', LINUX, async (t) => {
  const { fd, port } = await openListeningSocket(t);
  assert.equal(await inheritedPort({ fd, place: '' }), port);
  const server = createServer().listen(0, '::1');
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  assert.equal(await inheritedPort({ fd: descriptorOf(server), place: '' }), address.port);
});

test('a socket that is connected, a file and a closed descriptor are refused', LINUX, async (t) => {
  const server = createServer((socket) => void socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const socket = connect(address.port, '127.0.0.1');
  t.after(() => {
    socket.destroy();
    server.close();
  });
  await once(socket, 'connect');
  const { fd: connected } = (socket as unknown as { readonly _handle: { readonly fd: number } })._handle;
  const file = openSync('/dev/null', 'r');
  t.after(() => closeSync(file));
  for (const fd of [connected, file, 999_999]) {
    await assert.rejects(inheritedPort({ fd, place: 'Caddyfile:3' }), { name: 'ListenError', message: REFUSAL });
  }
});

test('what the system does not tell about is refused when it cannot be adopted', async () => {
  const file = openSync('/dev/null', 'r');
  await assert.rejects(listenOnInherited({ fd: file, place: 'Caddyfile:3' }), {
    name: 'ListenError',
    message: REFUSAL,
  });
  closeSync(file);
});

test('an inherited socket that is lost with its thread is told once and never opened again', async (t) => {
  const { fd } = await openListeningSocket(t);
  const child = spawn(process.execPath, [LOSER], { stdio: ['ignore', 'pipe', 'inherit', fd] });
  const [output] = await Promise.all([text(child.stdout!), once(child, 'exit')]);
  const { before, lost, logged } = JSON.parse(output) as Record<'before' | 'lost' | 'logged', string[]>;
  const [sentence = ''] = lost;
  assert.match(sentence, /^the inherited socket fd\/3 ended with the thread that accepted on it/);
  assert.deepEqual({ before, lost, logged }, { before: [], lost: [sentence], logged: [`error: ${sentence}`] });
});
