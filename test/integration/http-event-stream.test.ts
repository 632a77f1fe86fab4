/** Server-sent events: a client that closed its connection has left, whichever way it did. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { eventually } from '../support/backend.ts';
import { site, startBalancer } from '../support/balance.ts';
import { openClient } from '../support/raw-client.ts';
import { assertNoRestarts, startRecorder } from '../support/recorder.ts';

const REQUEST = 'GET /events HTTP/1.1\r\nHost: a\r\n\r\n';
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';

test('a client that closes ends a quiet stream at the server', async (t) => {
  const upstream = await startRecorder(t, (socket) => void socket.write(HEAD));
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  for (const leave of [(socket: Socket) => socket.end(), (socket: Socket) => socket.resetAndDestroy()]) {
    const client = await openClient(balancer.port);
    client.send(REQUEST);
    await client.until(() => client.received.includes('\r\n\r\n'));
    assert.equal(upstream.open(), 1);
    leave(client.socket);
    await eventually(() => upstream.open() === 0, 'the end of the stream');
    client.close();
  }
  assertNoRestarts(await balancer.metrics());
});

test('a client that closed before the stream began ends it when it begins', async (t) => {
  const sockets: Socket[] = [];
  const upstream = await startRecorder(t, (socket) => sockets.push(socket));
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.send(REQUEST).socket.end();
  await eventually(() => sockets.length === 1, 'the request');
  sockets[0]!.write(`${HEAD}9\r\ndata: 1\n\n\r\n`);
  await eventually(() => upstream.open() === 0, 'the end of the stream');
  client.close();
  assertNoRestarts(await balancer.metrics());
});

test('an answer behind a stream on the same connection is still owed to a client that half-closes', async (t) => {
  const upstream = await startRecorder(t, (socket, { line }) => {
    socket.write(line.includes('/events') ? `${HEAD}0\r\n\r\n` : HEAD.replace('event-stream', 'plain'));
    if (!line.includes('/events')) setTimeout(() => socket.write('4\r\nlate\r\n0\r\n\r\n'), 50);
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  assert.equal((await client.send(REQUEST).response()).body, '');
  client.send('GET /plain HTTP/1.1\r\nHost: a\r\n\r\n').socket.end();
  assert.equal((await client.response()).body, 'late');
  client.close();
});
