/** Connections to upstreams over TLS: how they begin, what goes over them, how they end. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import { WebSocket, WebSocketServer } from 'ws';
import { makeAuthority, type Authority } from '../support/authority.ts';
import { eventually, startBackend, startScripted } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { get, openClient } from '../support/raw-client.ts';
import { startHttps } from '../support/secure-backend.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

async function front(
  t: TestContext,
  authority: Authority,
  upstreams: string,
  transport = '',
  proxy = '',
): Promise<TestBalancer> {
  const tls = `tls_trust_pool file ${authority.rootFile}\n${transport}`;
  return startBalancer(
    t,
    site(`reverse_proxy ${upstreams} {\nlb_policy first\n${proxy}\ntransport http {\n${tls}\n}\n}`),
  );
}

test('a server that closes in the middle of the handshake is a failed dial: the next one answers', async (t) => {
  const authority = await makeAuthority(t);
  const closing = await startScripted(t, (socket) => void socket.once('data', () => socket.end()));
  const resetting = await startScripted(t, (socket) => void socket.once('data', () => socket.resetAndDestroy()));
  const good = await startHttps(t, await authority.issue(['localhost']));
  const ports = [closing, resetting, good].map(({ port }) => `https://localhost:${port}`);
  const balancer = await front(t, authority, ports.join(' '));
  assert.equal((await get(balancer.port)).body, 'secure');
});

test('a server that never answers the handshake costs no more than the dial timeout', async (t) => {
  const authority = await makeAuthority(t);
  const silent = await startScripted(t, () => {});
  const good = await startHttps(t, await authority.issue(['localhost']));
  const to = `https://localhost:${silent.port} https://localhost:${good.port}`;
  const balancer = await front(t, authority, to, 'dial_timeout 300ms');
  assert.equal((await get(balancer.port)).body, 'secure');
  await eventually(() => silent.sockets[0]!.destroyed || silent.sockets[0]!.readableEnded, 'the dial to be given up');
});

test('tls_timeout is the time of the handshake alone', async (t) => {
  const authority = await makeAuthority(t);
  const leaf = await authority.issue(['localhost']);
  const silent = await startScripted(t, () => {});
  const lone = await front(
    t,
    authority,
    `https://localhost:${silent.port}`,
    'tls_timeout 200ms\ndial_timeout 1m',
    'lb_retries 0',
  );
  assert.equal((await get(lone.port)).status, 502);
  // Longer than the dial may take.
  const slow = createTlsServer({
    ...leaf,
    SNICallback: (_name, done) => void setTimeout(() => done(null), 600),
  });
  slow.on('secureConnection', (socket: TLSSocket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate'));
  });
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
  t.after(() => void slow.close());
  const { port } = slow.address() as AddressInfo;
  const patient = await front(t, authority, `https://localhost:${port}`, 'tls_timeout 10s\ndial_timeout 200ms');
  assert.equal((await get(patient.port)).body, 'late');
});

test('further connections resume the session of the first', async (t) => {
  const authority = await makeAuthority(t);
  const leaf = await authority.issue(['localhost']);
  const upstream = await startHttps(t, leaf, (_request, response) => {
    response.setHeader('Connection', 'close');
    response.end('once');
  });
  const balancer = await front(t, authority, `https://localhost:${upstream.port}`, 'versions 1.1');
  for (let count = 0; count < 3; count += 1) assert.equal((await get(balancer.port)).body, 'once');
  assert.deepEqual(upstream.resumed, [false, true, true]);
});

test('connections of one trust are not used for another, and share nothing with those in the clear', async (t) => {
  const authority = await makeAuthority(t);
  const upstream = await startHttps(t, await authority.issue(['localhost']));
  const tls = (name: string): string =>
    `transport http {\ntls_trust_pool file ${authority.rootFile}\nversions 1.1\n${name}\n}`;
  const to = `reverse_proxy https://localhost:${upstream.port}`;
  const config = site(
    `handle /a {\n${to} {\n${tls('')}\n}\n}\nhandle /b {\n${to} {\n${tls('tls_server_name b.example')}\n}\n}\n` +
      `handle /c {\n${to} {\n${tls('')}\nlb_policy first\n}\n}`,
  );
  const balancer = await startBalancer(t, config);
  const statuses = [];
  for (const path of ['/a', '/b', '/a', '/c']) statuses.push((await get(balancer.port, path)).status);
  assert.deepEqual(statuses, [200, 502, 200, 200]);
  assert.equal(upstream.requests.length, 3);
  assert.equal(upstream.secured.length, 1);
});

test('ports of tls_except_ports are spoken to in the clear', async (t) => {
  const authority = await makeAuthority(t);
  const plain = await startBackend(t, 'plain');
  const balancer = await front(t, authority, `https://localhost:${plain.port}`, `tls_except_ports ${plain.port}`);
  assert.equal((await get(balancer.port)).body, 'plain');
});

for (const version of ['v1', 'v2']) {
  test(`the PROXY header ${version} goes in front of the handshake`, async (t) => {
    const authority = await makeAuthority(t);
    const leaf = await authority.issue(['localhost']);
    let header = Buffer.alloc(0);
    const upstream = await startScripted(t, (raw) => {
      raw.removeAllListeners('data');
      raw.once('data', (bytes: Buffer) => {
        const end = version === 'v1' ? bytes.indexOf('\r\n') + 2 : 28;
        header = Buffer.from(bytes.subarray(0, end));
        raw.pause();
        if (bytes.length > end) raw.unshift(bytes.subarray(end));
        const socket = new TLSSocket(raw, { isServer: true, ...leaf });
        socket.on('error', () => undefined);
        socket.on('data', () => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
      });
    });
    const balancer = await front(t, authority, `https://localhost:${upstream.port}`, `proxy_protocol ${version}`);
    assert.equal((await get(balancer.port)).body, 'ok');
    const expected = version === 'v1' ? /^PROXY TCP4 127\.0\.0\.1 127\.0\.0\.1 \d+ \d+\r\n$/ : /^\r\n\r\n\0\r\nQUIT\n!/;
    assert.match(header.toString('latin1'), expected);
  });
}

test('large bodies pass both ways, whoever is slow', async (t) => {
  const authority = await makeAuthority(t);
  const body = randomBytes(8 * 1024 * 1024);
  const digest = createHash('sha256').update(body).digest('hex');
  let received = '';
  const upstream = await startHttps(t, await authority.issue(['localhost']), (request, response) => {
    const hash = createHash('sha256');
    void (async () => {
      for await (const chunk of request) {
        hash.update(chunk as Buffer);
        if (request.readableFlowing === null && Math.random() < 0.02) await sleep(5);
      }
      received = hash.digest('hex');
      response.end(body);
    })();
  });
  const balancer = await front(t, authority, `https://localhost:${upstream.port}`);
  const client = await openClient(balancer.port);
  client.socket.pause();
  client.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`);
  client.send(body);
  await eventually(() => received !== '', 'the request to arrive');
  await sleep(300);
  client.socket.resume();
  const response = await client.response('POST', 30_000);
  assert.equal(received, digest);
  assert.equal(createHash('sha256').update(Buffer.from(response.body, 'latin1')).digest('hex'), digest);
  client.close();
});

test('a reset of the server in the middle of a response is a reset for the client, and the other way round', async (t) => {
  const authority = await makeAuthority(t);
  const leaf = await authority.issue(['localhost']);
  let ended = '';
  const server = createTlsServer(leaf, (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (bytes: Buffer) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
      if (bytes.includes('/cut')) setTimeout(() => raws.at(-1)!.resetAndDestroy(), 50);
    });
  });
  const raws: Socket[] = [];
  server.on('connection', (raw) => {
    raws.push(raw);
    raw.on('error', (error: NodeJS.ErrnoException) => (ended = error.code ?? ''));
    raw.on('close', () => undefined);
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const balancer = await front(t, authority, `https://localhost:${port}`, 'versions 1.1');
  const cut = await openClient(balancer.port);
  cut.send(GET.replace('/', '/cut'));
  assert.equal(await cut.ended(), 'reset');
  const leaving = await openClient(balancer.port);
  leaving.send(GET);
  await leaving.until(() => leaving.received.includes('half'));
  leaving.socket.resetAndDestroy();
  await eventually(() => raws.at(-1)!.destroyed, 'the server to hear of it');
  assert.equal(ended === '' || ended === 'ECONNRESET', true);
});

test('an idle connection that the server closes is not used again', async (t) => {
  const authority = await makeAuthority(t);
  const upstream = await startHttps(t, await authority.issue(['localhost']));
  const balancer = await front(t, authority, `https://localhost:${upstream.port}`, 'versions 1.1');
  assert.equal((await get(balancer.port)).status, 200);
  upstream.secured[0]!.end();
  await eventually(() => upstream.secured[0]!.destroyed, 'the connection to end');
  assert.equal((await get(balancer.port)).status, 200);
  assert.equal(upstream.secured.length, 2);
});

test('a server that refuses an upload and closes is heard', async (t) => {
  const authority = await makeAuthority(t);
  const server = createTlsServer(await authority.issue(['localhost']), (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.pause();
      socket.end('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig');
    });
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const balancer = await front(t, authority, `https://localhost:${port}`, 'versions 1.1');
  const client = await openClient(balancer.port);
  client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n');
  client.send(Buffer.alloc(1_000_000));
  assert.equal((await client.response('POST')).status, 413);
  client.close();
});

test('a WebSocket goes over TLS, also where the server would rather speak HTTP/2', async (t) => {
  const authority = await makeAuthority(t);
  const { createSecureServer } = await import('node:http2');
  const server = createSecureServer({ ...(await authority.issue(['localhost'])), allowHTTP1: true });
  server.on('sessionError', () => undefined);
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket, head) => {
    sockets.handleUpgrade(request as never, socket as never, head as never, (ws) => {
      ws.on('message', (data: Buffer) => ws.send(`echo ${data.toString()}`));
    });
  });
  server.on('request', (_request, response) => void response.end('h2'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const balancer = await front(t, authority, `https://localhost:${port}`);
  assert.equal((await get(balancer.port)).body, 'h2');
  const client = new WebSocket(`ws://127.0.0.1:${balancer.port}/`);
  const message = await new Promise<string>((resolve, reject) => {
    client.on('open', () => client.send('hello'));
    client.on('message', (data: Buffer) => resolve(data.toString()));
    client.on('error', reject);
  });
  assert.equal(message, 'echo hello');
  client.terminate();
});

test('plain servers beside it are untouched', async (t) => {
  const authority = await makeAuthority(t);
  const secure = await startHttps(t, await authority.issue(['localhost']));
  const plain = createServer((_request, response) => void response.end('plain'));
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
  t.after(() => void plain.close());
  const { port } = plain.address() as AddressInfo;
  const balancer = await startBalancer(
    t,
    site(
      `handle /s {\nreverse_proxy https://localhost:${secure.port} {\ntransport http {\n` +
        `tls_trust_pool file ${authority.rootFile}\n}\n}\n}\nhandle {\nreverse_proxy 127.0.0.1:${port}\n}`,
    ),
  );
  assert.equal((await get(balancer.port, '/s')).body, 'secure');
  assert.equal((await get(balancer.port, '/')).body, 'plain');
});
