/** WebSocket over HTTP/2 (RFC 8441) to upstreams that speak it over HTTP/1.1. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { ClientHttp2Stream } from 'node:http2';
import { test, type TestContext } from 'node:test';
import { eventually, startScripted } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { answerOf, openH2 } from '../support/http2-client.ts';

const TIMEOUT = { timeout: 30_000 };
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const WEBSOCKET = {
  ':method': 'CONNECT',
  ':protocol': 'websocket',
  ':scheme': 'http',
  ':path': '/chat?room=1',
  ':authority': 'chat.test',
  'sec-websocket-version': '13',
  'sec-websocket-protocol': 'one',
};

interface Upgraded {
  readonly port: number;
  readonly sockets: Socket[];
  readonly heads: string[];
}

/** Switches, then sends back what it gets; ends when the client does. */
async function startEcho(t: TestContext): Promise<Upgraded> {
  const sockets: Socket[] = [];
  const heads: string[] = [];
  const server = createServer((_request, response) => response.end('plain'));
  server.on('upgrade', (request, socket: Socket) => {
    sockets.push(socket);
    heads.push(`${request.method} ${request.url} ${request.headers.host} ${request.headers['sec-websocket-version']}`);
    const key = request.headers['sec-websocket-key'] ?? '';
    assert.equal(Buffer.from(key, 'base64').length, 16);
    const accept = createHash('sha1')
      .update(key + GUID)
      .digest('base64');
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        `Sec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: one\r\n\r\n`,
    );
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, sockets, heads };
}

async function open(
  t: TestContext,
  port: number,
): Promise<{ readonly balancer: TestBalancer; readonly stream: ClientHttp2Stream }> {
  const config = site(`log\nreverse_proxy 127.0.0.1:${port}`, '  servers {\n    protocols h1 h2 h2c\n  }');
  const balancer = await startBalancer(t, config);
  const session = await openH2(t, balancer.port);
  assert.equal(session.remoteSettings.enableConnectProtocol, true);
  const stream = session.request(WEBSOCKET, { endStream: false });
  stream.on('error', () => {});
  return { balancer, stream };
}

test('the handshake becomes an upgrade upstream and a 200 to the client; bytes go both ways', TIMEOUT, async (t) => {
  const echo = await startEcho(t);
  const { balancer, stream } = await open(t, echo.port);
  // Before the answer is there.
  stream.write('early ');
  const [headers] = await once(stream, 'response');
  assert.equal(headers[':status'], 200);
  assert.equal(headers['sec-websocket-protocol'], 'one');
  for (const name of ['sec-websocket-accept', 'upgrade', 'connection']) assert.equal(headers[name], undefined);
  let received = '';
  stream.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  stream.write('late');
  await eventually(() => received === 'early late', 'all of the echo');
  const big = Buffer.alloc(2_000_000, 'b');
  stream.write(big);
  await eventually(() => received.length === 10 + big.length, 'a large echo');
  stream.end();
  await once(stream, 'close');
  assert.equal(stream.rstCode, 0);
  assert.deepEqual(echo.heads, ['GET /chat?room=1 chat.test 13']);
  await eventually(() => balancer.accessLines.length === 1, 'an access line');
  assert.equal(balancer.accessLines[0]!['status'], 101);
  assert.equal(balancer.accessLines[0]!['proto'], 'HTTP/2.0');
});

test('a server that ends its side first is seen to, and so is the end of the client', TIMEOUT, async (t) => {
  const echo = await startEcho(t);
  const { stream } = await open(t, echo.port);
  await once(stream, 'response');
  stream.resume();
  echo.sockets[0]!.unpipe(echo.sockets[0]);
  echo.sockets[0]!.end('bye');
  await once(stream, 'end');
  stream.end();
  await once(stream, 'close');
  assert.equal(stream.rstCode, 0);
});

test('a server that breaks resets the stream with CANCEL', TIMEOUT, async (t) => {
  const echo = await startEcho(t);
  const { stream } = await open(t, echo.port);
  await once(stream, 'response');
  stream.resume();
  echo.sockets[0]!.resetAndDestroy();
  await once(stream, 'close');
  assert.equal(stream.rstCode, 8);
});

test('a client that resets its stream ends the connection upstream', TIMEOUT, async (t) => {
  const echo = await startEcho(t);
  const { stream } = await open(t, echo.port);
  await once(stream, 'response');
  stream.close(8);
  await eventually(() => echo.sockets[0]!.destroyed, 'the end upstream');
});

test('an upstream that refuses is passed on with its status and body', TIMEOUT, async (t) => {
  const upstream = await startScripted(t, (socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno'));
  });
  const { stream } = await open(t, upstream.port);
  const { status, body } = await answerOf(stream);
  assert.equal(status, 403);
  assert.equal(body, 'no');
});

test('an upstream that answers 200 has opened no tunnel: 502', TIMEOUT, async (t) => {
  const upstream = await startScripted(t, (socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain'));
  });
  const { stream } = await open(t, upstream.port);
  const { status, body } = await answerOf(stream);
  assert.equal(status, 502);
  assert.equal(body, '');
});
