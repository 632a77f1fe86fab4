/** What clients may do wrong in HTTP/2, frame by frame, and what becomes of the stream or the connection. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { seededRandom, type Random } from '../../src/shared/random.ts';
import { startBackend } from '../support/backend.ts';
import { assertNoRestarts } from '../support/recorder.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  FrameClient,
  GET,
  GOAWAY,
  HEADERS,
  hpack,
  PADDED,
  PING,
  POST,
  PREFACE,
  PRIORITY,
  PUSH_PROMISE,
  RST_STREAM,
  setting,
  SETTINGS,
  uint32,
  WINDOW_UPDATE,
  type Field,
  type Outcome,
} from '../support/http2-frames.ts';

const H2C = '  servers {\n    protocols h1 h2 h2c\n  }';

async function start(t: TestContext): Promise<TestBalancer> {
  const backend = await startBackend(t, 'echo', (request, response) => {
    request.resume();
    request.on('end', () => response.end(`${request.method} ${request.url}`));
  });
  return startBalancer(t, site(`reverse_proxy 127.0.0.1:${backend.port}`, H2C));
}

function replaced(name: string, value: string): readonly Field[] {
  return GET.map((field) => (field[0] === name ? [name, value] : field));
}

function without(name: string): readonly Field[] {
  return GET.filter((field) => field[0] !== name);
}

interface Case {
  readonly name: string;
  readonly send: (client: FrameClient) => unknown;
  readonly expected: Outcome | readonly Outcome[];
  /** Default 1. */
  readonly stream?: number;
}

const MALFORMED: Outcome = 'reset PROTOCOL_ERROR';
const BROKEN: Outcome = 'goaway PROTOCOL_ERROR';

const CASES: readonly Case[] = [
  { name: 'a request as it should be', send: (c) => c.headers(1, GET), expected: 'status 200' },
  {
    name: 'padding and a priority in HEADERS',
    send: (c) =>
      c.send(
        HEADERS,
        END_HEADERS | END_STREAM | PADDED | 0x20,
        1,
        Buffer.concat([Buffer.from([4]), uint32(0), Buffer.from([9]), hpack(GET), Buffer.alloc(4)]),
      ),
    expected: 'status 200',
  },
  {
    name: 'a header block in CONTINUATION frames',
    send: (c) =>
      c
        .send(HEADERS, END_STREAM, 1, hpack(GET.slice(0, 2)))
        .send(CONTINUATION, 0, 1, hpack(GET.slice(2, 3)))
        .send(CONTINUATION, END_HEADERS, 1, hpack(GET.slice(3))),
    expected: 'status 200',
  },
  { name: 'an unknown frame type', send: (c) => c.send(0xfa, 0, 0, 'x').headers(1, GET), expected: 'status 200' },
  {
    name: 'an unknown setting',
    send: (c) => c.send(SETTINGS, 0, 0, setting(0x99, 1)).headers(1, GET),
    expected: 'status 200',
  },
  {
    name: 'Host alone',
    send: (c) => c.headers(1, [...without(':authority'), ['host', 'a.test']]),
    expected: 'status 200',
  },
  {
    name: 'Host that agrees with :authority',
    send: (c) => c.headers(1, [...GET, ['host', 'A.test']]),
    expected: 'status 200',
  },
  {
    name: 'a body of the announced length',
    send: (c) =>
      c
        .headers(1, [...POST, ['content-length', '3']], END_HEADERS)
        .send(DATA, 0, 1, 'ab')
        .send(DATA, END_STREAM, 1, 'c'),
    expected: 'status 200',
  },
  {
    name: 'trailers behind a body',
    send: (c) =>
      c
        .headers(1, POST, END_HEADERS)
        .send(DATA, 0, 1, 'ab')
        .headers(1, [['x-sum', '1']]),
    expected: 'status 200',
  },
  { name: 'TE: trailers', send: (c) => c.headers(1, [...GET, ['te', 'trailers']]), expected: 'status 200' },
  // Malformed requests (RFC 9113 section 8.1.1).
  { name: 'no :method', send: (c) => c.headers(1, without(':method')), expected: MALFORMED },
  { name: 'no :scheme', send: (c) => c.headers(1, without(':scheme')), expected: MALFORMED },
  { name: 'no :path', send: (c) => c.headers(1, without(':path')), expected: MALFORMED },
  { name: 'an empty :path', send: (c) => c.headers(1, replaced(':path', '')), expected: MALFORMED },
  {
    name: 'neither :authority nor Host',
    send: (c) => c.headers(1, without(':authority')),
    expected: ['status 400', MALFORMED],
  },
  { name: ':path twice', send: (c) => c.headers(1, [...GET, [':path', '/b']]), expected: MALFORMED },
  { name: ':status in a request', send: (c) => c.headers(1, [...GET, [':status', '200']]), expected: MALFORMED },
  { name: 'an unknown pseudo-field', send: (c) => c.headers(1, [...GET, [':x', '1']]), expected: MALFORMED },
  {
    name: 'a pseudo-field behind a field',
    send: (c) => c.headers(1, [['x', '1'], ...GET]),
    expected: MALFORMED,
  },
  { name: 'an upper-case name', send: (c) => c.headers(1, [...GET, ['X-A', '1']]), expected: MALFORMED },
  { name: 'Connection', send: (c) => c.headers(1, [...GET, ['connection', 'keep-alive']]), expected: MALFORMED },
  { name: 'Keep-Alive', send: (c) => c.headers(1, [...GET, ['keep-alive', 'timeout=5']]), expected: MALFORMED },
  { name: 'Proxy-Connection', send: (c) => c.headers(1, [...GET, ['proxy-connection', 'close']]), expected: MALFORMED },
  { name: 'Upgrade', send: (c) => c.headers(1, [...GET, ['upgrade', 'h2c']]), expected: MALFORMED },
  {
    name: 'Transfer-Encoding',
    send: (c) => c.headers(1, [...POST, ['transfer-encoding', 'chunked']], END_HEADERS),
    expected: MALFORMED,
  },
  { name: 'TE: gzip', send: (c) => c.headers(1, [...GET, ['te', 'gzip, trailers']]), expected: MALFORMED },
  {
    name: 'two lengths',
    send: (c) => c.headers(1, [...GET, ['content-length', '0'], ['content-length', '0']]),
    expected: MALFORMED,
  },
  {
    name: 'a length without a body',
    send: (c) => c.headers(1, [...POST, ['content-length', '1']]),
    expected: MALFORMED,
  },
  {
    name: 'more body than announced',
    send: (c) => c.headers(1, [...POST, ['content-length', '1']], END_HEADERS).send(DATA, END_STREAM, 1, 'ab'),
    // Node ends the connection with the stream.
    expected: [MALFORMED, 'goaway INTERNAL_ERROR'],
  },
  {
    name: 'less body than announced',
    send: (c) => c.headers(1, [...POST, ['content-length', '3']], END_HEADERS).send(DATA, END_STREAM, 1, 'ab'),
    expected: MALFORMED,
  },
  {
    name: 'a pseudo-field in trailers',
    send: (c) => c.headers(1, POST, END_HEADERS).headers(1, [[':path', '/']]),
    expected: MALFORMED,
  },
  // What nghttp2 lets pass and the request parser does not.
  {
    name: 'Host that differs from :authority',
    send: (c) => c.headers(1, [...GET, ['host', 'b.test']]),
    expected: ['status 400', MALFORMED],
  },
  {
    name: 'user information in :authority',
    send: (c) => c.headers(1, replaced(':authority', 'u@a.test')),
    expected: ['status 400', MALFORMED],
  },
  { name: 'a fragment in :path', send: (c) => c.headers(1, replaced(':path', '/a#b')), expected: 'status 400' },
  {
    name: 'a space in :path',
    send: (c) => c.headers(1, replaced(':path', '/a b')),
    expected: ['status 400', MALFORMED],
  },
  {
    name: 'an absolute :path',
    send: (c) => c.headers(1, replaced(':path', 'http://b.test/')),
    expected: ['status 400', MALFORMED],
  },
  {
    name: 'a scheme that is none of ours',
    send: (c) => c.headers(1, replaced(':scheme', 'ftp')),
    expected: 'status 400',
  },
  {
    name: 'CONNECT',
    send: (c) =>
      c.headers(
        1,
        [
          [':method', 'CONNECT'],
          [':authority', 'b.test:443'],
        ],
        END_HEADERS,
      ),
    expected: 'status 501',
  },
  {
    name: 'CONNECT for a protocol that is not spoken',
    send: (c) => c.headers(1, [...GET.slice(1), [':method', 'CONNECT'], [':protocol', 'connect-udp']], END_HEADERS),
    expected: 'status 501',
  },
  {
    name: ':protocol without CONNECT',
    send: (c) => c.headers(1, [...GET, [':protocol', 'websocket']]),
    expected: ['status 400', MALFORMED],
  },
  {
    name: 'Expect for something else',
    send: (c) => c.headers(1, [...POST, ['expect', 'x']], END_HEADERS),
    expected: 'status 417',
  },
  {
    name: 'a target that is too long',
    send: (c) => {
      const block = hpack(replaced(':path', `/${'a'.repeat(16_000)}`));
      c.send(HEADERS, END_STREAM, 1, block.subarray(0, 16_000)).send(
        CONTINUATION,
        END_HEADERS,
        1,
        block.subarray(16_000),
      );
    },
    expected: ['status 414', 'status 431', 'status 200'],
  },
  {
    name: 'too many fields',
    send: (c) => c.headers(1, [...GET, ...Array.from({ length: 250 }, (_, at): Field => [`x-${at}`, '1'])]),
    expected: 'status 431',
  },
  {
    name: 'fields that are too large',
    send: (c) => {
      c.send(HEADERS, END_STREAM, 1, hpack([...GET, ['a', 'x'.repeat(16_000)]]));
      c.send(CONTINUATION, END_HEADERS, 1, hpack([['b', 'x'.repeat(4000)]]));
    },
    expected: 'status 431',
  },
  // Frames out of place (sections 5 and 6).
  { name: 'DATA on stream 0', send: (c) => c.send(DATA, 0, 0, 'x'), expected: BROKEN },
  { name: 'HEADERS on stream 0', send: (c) => c.headers(0, GET), expected: BROKEN },
  { name: 'HEADERS on an even stream', send: (c) => c.headers(2, GET), expected: BROKEN, stream: 2 },
  { name: 'DATA on an idle stream', send: (c) => c.send(DATA, 0, 1, 'x'), expected: BROKEN },
  { name: 'RST_STREAM on an idle stream', send: (c) => c.send(RST_STREAM, 0, 1, uint32(8)), expected: BROKEN },
  { name: 'RST_STREAM on stream 0', send: (c) => c.send(RST_STREAM, 0, 0, uint32(8)), expected: BROKEN },
  { name: 'WINDOW_UPDATE on an idle stream', send: (c) => c.send(WINDOW_UPDATE, 0, 1, uint32(1)), expected: BROKEN },
  {
    name: 'PUSH_PROMISE',
    send: (c) => c.send(PUSH_PROMISE, END_HEADERS, 1, Buffer.concat([uint32(2), hpack(GET)])),
    expected: BROKEN,
  },
  {
    name: 'CONTINUATION without HEADERS',
    send: (c) => c.send(CONTINUATION, END_HEADERS, 1, hpack(GET)),
    expected: BROKEN,
  },
  {
    name: 'another frame inside of a header block',
    send: (c) => c.send(HEADERS, END_STREAM, 1, hpack(GET)).send(PING, 0, 0, Buffer.alloc(8)),
    expected: BROKEN,
  },
  {
    name: 'HEADERS of another stream inside of a header block',
    send: (c) => c.send(HEADERS, END_STREAM, 1, hpack(GET)).headers(3, GET),
    expected: BROKEN,
  },
  {
    name: 'padding longer than the frame',
    send: (c) => c.headers(1, POST, END_HEADERS).send(DATA, PADDED, 1, Buffer.from([9, 0])),
    expected: BROKEN,
  },
  { name: 'SETTINGS on a stream', send: (c) => c.send(SETTINGS, 0, 1), expected: BROKEN },
  {
    name: 'SETTINGS of an odd length',
    send: (c) => c.send(SETTINGS, 0, 0, 'abc'),
    expected: 'goaway FRAME_SIZE_ERROR',
  },
  {
    name: 'an acknowledgement with content',
    send: (c) => c.send(SETTINGS, ACK, 0, setting(4, 1)),
    expected: 'goaway FRAME_SIZE_ERROR',
  },
  { name: 'ENABLE_PUSH of 2', send: (c) => c.send(SETTINGS, 0, 0, setting(2, 2)), expected: BROKEN },
  {
    name: 'a window of 2^31',
    send: (c) => c.send(SETTINGS, 0, 0, setting(4, 2 ** 31)),
    expected: 'goaway FLOW_CONTROL_ERROR',
  },
  { name: 'a frame size of 1', send: (c) => c.send(SETTINGS, 0, 0, setting(5, 1)), expected: BROKEN },
  {
    name: 'PING of seven bytes',
    send: (c) => c.send(PING, 0, 0, Buffer.alloc(7)),
    expected: 'goaway FRAME_SIZE_ERROR',
  },
  { name: 'PING on a stream', send: (c) => c.send(PING, 0, 1, Buffer.alloc(8)), expected: BROKEN },
  { name: 'GOAWAY on a stream', send: (c) => c.send(GOAWAY, 0, 1, uint32(0, 0)), expected: BROKEN },
  {
    name: 'a frame larger than allowed',
    send: (c) => c.headers(1, POST, END_HEADERS).send(DATA, 0, 1, Buffer.alloc(16_385)),
    expected: 'goaway FRAME_SIZE_ERROR',
  },
  {
    name: 'a WINDOW_UPDATE of 0 for the connection',
    send: (c) => c.send(WINDOW_UPDATE, 0, 0, uint32(0)),
    expected: BROKEN,
  },
  {
    name: 'a WINDOW_UPDATE of 0 for a stream',
    send: (c) => c.headers(1, POST, END_HEADERS).send(WINDOW_UPDATE, 0, 1, uint32(0)),
    expected: ['reset PROTOCOL_ERROR', 'goaway PROTOCOL_ERROR'],
  },
  {
    name: 'a connection window above 2^31 - 1',
    send: (c) => c.send(WINDOW_UPDATE, 0, 0, uint32(2 ** 31 - 1)),
    expected: 'goaway FLOW_CONTROL_ERROR',
  },
  {
    name: 'a stream window above 2^31 - 1',
    send: (c) => c.headers(1, POST, END_HEADERS).send(WINDOW_UPDATE, 0, 1, uint32(2 ** 31 - 1)),
    expected: ['reset FLOW_CONTROL_ERROR', 'goaway FLOW_CONTROL_ERROR'],
  },
  {
    name: 'a header block that does not decode',
    send: (c) => c.send(HEADERS, END_HEADERS | END_STREAM, 1, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff])),
    expected: 'goaway COMPRESSION_ERROR',
  },
  {
    name: 'an index behind the table',
    send: (c) => c.send(HEADERS, END_HEADERS | END_STREAM, 1, Buffer.from([0xfe])),
    expected: 'goaway COMPRESSION_ERROR',
  },
  {
    name: 'DATA after the end of the request',
    send: (c) => c.headers(1, GET).send(DATA, 0, 1, 'x'),
    expected: ['goaway STREAM_CLOSED', 'reset STREAM_CLOSED', 'status 200'],
  },
  {
    name: 'a PRIORITY that depends on itself',
    send: (c) => c.send(PRIORITY, 0, 1, Buffer.concat([uint32(1), Buffer.from([1])])).headers(1, GET),
    expected: ['status 200', BROKEN],
  },
];

test('frames of a client', async (t) => {
  const balancer = await start(t);
  for (const { name, send, expected, stream = 1 } of CASES) {
    await t.test(`${name}: ${[expected].flat().join(' or ')}`, { timeout: 5000 }, async (inner) => {
      const client = await FrameClient.open(inner, balancer.port);
      send(client);
      const outcome = await client.outcome(stream);
      assert.ok([expected].flat().includes(outcome), `${outcome}, expected ${[expected].flat().join(' or ')}`);
      // Whatever it was, the next client is served.
      const other = await FrameClient.open(inner, balancer.port);
      assert.equal(await other.headers(1, GET).outcome(1), 'status 200');
    });
  }
});

test('a field that is none is dropped, and nothing of it comes out elsewhere', async (t) => {
  const backend = await startBackend(t, 'raw');
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${backend.port}`, H2C));
  const client = await FrameClient.open(t, balancer.port);
  const bad: Field[] = [
    ['x-a', 'a\r\nx-evil: 1'],
    ['x-b', 'a\0b'],
    ['x c', 'a'],
    ['', 'a'],
    ['x-d\r\nx-evil', '1'],
  ];
  client.headers(1, [...GET, ...bad, ['x-good', '1']]);
  assert.equal(await client.outcome(1), 'status 200');
  const names = Object.keys(backend.requests[0]!.headers).filter(
    (name) => name.startsWith('x') && !name.startsWith('x-f'),
  );
  assert.deepEqual(names, ['x-good']);
});

/** Frames of a conversation that makes sense, then bytes of them changed, dropped and doubled. */
function mangled(random: Random): Buffer {
  const pick = (count: number): number => Math.floor(random.next() * count);
  const frames = Array.from({ length: 1 + pick(12) }, (_, at): Buffer => {
    const id = 1 + 2 * pick(4);
    const sends: readonly (() => Buffer)[] = [
      () => frame(HEADERS, pick(256), at * 2 + 1, hpack(pick(2) === 0 ? GET : POST)),
      () => frame(HEADERS, END_HEADERS, at * 2 + 1, hpack(POST)),
      () => frame(DATA, pick(16), id, Buffer.alloc(pick(300), 'd')),
      () => frame(RST_STREAM, 0, id, uint32(pick(16))),
      () => frame(SETTINGS, pick(2), 0, setting(1 + pick(9), pick(2 ** 17))),
      () => frame(WINDOW_UPDATE, 0, id, uint32(pick(2 ** 31))),
      () => frame(PING, pick(2), 0, Buffer.alloc(8)),
      () => frame(CONTINUATION, pick(8), id, hpack([['x-y', 'z']])),
      () => frame(HEADERS, END_HEADERS | END_STREAM, id, hpack([['x-trailer', '1']])),
      () =>
        frame(
          HEADERS,
          END_HEADERS,
          at * 2 + 1,
          hpack([...GET.slice(1), [':method', 'CONNECT'], [':protocol', 'websocket']]),
        ),
      () => frame(GOAWAY, 0, 0, uint32(pick(10), pick(14))),
      () => frame(pick(12), pick(256), pick(10), Buffer.alloc(pick(40), pick(256))),
    ];
    return sends[pick(sends.length)]!();
  });
  const bytes = Buffer.concat([Buffer.from(PREFACE), frame(SETTINGS, 0, 0), ...frames]);
  for (let at = pick(4); at > 0; at -= 1) bytes[PREFACE.length + pick(bytes.length - PREFACE.length)] = pick(256);
  return bytes.subarray(0, pick(10) === 0 ? PREFACE.length + pick(bytes.length - PREFACE.length) : bytes.length);
}

test('frames that make no sense end no worker', { timeout: 60_000 }, async (t) => {
  const balancer = await start(t);
  const random = seededRandom(20_261_130);
  for (let round = 0; round < 40; round += 1) {
    const clients = await Promise.all(Array.from({ length: 10 }, () => FrameClient.open(t, balancer.port, false)));
    for (const client of clients) client.raw(mangled(random));
    await new Promise((resolve) => setTimeout(resolve, 10));
    for (const client of clients) client.destroy();
  }
  const client = await FrameClient.open(t, balancer.port);
  assert.equal(await client.headers(1, GET).outcome(1), 'status 200');
  assertNoRestarts(await balancer.metrics());
});

describe('a connection in the clear', { timeout: 20_000 }, () => {
  test('that begins like HTTP/2 and goes on otherwise is HTTP/1, and refused as such', async (t) => {
    const balancer = await start(t);
    const client = await FrameClient.open(t, balancer.port, false);
    client.raw(PREFACE.slice(0, 10));
    client.raw(' nonsense\r\n\r\n');
    await client.untilClosed();
  });

  test('whose preface comes byte by byte is HTTP/2', async (t) => {
    const balancer = await start(t);
    const client = await FrameClient.open(t, balancer.port, false);
    for (const byte of PREFACE) {
      client.raw(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    client.raw(frame(SETTINGS, 0, 0)).headers(1, GET);
    assert.equal(await client.outcome(1), 'status 200');
    assert.equal(await client.body(1), 'GET /');
  });
});
