/** Slow and departed peers: memory stays bounded, and no connection is left behind. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { site, startBalancer } from '../support/balance.ts';
import { eventually, startScripted } from '../support/backend.ts';
import { openClient, type RawClient } from '../support/raw-client.ts';
import { sampleOf, startRecorder } from '../support/recorder.ts';

const PIECE = Buffer.alloc(1 << 16, 'x');
const STREAMS = 20;
/** The most that all threads of this process may grow by, a few buffers a stream; without a brake it is gigabytes. */
const MAX_GROWTH_BYTES = STREAMS * 4 * 1_048_576;

/** Writes for ever, as fast as the socket takes it; returns what was written so far. */
function flood(socket: Socket): () => number {
  let written = 0;
  const more = (): void => {
    for (let open = true; open && !socket.destroyed && socket.writable; written += PIECE.length)
      open = socket.write(PIECE);
  };
  socket.on('drain', more);
  more();
  return () => written;
}

/** Waits until nothing moves any more. */
async function stalled(total: () => number): Promise<void> {
  let before = -1;
  await eventually(async () => {
    const now = total();
    const still = now === before && now > 0;
    before = now;
    if (!still) await sleep(400);
    return still;
  }, 'the flood to be stopped by backpressure');
}

async function growthWhile(run: () => Promise<void>): Promise<number> {
  const before = process.memoryUsage.rss();
  await run();
  return process.memoryUsage.rss() - before;
}

test('clients that do not read stop the server, within bounded memory, and go without a trace', async (t) => {
  const floods: (() => number)[] = [];
  const upstream = await startRecorder(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n');
    floods.push(flood(socket));
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const clients: RawClient[] = [];
  const growth = await growthWhile(async () => {
    for (let index = 0; index < STREAMS; index += 1) {
      const client = await openClient(balancer.port);
      client.socket.pause();
      clients.push(client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n'));
    }
    await eventually(() => floods.length === STREAMS, 'all requests upstream');
    await stalled(() => floods.reduce((sum, written) => sum + written(), 0));
  });
  assert.ok(growth < MAX_GROWTH_BYTES, `grew by ${growth} bytes`);
  for (const client of clients) client.socket.resetAndDestroy();
  await eventually(() => upstream.open() === 0, 'all connections upstream to be cut');
});

test('a server that does not read stops the clients, within bounded memory', async (t) => {
  const upstream = await startScripted(t, (socket) => socket.pause());
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const clients: RawClient[] = [];
  const growth = await growthWhile(async () => {
    const floods: (() => number)[] = [];
    for (let index = 0; index < STREAMS; index += 1) {
      const client = await openClient(balancer.port);
      clients.push(client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000\r\n\r\n'));
      floods.push(flood(client.socket));
    }
    await stalled(() => floods.reduce((sum, written) => sum + written(), 0));
  });
  assert.ok(growth < MAX_GROWTH_BYTES, `grew by ${growth} bytes`);
  for (const client of clients) client.close();
});

test('a tunnel brakes in both directions', async (t) => {
  const floods: (() => number)[] = [];
  const upstream = await startScripted(t, (socket, _, received) => {
    const start = (): void => {
      if (!received().includes('\r\n\r\n')) return;
      socket.off('data', start).pause();
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
      floods.push(flood(socket));
    };
    socket.on('data', start);
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const clients: RawClient[] = [];
  const growth = await growthWhile(async () => {
    for (let index = 0; index < STREAMS / 2; index += 1) {
      const client = await openClient(balancer.port);
      client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
      await client.until(() => client.received.startsWith('HTTP/1.1 101'));
      client.socket.pause();
      floods.push(flood(client.socket));
      clients.push(client);
    }
    await stalled(() => floods.reduce((sum, written) => sum + written(), 0));
  });
  assert.ok(growth < MAX_GROWTH_BYTES, `grew by ${growth} bytes`);
  for (const client of clients) client.close();
  for (const socket of upstream.sockets) socket.destroy();
  await eventually(async () => sampleOf(await balancer.metrics(), 'holdfast_tunnels_open') === 0, 'all tunnels to end');
});

test('stream_buffer_size lets that much more of a tunnel wait for a client that does not read', async (t) => {
  const floods: (() => number)[] = [];
  const upstream = await startScripted(t, (socket, _, received) => {
    socket.on('data', () => {
      if (!received().endsWith('\r\n\r\n')) return;
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
      floods.push(flood(socket));
    });
  });
  const heldBy = async (option: string): Promise<number> => {
    const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port} {\n${option}\n}`));
    const client = await openClient(balancer.port);
    client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    await client.until(() => client.received.startsWith('HTTP/1.1 101'));
    client.socket.pause();
    const before = client.received.length;
    await stalled(() => floods.at(-1)!());
    // What waits comes when the client reads again.
    const held = floods.at(-1)!() - before;
    client.socket.resume();
    await client.until(() => client.received.length > held);
    client.close();
    return held;
  };
  const usual = await heldBy('');
  const more = await heldBy('stream_buffer_size 32MiB');
  assert.ok(more - usual > 16 * 1_048_576, `${more} bytes waited, ${usual} without the option`);
});

for (const how of ['reset', 'close'] as const) {
  test(`clients that leave by ${how} after the header leave no connection upstream`, async (t) => {
    const upstream = await startRecorder(t, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      const timer = setInterval(() => socket.write('1\r\nx\r\n'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
    for (let round = 0; round < 10; round += 1) {
      const clients = await Promise.all(Array.from({ length: 20 }, () => openClient(balancer.port)));
      await Promise.all(
        clients.map(async (client) => {
          client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
          await client.until(() => client.received.includes('\r\n\r\n'));
          if (how === 'reset') client.socket.resetAndDestroy();
          else client.close();
        }),
      );
    }
    assert.equal(upstream.requests.length, 200);
    await eventually(() => upstream.open() === 0, 'no connection upstream');
    const page = await balancer.metrics();
    assert.equal(sampleOf(page, `holdfast_upstream_connections_open{upstream="127.0.0.1:${upstream.port}"}`), 0);
    assert.match(page, /^holdfast_http_requests_active\{.*\} 0$/m);
    assert.match(page, /^holdfast_http_requests_aborted_total\{.*\} 200$/m);
  });
}

test('a client that leaves while the server thinks takes its request along', async (t) => {
  const upstream = await startRecorder(t, () => {});
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await eventually(() => upstream.requests.length === 1, 'the request upstream');
  client.socket.resetAndDestroy();
  await eventually(() => upstream.open() === 0, 'the connection upstream to be cut');
});

test('a slow server is passed on as it speaks: the header before any body, each event by itself', async (t) => {
  const upstream = await startRecorder(t, (socket) => {
    socket.write(
      'HTTP/1.1 200 OK\r\nContent-Type: TEXT/Event-Stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.until(() => client.received.endsWith('\r\n\r\n'));
  client.received = '';
  for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
    upstream.sockets[0]!.write(`${event.length.toString(16)}\r\n${event}\r\n`);
    // The next event is sent only when this one is here.
    await client.until(() => client.received.endsWith(`${event}\r\n`));
  }
  client.close();
  await eventually(() => upstream.open() === 0, 'the stream to end');
});
