/** Requests that break off on their way to an HTTP/2 upstream: frame by frame, none of them may look whole. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  FrameClient,
  HEADERS,
  PREFACE,
  RST_STREAM,
  SETTINGS,
  setting,
  uint32,
} from '../support/http2-frames.ts';
import { openClient } from '../support/raw-client.ts';

const TIMEOUT = { timeout: 10_000 };
/** A head with `:status: 200` alone. */
const STATUS_200 = Buffer.from([0x88]);
const SIZED = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf';
const UNSIZED = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n';

interface Upstream {
  readonly port: number;
  /** Of the first connection. */
  readonly peer: Promise<FrameClient>;
}

/** A server that says its settings and nothing else. */
async function startFrames(t: TestContext, settings: Buffer = Buffer.alloc(0)): Promise<Upstream> {
  const { promise: peer, resolve } = Promise.withResolvers<FrameClient>();
  const server = createServer((socket: Socket) => {
    socket.on('error', () => undefined);
    t.after(() => void socket.destroy());
    socket.once('readable', () => {
      socket.read(PREFACE.length);
      resolve(new FrameClient(socket).raw(frame(SETTINGS, 0, 0, settings)));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  return { port: (server.address() as AddressInfo).port, peer };
}

function front(t: TestContext, port: number, transport = ''): Promise<TestBalancer> {
  return startBalancer(t, site(`reverse_proxy h2c://127.0.0.1:${port} {\ntransport http {\n${transport}\n}\n}`));
}

/** What was sent on the only stream after its head. */
function written({ frames }: FrameClient): string[] {
  const own = frames.filter(({ stream, type }) => stream !== 0 && (type <= HEADERS || type === RST_STREAM));
  return own.map(({ type, flags, payload }) => {
    const name = type === DATA ? `DATA ${payload.length}` : type === HEADERS ? 'HEADERS' : 'RST_STREAM';
    return type !== RST_STREAM && (flags & END_STREAM) !== 0 ? `${name} END_STREAM` : name;
  });
}

for (const [what, request] of [
  ['with a length', SIZED],
  ['without a length', UNSIZED],
] as const) {
  test(`the request of a client that leaves is reset upstream, ${what}`, TIMEOUT, async (t) => {
    const upstream = await startFrames(t);
    const balancer = await front(t, upstream.port);
    const client = await openClient(balancer.port);
    client.send(request);
    const peer = await upstream.peer;
    await peer.next(({ type }) => type === DATA);
    client.socket.destroy();
    await peer.next(({ type }) => type === RST_STREAM);
    assert.deepEqual(written(peer), ['HEADERS', 'DATA 4', 'RST_STREAM']);
  });

  test(`a request that is answered early is reset, not ended, ${what}`, TIMEOUT, async (t) => {
    const upstream = await startFrames(t);
    const balancer = await front(t, upstream.port);
    const client = await openClient(balancer.port);
    client.send(request);
    const peer = await upstream.peer;
    const { stream } = await peer.next(({ type }) => type === DATA);
    peer.send(HEADERS, END_HEADERS | END_STREAM, stream, STATUS_200);
    assert.equal((await client.response()).status, 200);
    await peer.next(({ type }) => type === RST_STREAM);
    assert.deepEqual(written(peer), ['HEADERS', 'DATA 4', 'RST_STREAM']);
  });

  test(`a request whose server reads nothing more is reset, not ended, ${what}`, TIMEOUT, async (t) => {
    // Streams begin with a window of 2 bytes, which is never widened.
    const upstream = await startFrames(t, setting(4, 2));
    const balancer = await front(t, upstream.port);
    const client = await openClient(balancer.port);
    client.send(request);
    const peer = await upstream.peer;
    await peer.next(({ type }) => type === DATA);
    client.socket.destroy();
    await peer.next(({ type }) => type === RST_STREAM);
    assert.deepEqual(written(peer), ['HEADERS', 'DATA 2', 'RST_STREAM']);
  });
}

test('a request whose answer makes no sense is reset in the middle', TIMEOUT, async (t) => {
  const upstream = await startFrames(t);
  const balancer = await front(t, upstream.port);
  const client = await openClient(balancer.port);
  client.send(SIZED);
  const peer = await upstream.peer;
  const { stream } = await peer.next(({ type }) => type === DATA);
  // `:status: 101` as a literal, which HTTP/2 does not have.
  peer.send(HEADERS, END_HEADERS, stream, Buffer.from('\x08\x03101', 'latin1'));
  assert.equal((await client.response()).status, 502);
  await peer.next(({ type }) => type === RST_STREAM);
  assert.deepEqual(written(peer), ['HEADERS', 'DATA 4', 'RST_STREAM']);
});

test('stopping in the middle of a request does not end it', TIMEOUT, async (t) => {
  const upstream = await startFrames(t);
  const balancer = await front(t, upstream.port);
  const client = await openClient(balancer.port);
  client.send(SIZED);
  const peer = await upstream.peer;
  await peer.next(({ type }) => type === DATA);
  await balancer.stop();
  await peer.untilClosed();
  const ends = written(peer).filter((line) => line.includes('END_STREAM'));
  assert.deepEqual(ends, []);
});

test(
  'a server that resets the rest of a request with NO_ERROR before it answers has not answered',
  TIMEOUT,
  async (t) => {
    const upstream = await startFrames(t, setting(4, 2));
    const balancer = await front(t, upstream.port);
    const client = await openClient(balancer.port);
    client.send(SIZED);
    const peer = await upstream.peer;
    const { stream } = await peer.next(({ type }) => type === DATA);
    peer.send(RST_STREAM, 0, stream, uint32(0));
    assert.equal((await client.response()).status, 502);
  },
);
