/** Exchanges over HTTP/2 with upstreams: what is sent, what comes back, bodies and trailers both ways. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { AdminApi } from '../support/admin-api.ts';
import { makeAuthority } from '../support/authority.ts';
import { eventually, startBackend, startScripted } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { ask, get, openClient } from '../support/raw-client.ts';
import { startH2 } from '../support/secure-backend.ts';

function front(t: TestContext, port: number, transport = '', proxy = ''): Promise<TestBalancer> {
  const block = `${proxy}\ntransport http {\n${transport}\n}`;
  return startBalancer(t, site(`reverse_proxy h2c://127.0.0.1:${port} {\n${block}\n}`));
}

test('a request keeps its fields, without those of the connection, and its Host becomes the authority', async (t) => {
  let raw: readonly string[] = [];
  const upstream = await startH2(t, (stream, _headers, fields) => {
    raw = fields;
    stream.respond({ ':status': 200, 'content-type': 'text/plain', 'x-two': ['1', '2'], 'set-cookie': ['a=1', 'b=2'] });
    stream.end('hello');
  });
  const balancer = await front(t, upstream.port);
  const response = await ask(
    balancer.port,
    'GET /path?q=%41 HTTP/1.1\r\nHost: shop.example:8080\r\nX-Two: 1\r\nX-Two: 2\r\nUser-Agent: a\r\nUser-Agent: b\r\n' +
      'Cookie: a=1; b=2\r\nTE: trailers\r\nConnection: close, X-Own, TE\r\nX-Own: secret\r\nX-Latin: caf\xe9\r\n\r\n',
  );
  const pairs = raw.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${raw[at + 1]}`] : []));
  assert.deepEqual(pairs.slice(0, 4).toSorted(), [
    ':authority: shop.example:8080',
    ':method: GET',
    ':path: /path?q=%41',
    ':scheme: http',
  ]);
  for (const pair of ['x-two: 1', 'x-two: 2', 'user-agent: a', 'user-agent: b', 'te: trailers', 'x-latin: caf\xe9']) {
    assert.ok(pairs.includes(pair), `${pair} in ${pairs.join(', ')}`);
  }
  for (const pair of ['x-forwarded-for: 127.0.0.1', 'x-forwarded-host: shop.example:8080', 'via: 1.1 holdfast']) {
    assert.ok(pairs.includes(pair), `${pair} in ${pairs.join(', ')}`);
  }
  assert.equal(pairs.filter((pair) => /^(connection|x-own|host|transfer-encoding|keep-alive):/.test(pair)).length, 0);
  assert.equal(response.status, 200);
  assert.equal(response.body, 'hello');
  assert.deepEqual(response.headers('x-two'), ['1', '2']);
  assert.deepEqual(response.headers('set-cookie'), ['a=1', 'b=2']);
});

test('HEAD, 204, 304 and empty responses have the framing a client expects', async (t) => {
  const upstream = await startH2(t, (stream, headers) => {
    const path = String(headers[':path']);
    if (path === '/head') stream.respond({ ':status': 200, 'content-length': 10 }, { endStream: true });
    else if (path === '/empty') stream.respond({ ':status': 200 }, { endStream: true });
    else stream.respond({ ':status': Number(path.slice(1)) }, { endStream: true });
  });
  const balancer = await front(t, upstream.port);
  const client = await openClient(balancer.port);
  const head = await client.send('HEAD /head HTTP/1.1\r\nHost: a\r\n\r\n').response('HEAD');
  assert.equal(head.header('content-length'), '10');
  for (const path of ['/204', '/304', '/empty', '/404']) {
    const response = await client.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).response();
    assert.equal(response.body, '', path);
    assert.equal(response.header('transfer-encoding'), undefined, path);
  }
  client.close();
});

test('trailers pass both ways, and interim responses come first', async (t) => {
  let trailers: Record<string, unknown> = {};
  const upstream = await startH2(t, (stream) => {
    stream.additionalHeaders({ ':status': 103, link: '</a.css>' });
    stream.on('trailers', (fields) => (trailers = { ...fields }));
    stream.resume().on('end', () => {
      stream.respond({ ':status': 200, trailer: 'x-sum' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '42', 'cache-control': 'no-store' }));
      stream.end('body');
    });
  });
  const balancer = await front(t, upstream.port);
  const client = await openClient(balancer.port);
  client.send(
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTE: trailers\r\nConnection: TE\r\nTrailer: X-In\r\n\r\n' +
      '5\r\nhello\r\n0\r\nX-In: 7\r\n\r\n',
  );
  const early = await client.response();
  assert.equal(early.status, 103);
  const response = await client.response('POST');
  assert.equal(response.body, 'body');
  assert.deepEqual(response.trailers, [['x-sum', '42']]);
  assert.equal(trailers['x-in'], '7');
  client.close();
});

test('a response without a body that says how it went in its head (gRPC) arrives whole', async (t) => {
  const upstream = await startH2(t, (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '5' }, { endStream: true });
  });
  const balancer = await front(t, upstream.port);
  const response = await get(balancer.port);
  assert.equal(response.header('grpc-status'), '5');
  assert.equal(response.body, '');
});

test('a client that waits for a 100 gets the one of the server', async (t) => {
  const upstream = await startH2(t, (stream, headers) => {
    if (headers['expect'] === '100-continue') stream.additionalHeaders({ ':status': 100 });
    stream.resume().on('end', () => {
      stream.respond({ ':status': 200 });
      stream.end('took it');
    });
  });
  const balancer = await front(t, upstream.port);
  const client = await openClient(balancer.port);
  client.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n');
  assert.equal((await client.response()).status, 100);
  assert.equal((await client.send('body').response('POST')).body, 'took it');
  client.close();
});

test('a streamed response arrives piece by piece, and a streamed request too', async (t) => {
  const pieces: string[] = [];
  const upstream = await startH2(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.setEncoding('utf8');
    stream.on('data', (piece: string) => {
      pieces.push(piece);
      stream.write(`<${piece}>`);
    });
    stream.on('end', () => stream.end());
  });
  const balancer = await front(t, upstream.port);
  const client = await openClient(balancer.port);
  client.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  for (const word of ['one', 'two', 'three']) {
    client.send(`${word.length.toString(16)}\r\n${word}\r\n`);
    await client.until(() => client.received.includes(`<${word}>`));
  }
  client.send('0\r\n\r\n');
  assert.equal((await client.response('POST')).body, '<one><two><three>');
  assert.deepEqual(pieces, ['one', 'two', 'three']);
  client.close();
});

test('large bodies pass both ways while a slow client holds up nobody else', async (t) => {
  const body = randomBytes(6 * 1024 * 1024);
  const digest = createHash('sha256').update(body).digest('hex');
  let received = '';
  const upstream = await startH2(t, (stream, headers) => {
    if (headers[':path'] === '/small') {
      stream.respond({ ':status': 200 });
      stream.end('small');
      return;
    }
    const hash = createHash('sha256');
    stream.on('data', (piece: Buffer) => hash.update(piece));
    stream.on('end', () => {
      received = hash.digest('hex');
      stream.respond({ ':status': 200 });
      stream.end(body);
    });
  });
  const balancer = await front(t, upstream.port);
  const client = await openClient(balancer.port);
  client.socket.pause();
  client.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`);
  client.send(body);
  await eventually(() => received !== '', 'the request to arrive');
  await sleep(200);
  for (let count = 0; count < 20; count += 1) assert.equal((await get(balancer.port, '/small')).body, 'small');
  assert.equal(upstream.sessions.length, 1);
  client.socket.resume();
  const response = await client.response('POST', 30_000);
  assert.equal(received, digest);
  assert.equal(createHash('sha256').update(Buffer.from(response.body, 'latin1')).digest('hex'), digest);
  client.close();
});

test('a server that answers before it has the request ends the request with it', async (t) => {
  let aborted = false;
  const upstream = await startH2(t, (stream) => {
    stream.on('close', () => (aborted = true));
    stream.respond({ ':status': 403 });
    stream.end('no');
  });
  const balancer = await front(t, upstream.port);
  const client = await openClient(balancer.port);
  client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nstart');
  const response = await client.response('POST');
  assert.equal(response.status, 403);
  assert.equal(response.body, 'no');
  await eventually(() => aborted, 'the stream to end');
  assert.equal((await get(balancer.port)).status, 403);
  assert.equal(upstream.sessions.length, 1);
  client.close();
});

test('a client that leaves cancels its stream and nothing else', async (t) => {
  let code = -1;
  const upstream = await startH2(t, (stream, headers) => {
    stream.respond({ ':status': 200 });
    if (headers[':path'] === '/stay') stream.end('here');
    else stream.write('first');
    stream.on('close', () => {
      if (headers[':path'] !== '/stay') code = stream.rstCode;
    });
  });
  const balancer = await front(t, upstream.port);
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.until(() => client.received.includes('first'));
  client.socket.resetAndDestroy();
  await eventually(() => code === 8, 'CANCEL');
  assert.equal((await get(balancer.port, '/stay')).body, 'here');
  assert.equal(upstream.sessions.length, 1);
});

test('by ALPN: HTTP/2 where the server has it, HTTP/1.1 where it has not, and `versions` decides what is offered', async (t) => {
  const authority = await makeAuthority(t);
  const leaf = await authority.issue(['localhost']);
  const seen: string[] = [];
  const upstream = await startH2(
    t,
    (stream) => {
      stream.respond({ ':status': 200 });
      stream.end('2');
    },
    { ...leaf, allowHTTP1: true },
  );
  upstream.server.on('request', (request, response) => {
    seen.push(request.httpVersion);
    if (request.httpVersion === '1.1') response.end('1.1');
  });
  const config = (versions: string): string =>
    site(
      `reverse_proxy https://localhost:${upstream.port} {\ntransport http {\n` +
        `tls_trust_pool file ${authority.rootFile}\n${versions}\n}\n}`,
    );
  for (const [versions, expected] of [
    ['', '2'],
    ['versions 1.1 2', '2'],
    ['versions 2', '2'],
    ['versions 1.1', '1.1'],
  ] as const) {
    const balancer = await startBalancer(t, config(versions));
    assert.equal((await get(balancer.port)).body, expected, versions);
  }
});

test('a server without HTTP/2 is 502 where only HTTP/2 is allowed', async (t) => {
  const plain = await startBackend(t, 'plain');
  const balancer = await front(t, plain.port, 'dial_timeout 1s');
  assert.equal((await get(balancer.port)).status, 502);
});

test('with proxy_protocol each request has a connection of its own, its header in front', async (t) => {
  const headers: string[] = [];
  const upstream = await startH2(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.end('ok');
  });
  const shim = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (bytes: Buffer) => {
      const end = bytes.indexOf('\r\n') + 2;
      headers.push(bytes.toString('latin1', 0, end));
      socket.pause();
      if (bytes.length > end) socket.unshift(bytes.subarray(end));
      upstream.server.emit('connection', socket);
    });
  });
  await new Promise<void>((resolve) => shim.listen(0, '127.0.0.1', resolve));
  t.after(() => void shim.close());
  const { port } = shim.address() as AddressInfo;
  const balancer = await front(t, port, 'proxy_protocol v1');
  for (let count = 0; count < 2; count += 1) assert.equal((await get(balancer.port)).body, 'ok');
  assert.equal(headers.length, 2);
  for (const header of headers) assert.match(header, /^PROXY TCP4 127\.0\.0\.1 /);
});

test('a request to switch protocols goes to an h2c server in HTTP/1.1', async (t) => {
  const upstream = await startScripted(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
      socket.on('data', (bytes: Buffer) => socket.write(bytes));
      socket.on('end', () => socket.end());
    });
  });
  const balancer = await front(t, upstream.port);
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
  assert.equal((await client.response()).status, 101);
  client.send('there and back');
  await client.until(() => client.received === 'there and back');
  assert.match(upstream.received[0]!, /^GET \/ HTTP\/1\.1\r\n/);
  client.close();
});

test('a Unix socket that speaks HTTP/2', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-h2-'));
  const path = join(folder, 's.sock');
  const server = createHttp2Server();
  server.on('stream', (stream) => {
    stream.respond({ ':status': 200 });
    stream.end('unix');
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket: { destroy(): void }) => sockets.add(socket));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const balancer = await startBalancer(t, site(`reverse_proxy unix+h2c/${path}`));
  for (let count = 0; count < 3; count += 1) assert.equal((await get(balancer.port)).body, 'unix');
  assert.equal(sockets.size, 1);
});

test('a drain deadline cuts the streams of its server, and no others', async (t) => {
  const endless = (name: string) => (stream: ServerHttp2Stream) => {
    stream.respond({ ':status': 200 });
    stream.write(name);
  };
  const one = await startH2(t, endless('one'));
  const two = await startH2(t, endless('two'));
  const to = `reverse_proxy h2c://127.0.0.1:${one.port} h2c://127.0.0.1:${two.port} {\nlb_policy round_robin\n}`;
  const balancer = await startBalancer(t, site(to).replace('admin off', 'admin 127.0.0.1:0'));
  const clients = await Promise.all([openClient(balancer.port), openClient(balancer.port)]);
  for (const client of clients) client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  for (const client of clients) await client.until(() => /one|two/.test(client.received));
  const first = clients.find((client) => client.received.includes('one'))!;
  const second = clients.find((client) => client.received.includes('two'))!;
  const drain = { admin_state: 'drain', drain: '100ms' };
  const { status, text } = await new AdminApi(balancer).patch(`/upstreams/127.0.0.1:${one.port}`, drain);
  assert.equal(status, 200, text);
  assert.equal(await first.ended(), 'reset');
  await sleep(100);
  assert.equal(second.end, undefined);
  second.close();
});
