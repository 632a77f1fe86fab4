/** What clients over TLS see when a worker fails, and what the port does with bytes that nobody should send. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import fc from 'fast-check';
import { eventually, startScripted } from '../support/backend.ts';
import { TestAuthority } from '../support/certificates.ts';
import { startPlane } from '../support/plane.ts';
import { openClient, type RawClient } from '../support/raw-client.ts';
import { getTls, openTls } from '../support/tls-client.ts';
import { startTlsSite, tlsSiteConfig } from '../support/tls-site.ts';

const OPTIONS = { timeout: 60_000 };
const FAULTY = new URL('../support/faulty-worker.ts', import.meta.url);

/** An upstream that begins a response and goes no further. */
function startStalling(t: TestContext): Promise<{ readonly port: number }> {
  return startScripted(t, (socket, _index, received) => {
    socket.on('data', () => {
      if (!received().includes('\r\n\r\n')) return;
      if (received().startsWith('GET /tunnel'))
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\npart');
      else if (received().startsWith('GET /close')) socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npart');
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart');
    });
  });
}

/** A session with a request under way, as raw frames: settings, then headers of GET https://a.test/. */
async function openHttp2(port: number, options: ConnectionOptions): Promise<RawClient> {
  const { raw, socket } = await openTls(port, { ...options, ALPNProtocols: ['h2'] });
  assert.equal(socket.alpnProtocol, 'h2');
  const settings = '\x00\x00\x00\x04\x00\x00\x00\x00\x00';
  const name = '\x41\x06a.test';
  const headers = `\x82\x87\x84${name}`;
  raw.send(
    `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${settings}\x00\x00${String.fromCharCode(headers.length)}\x01\x05\x00\x00\x00\x01${headers}`,
  );
  await raw.until(() => raw.received.includes('part'));
  return raw;
}

describe('a worker that fails', () => {
  for (const path of ['/throw', '/hang']) {
    test(`${path}: what runs over TLS is reset, never ended`, OPTIONS, async (t) => {
      const upstream = await startStalling(t);
      const authority = await TestAuthority.create(t);
      const leaf = await authority.leaf('a', ['a.test']);
      const config = tlsSiteConfig(authority, leaf, { body: `\treverse_proxy 127.0.0.1:${upstream.port}` });
      const { plane, port, events } = await startPlane(t, config, {
        ...{ workers: 1, workerEntry: FAULTY, hangTimeoutMs: 1000 },
      });
      const trusting = { ca: authority.root.certificate, servername: 'a.test' };
      const requests = [
        'GET /length HTTP/1.1\r\nHost: a.test\r\n\r\n',
        // Towards HTTP/1.0 the end of the connection is the end of the body.
        'GET /close HTTP/1.0\r\nHost: a.test\r\n\r\n',
        'GET /tunnel HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
      ];
      const clients = await Promise.all(
        (['TLSv1.2', 'TLSv1.3'] as const).flatMap((maxVersion) =>
          requests.map(async (request) => {
            const { raw } = await openTls(port, { ...trusting, maxVersion });
            raw.send(request);
            await raw.until(() => raw.received.includes('part'));
            return raw;
          }),
        ),
      );
      clients.push(await openHttp2(port, trusting));
      // Idle, and in the middle of a handshake.
      clients.push((await openTls(port, trusting)).raw);
      const beginner = await openClient(port);
      clients.push(beginner.send('\x16\x03\x01'));
      await eventually(() => plane.upstreams()[0]!.inFlight === 7, 'seven exchanges in flight');

      const culprit = await openClient(port);
      culprit.send(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
      const ends = await Promise.all([...clients, culprit].map((client) => client.ended(20_000)));
      assert.deepEqual(
        ends,
        ends.map(() => 'reset'),
      );
      await eventually(
        () => events.filter(({ type }) => type === 'worker-started').length === 2,
        'a replacement',
        20_000,
      );
      const { raw } = await openTls(port, trusting);
      raw.send(requests[0]!);
      await raw.until(() => raw.received.includes('part'));
      raw.close();
    });
  }
});

describe('bytes that nobody should send', () => {
  test('garbage and damaged ClientHellos end their connection and nothing else', OPTIONS, async (t) => {
    const { port, balancer, trusting } = await startTlsSite(t);
    const hello = await captureHello();
    const damaged = fc
      .array(fc.record({ at: fc.nat(hello.length - 1), byte: fc.nat(255) }), { minLength: 1, maxLength: 6 })
      .map((changes) => {
        const bytes = Buffer.from(hello);
        for (const { at, byte } of changes) bytes[at] = byte;
        return bytes;
      });
    const record = fc.uint8Array({ maxLength: 300 }).map((body) => {
      const header = Buffer.from([22, 3, 1, body.length >> 8, body.length & 0xff]);
      return Buffer.concat([header, body]);
    });
    const garbage = fc.uint8Array({ minLength: 1, maxLength: 600 }).map((bytes) => Buffer.from(bytes));
    const cut = fc.nat(hello.length).map((length) => hello.subarray(0, length));
    const followed = garbage.map((bytes) => Buffer.concat([hello, bytes]));
    await fc.assert(
      fc.asyncProperty(fc.oneof(damaged, record, garbage, cut, followed), async (bytes) => {
        const client = await openClient(port);
        client.socket.end(bytes);
        // A hello that is still whole is answered with a handshake: the end of our half ends it.
        await client.ended(20_000);
      }),
      { numRuns: 150 },
    );
    assert.equal((await getTls(port, trusting)).body, 'ok');
    const metrics = await balancer.metrics();
    assert.doesNotMatch(metrics, /holdfast_worker_restarts_total\{[^}]*\} [1-9]/);
    await eventually(async () => /holdfast_connections_open 0/.test(await balancer.metrics()), 'all to be gone');
  });

  test('damaged records behind a handshake end their connection and nothing else', OPTIONS, async (t) => {
    const { port, balancer, trusting } = await startTlsSite(t);
    for (let round = 0; round < 20; round += 1) {
      const raw = await openThroughDamage(t, port, trusting, round);
      raw.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
      await raw.ended();
      assert.equal(raw.received, '');
    }
    assert.equal((await getTls(port, trusting)).body, 'ok');
    assert.doesNotMatch(await balancer.metrics(), /holdfast_worker_restarts_total\{[^}]*\} [1-9]/);
  });

  test('a handshake that comes byte by byte is whole in the end', OPTIONS, async (t) => {
    const { port, trusting } = await startTlsSite(t);
    const slow = await startRelay(t, port, (chunk, to) => {
      for (const byte of chunk) to.write(Buffer.from([byte]));
    });
    assert.equal((await getTls(slow, trusting)).body, 'ok');
  });
});

/** Port of a relay in front of `port`; `forward` decides what goes on of what a client sends. */
async function startRelay(
  t: TestContext,
  port: number,
  forward: (chunk: Buffer, to: Socket, index: number) => void,
): Promise<number> {
  const sockets = new Set<Socket>();
  const relay = createServer((client) => {
    const server = connectTcp(port, '127.0.0.1').setNoDelay(true);
    let index = 0;
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        server.destroy();
      });
    }
    client.on('data', (chunk: Buffer) => forward(chunk, server, index++));
    server.pipe(client);
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  t.after(() => {
    relay.close();
    for (const socket of sockets) socket.destroy();
  });
  return (relay.address() as AddressInfo).port;
}

/** A connection of TLS whose first record with data has one byte changed on its way. */
async function openThroughDamage(
  t: TestContext,
  port: number,
  options: ConnectionOptions,
  round: number,
): Promise<RawClient> {
  let secure = false;
  const relay = await startRelay(t, port, (chunk, to) => {
    const bytes = Buffer.from(chunk);
    // Not in its header: a longer length would only be waited for.
    if (secure) bytes[5 + ((round * 7) % (bytes.length - 5))]! ^= 1 << (round % 8);
    to.write(bytes);
  });
  const { raw } = await openTls(relay, options);
  // What is left of the handshake of TLS 1.3 is on its way by then.
  await new Promise((resolve) => setTimeout(resolve, 20));
  secure = true;
  return raw;
}

/** The first bytes that a TLS client sends. */
async function captureHello(): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const client = connectTls({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', servername: 'a.test' });
  client.on('error', () => {});
  const [socket] = (await accepted) as [Socket];
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}
