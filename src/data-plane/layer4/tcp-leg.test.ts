import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, startScripted } from '../../../test/support/backend.ts';
import { PlainUpstreamLeg, type UpstreamLegOwner } from './tcp-leg.ts';

/** A connection to a server, and what is told of it. */
async function dial(port: number) {
  const told: string[] = [];
  const connected = Promise.withResolvers<void>();
  const owner: UpstreamLegOwner = {
    onDialled: () => connected.resolve(),
    onDialFailed: (_leg, code) => connected.reject(new Error(code)),
    onWriteFailed: () => void told.push('write failed'),
    onLegRead: () => {},
    onLegDrained: () => {},
    onLegClosed: (_leg, broken) => void told.push(broken ? 'broken' : 'closed'),
  };
  const sink = {
    onTunnelData: (buffer: Buffer, start: number, end: number) => {
      told.push(buffer.toString('latin1', start, end));
      return true;
    },
    onTunnelFin: () => void told.push('fin'),
    onTunnelReset: () => {},
    onTunnelDrain: () => {},
  };
  const endpoint = { slot: 0, check: -1, host: '127.0.0.1', port };
  const leg = new PlainUpstreamLeg(endpoint, undefined, Buffer.alloc(1024), owner, sink);
  await connected.promise;
  return { leg, told };
}

test('the last words of a server that takes nothing more are heard before the connection counts as broken', async (t) => {
  const server = await startScripted(t, (socket) => {
    socket.on('data', () => socket.write('enough', () => socket.resetAndDestroy()));
  });
  const { leg, told } = await dial(server.port);
  leg.pause();
  leg.writeRaw(Buffer.from('x'), 0, 1, true);
  await eventually(() => server.sockets[0]?.destroyed === true, 'the reset');
  // Fails: the reset is here already, and so are the words before it.
  for (let nth = 0; nth < 3; nth += 1) {
    leg.writeRaw(Buffer.from('more'), 0, 4, true);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(told, ['write failed']);
  leg.resume();
  await eventually(() => told.includes('enough'), 'the words');
  leg.close();
  await eventually(() => told.length === 3, 'the end');
  assert.deepEqual(told, ['write failed', 'enough', 'broken']);
});

test('an end of the server is none of the connection', async (t) => {
  const server = await startScripted(t, (socket) => socket.end('bye'));
  const { leg, told } = await dial(server.port);
  await eventually(() => told.length === 2, 'words and FIN');
  leg.writeRaw(Buffer.from('still here'), 0, 10, false);
  await eventually(() => server.received[0] === 'still here', 'our words');
  assert.deepEqual(told, ['bye', 'fin']);
  leg.finishRaw();
  await eventually(() => told.length === 3, 'the close');
  assert.deepEqual(told, ['bye', 'fin', 'closed']);
});
