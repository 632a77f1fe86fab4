/** `encode`: what clients get is what the server said, smaller, at once, and counted as sent. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { brotliDecompressSync, createGunzip, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { eventually, startBackend } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { ask, get, openClient, type RawResponse } from '../support/raw-client.ts';
import { assertNoRestarts, OK, startRecorder } from '../support/recorder.ts';

const TEXT = 'The quick brown fox jumps over the lazy dog, again and again. '.repeat(400);

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  zstd: zstdDecompressSync,
  br: brotliDecompressSync,
};

function decoded(response: RawResponse): string {
  const decode = DECODERS[response.header('content-encoding') ?? ''] ?? ((bytes: Buffer) => bytes);
  return decode(Buffer.from(response.body, 'latin1')).toString('utf8');
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

async function startEncoding(t: TestContext, answer: Answer, directive = 'encode zstd br gzip'): Promise<TestBalancer> {
  const backend = await startBackend(t, 'a', (request, response) => answer(response, request));
  return startBalancer(t, site(`log\n${directive}\nreverse_proxy 127.0.0.1:${backend.port}`));
}

const text: Answer = (response) => {
  response.setHeader('Content-Type', 'text/plain');
  response.setHeader('Content-Length', TEXT.length);
  response.setHeader('Accept-Ranges', 'bytes');
  response.setHeader('ETag', '"v1"');
  response.end(TEXT);
};

for (const [accepted, expected] of [
  ['gzip', 'gzip'],
  ['zstd', 'zstd'],
  ['br', 'br'],
  ['gzip, br, zstd', 'zstd'],
  ['gzip, br;q=0.9, zstd;q=0.8', 'gzip'],
  ['gzip;q=0.5, *', 'zstd'],
] as const) {
  test(`a client that accepts '${accepted}' gets ${expected}, and a head that says so`, async (t) => {
    const balancer = await startEncoding(t, text);
    const response = await get(balancer.port, '/', { 'Accept-Encoding': accepted });
    assert.equal(response.header('content-encoding'), expected);
    assert.equal(decoded(response), TEXT);
    assert.ok(response.body.length < TEXT.length / 10);
    assert.deepEqual(response.headers('vary'), ['Accept-Encoding']);
    assert.equal(response.header('etag'), `"v1-${expected}"`);
    assert.equal(response.header('content-length'), undefined);
    assert.equal(response.header('accept-ranges'), undefined);
    await eventually(() => balancer.accessLines.length === 1, 'the access line');
    assert.equal(balancer.accessLines[0]?.['bytes'], response.body.length);
    assertNoRestarts(await balancer.metrics());
  });
}

const plainCases: readonly (readonly [
  why: string,
  headers: Record<string, string>,
  answer: Answer,
  method?: string,
])[] = [
  ['asks for nothing', {}, text],
  ['accepts identity only', { 'Accept-Encoding': 'identity' }, text],
  ['refuses every format', { 'Accept-Encoding': 'gzip;q=0, *;q=0' }, text],
  ['forbids transformations', { 'Accept-Encoding': 'gzip', 'Cache-Control': 'no-transform' }, text],
  ['sends HEAD', { 'Accept-Encoding': 'gzip' }, text, 'HEAD'],
  [
    'gets a short answer',
    { 'Accept-Encoding': 'gzip' },
    (response) => response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': 511 }).end('x'.repeat(511)),
  ],
  [
    'gets what is compressed already',
    { 'Accept-Encoding': 'gzip' },
    (response) => response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Encoding': 'deflate' }).end(TEXT),
  ],
  [
    'gets an image',
    { 'Accept-Encoding': 'gzip' },
    (response) => response.writeHead(200, { 'Content-Type': 'image/png' }).end(TEXT),
  ],
  [
    'gets what must not be transformed',
    { 'Accept-Encoding': 'gzip' },
    (response) =>
      response.writeHead(200, { 'Content-Type': 'text/css', 'Cache-Control': 'public, no-transform' }).end(TEXT),
  ],
  [
    'gets a part',
    { 'Accept-Encoding': 'gzip', Range: 'bytes=0-9' },
    (response) => response.writeHead(206, { 'Content-Type': 'text/css', 'Content-Range': 'bytes 0-9/99' }).end(TEXT),
  ],
  [
    'gets no body',
    { 'Accept-Encoding': 'gzip' },
    (response) => response.writeHead(204, { 'Content-Type': 'text/css' }).end(),
  ],
];

test('a client that cannot take it, or an answer that is not for it, gets bytes as they are', async (t) => {
  for (const [why, headers, answer, method = 'GET'] of plainCases) {
    const balancer = await startEncoding(t, answer);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const response = await ask(balancer.port, `${method} / HTTP/1.1\r\nHost: a\r\n${lines.join('')}\r\n`);
    assert.notEqual(response.header('content-encoding'), 'gzip', why);
    assert.ok(response.body === '' || /^(The quick|x{511}$)/.test(response.body), why);
    assert.equal(response.header('vary'), undefined, why);
  }
});

test('an entity tag of ours goes upstream as the server gave it, and its 304 varies', async (t) => {
  const seen: (string | undefined)[] = [];
  const balancer = await startEncoding(t, (response, request) => {
    seen.push(request.headers['if-none-match']);
    response.writeHead(304, { ETag: '"v1"' }).end();
  });
  const tags = '"v1-gzip", W/"v2-gzip", "v3-br"';
  const response = await get(balancer.port, '/', { 'Accept-Encoding': 'gzip', 'If-None-Match': tags });
  assert.deepEqual([response.status, response.header('vary')], [304, 'Accept-Encoding']);
  assert.deepEqual(seen, ['"v1", W/"v2-gzip", "v3-br"']);
});

test('answers of our own are encoded, error pages by the encode of handle_errors', async (t) => {
  const page = 'sorry '.repeat(200);
  const balancer = await startBalancer(
    t,
    site(
      `encode gzip\nrespond /hello "${TEXT}" 200\nerror /broken 503\nhandle_errors {\n encode gzip\n header Content-Type text/html\n respond "${page}"\n}\nheader /hello Content-Type text/plain`,
    ),
  );
  const client = await openClient(balancer.port);
  const request = (path: string, method = 'GET'): string =>
    `${method} ${path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n`;
  // On one connection, sent at once: the second waits for the end of the first.
  client.send(request('/hello') + request('/broken') + request('/hello', 'HEAD') + request('/hello'));
  const hello = await client.response();
  assert.deepEqual([hello.status, hello.header('content-encoding'), decoded(hello)], [200, 'gzip', TEXT]);
  const broken = await client.response();
  assert.deepEqual([broken.status, broken.header('content-encoding'), decoded(broken)], [503, 'gzip', page]);
  const head = await client.response('HEAD');
  assert.deepEqual([head.header('content-encoding'), head.header('content-length')], [undefined, String(TEXT.length)]);
  assert.equal(decoded(await client.response()), TEXT);
  client.close();
  assertNoRestarts(await balancer.metrics());
});

test('a client of HTTP/1.0 gets an encoded body up to the end of the connection', async (t) => {
  const balancer = await startEncoding(t, text);
  const response = await ask(balancer.port, 'GET / HTTP/1.0\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n');
  assert.equal(decoded(response), TEXT);
});

test('every event of a stream comes out when it went in', async (t) => {
  const sockets: Socket[] = [];
  const upstream = await startRecorder(t, (socket) => {
    sockets.push(socket);
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
  });
  for (const format of ['gzip', 'br', 'zstd']) {
    const balancer = await startBalancer(t, site(`encode ${format}\nreverse_proxy 127.0.0.1:${upstream.port}`));
    const client = await openClient(balancer.port);
    client.send(`GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${format}\r\n\r\n`);
    await client.until(() => client.received.includes(`Content-Encoding: ${format}\r\n`));
    const socket = sockets.at(-1)!;
    for (let event = 1; event <= 3; event += 1) {
      const before = client.received.length;
      const data = `data: ${event}\n\n`;
      socket.write(`${data.length.toString(16)}\r\n${data}\r\n`);
      await client.until(() => client.received.length > before);
    }
    socket.write('0\r\n\r\n');
    assert.equal(decoded(await client.response()), 'data: 1\n\ndata: 2\n\ndata: 3\n\n');
    client.close();
  }
});

test('a large body passes a client that reads late, whole, and the server is held back meanwhile', async (t) => {
  const size = 64 * 1024 * 1024;
  // Of the kind that does not get smaller: what comes out is as much as what went in.
  const piece = randomBytes(1 << 20);
  let written = 0;
  const upstream = await startRecorder(t, (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${size}\r\n\r\n`);
    const more = (): void => {
      while (written < size) {
        written += piece.length;
        if (!socket.write(piece)) return void socket.once('drain', more);
      }
    };
    more();
  });
  const balancer = await startBalancer(
    t,
    site(`encode gzip {\n gzip 1\n}\nreverse_proxy 127.0.0.1:${upstream.port}`.replace('encode gzip {', 'encode {')),
  );
  const client = await openClient(balancer.port);
  client.socket.removeAllListeners('data');
  client.socket.pause();
  client.send('GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n');
  let before = -1;
  await eventually(async () => {
    const still = written === before && before > 0;
    before = written;
    if (!still) await new Promise((resolve) => setTimeout(resolve, 300));
    return still;
  }, 'the server to be held back');
  assert.ok(written < size / 2, `${written} bytes were taken`);
  let received = 0;
  let head = '';
  const unzip = createGunzip();
  unzip.on('data', (bytes: Buffer) => (received += bytes.length));
  const chunks = new ChunkCutter((bytes) => unzip.write(bytes));
  client.socket.on('data', (bytes: Buffer) => {
    const at = head.includes('\r\n\r\n') ? 0 : bytes.indexOf('\r\n\r\n') + 4;
    if (at > 0) head = bytes.toString('latin1', 0, at);
    chunks.push(bytes.subarray(at));
  });
  client.socket.resume();
  await eventually(() => received === size, 'the whole body', 30_000);
  client.close();
  assertNoRestarts(await balancer.metrics());
});

test('a client that leaves ends its response, and a server that breaks cuts it', async (t) => {
  const sockets: Socket[] = [];
  const upstream = await startRecorder(t, (socket) => {
    sockets.push(socket);
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n');
  });
  const balancer = await startBalancer(t, site(`encode gzip\nreverse_proxy 127.0.0.1:${upstream.port}`));
  const start = async (): ReturnType<typeof openClient> => {
    const client = await openClient(balancer.port);
    client.send('GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n');
    await client.until(() => /Content-Encoding: gzip\r\n[^]*\r\n\r\n[^]+/.test(client.received));
    return client;
  };
  const leaver = await start();
  leaver.socket.resetAndDestroy();
  await eventually(() => upstream.open() === 0, 'the end at the server');
  const stayer = await start();
  sockets.at(-1)!.resetAndDestroy();
  assert.equal(await stayer.ended(), 'reset');
  await eventually(
    async () => /holdfast_http_requests_active\{.*\} 0$/m.test(await balancer.metrics()),
    'nothing in flight',
  );
  assertNoRestarts(await balancer.metrics());
});

test('without a body to encode, a tunnel is a tunnel', async (t) => {
  const upstream = await startRecorder(t, (socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
    socket.on('data', (bytes: Buffer) => socket.write(bytes));
  });
  const balancer = await startBalancer(t, site(`encode gzip\nreverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
  assert.equal((await client.response()).status, 101);
  client.send('ping');
  await client.until(() => client.received === 'ping');
  client.close();
});

test('a broken request body does not take the encoded answer with it', async (t) => {
  const upstream = await startRecorder(t, (socket) => void socket.write(OK));
  const balancer = await startBalancer(
    t,
    site(
      `encode gzip\nhandle /own {\n header Content-Type text/plain\n respond "${TEXT}"\n}\nreverse_proxy 127.0.0.1:${upstream.port}`,
    ),
  );
  const client = await openClient(balancer.port);
  client.send(
    'POST /own HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n',
  );
  assert.equal(decoded(await client.response()), TEXT);
  client.close();
});

/** Takes the chunk framing off as bytes arrive. */
class ChunkCutter {
  readonly #sink: (bytes: Buffer) => void;
  #rest: Buffer = Buffer.alloc(0);

  constructor(sink: (bytes: Buffer) => void) {
    this.#sink = sink;
  }

  push(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const lineEnd = this.#rest.indexOf('\r\n');
      if (lineEnd < 0) return;
      const size = Number.parseInt(this.#rest.toString('latin1', 0, lineEnd), 16);
      if (this.#rest.length < lineEnd + 2 + size + 2) return;
      if (size > 0) this.#sink(this.#rest.subarray(lineEnd + 2, lineEnd + 2 + size));
      this.#rest = this.#rest.subarray(lineEnd + 4 + size);
    }
  }
}
