/** Upstreams behind Unix sockets. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { eventually, startBackend } from '../support/backend.ts';
import { startPlane } from '../support/plane.ts';
import { get, openClient } from '../support/raw-client.ts';
import { site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000, concurrency: true };

interface SocketServer {
  readonly path: string;
  readonly requests: readonly IncomingMessage[];
  readonly sockets: ReadonlySet<Socket>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'holdfast-unix-'));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

async function listenOn(t: TestContext, path: string, listener?: RequestListener): Promise<SocketServer> {
  const requests: IncomingMessage[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    requests.push(request);
    if (listener === undefined) request.resume().on('end', () => response.end(path.slice(-5)));
    else listener(request, response);
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const start = (): Promise<void> => new Promise((resolve) => server.listen(path, resolve));
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  await start();
  t.after(() => stop());
  return { path, requests, sockets, start, stop };
}

describe('Unix sockets', OPTIONS, () => {
  test('a request goes over the socket with forwarding headers, and the connection is kept', async (t) => {
    const server = await listenOn(t, join(await folder(t), 'a.soc'));
    const { plane, port } = await startPlane(t, site(`reverse_proxy unix/${server.path}`), { workers: 1 });
    for (let index = 0; index < 3; index += 1) assert.equal((await get(port)).body, 'a.soc');
    assert.equal(server.sockets.size, 1);
    const { headers } = server.requests[0]!;
    assert.equal(headers['x-forwarded-for'], '127.0.0.1');
    assert.equal(headers['x-forwarded-proto'], 'http');
    const [status] = plane.upstreams();
    assert.equal(status!.upstream, `unix/${server.path}`);
    assert.deepEqual(
      status!.endpoints.map(({ address }) => address),
      [`unix/${server.path}`],
    );
    assert.equal(status!.endpoints[0]!.requestsTotal, 3);
  });

  test('a body of a megabyte goes both ways whole', async (t) => {
    const server = await listenOn(t, join(await folder(t), 'e.soc'), (request, response) => request.pipe(response));
    const { port } = await startPlane(t, site(`reverse_proxy unix/${server.path}`));
    const body = 'x'.repeat(1_048_576);
    const client = await openClient(port);
    client.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    assert.equal((await client.response()).body.length, body.length);
    client.socket.destroy();
  });

  test('checks ask over the socket for localhost; without a server it goes down and comes back', async (t) => {
    const server = await listenOn(t, join(await folder(t), 'c.soc'));
    const check = 'health_uri /health\nhealth_interval 50ms';
    const { plane, port } = await startPlane(t, site(`reverse_proxy unix/${server.path} {\n${check}\n}`));
    await eventually(() => server.requests.length > 0, 'a check');
    assert.equal(server.requests[0]!.headers.host, 'localhost');
    await server.stop();
    await eventually(() => plane.upstreams()[0]!.state === 'down', 'the server to go down');
    // A probe that was under way when its server stopped says CONNECT_INTERRUPT.
    assert.match(plane.upstreams()[0]!.why, /unix\/.*: CONNECT_(FAILED|INTERRUPT)/);
    assert.equal((await get(port)).status, 503);
    await server.start();
    await eventually(async () => (await get(port)).status === 200, 'the server to come back');
  });

  test('a dead socket fails over to a TCP upstream', async (t) => {
    const backend = await startBackend(t, 'tcp');
    const missing = join(await folder(t), 'none.sock');
    const { port } = await startPlane(
      t,
      site(`reverse_proxy unix/${missing} 127.0.0.1:${backend.port} {\nlb_policy first\n}`),
    );
    assert.equal((await get(port)).body, 'tcp');
  });

  test('a cookie binds a client to its socket, and a drain lets only it in', async (t) => {
    const path = await folder(t);
    const [one, two] = [await listenOn(t, join(path, '1.soc')), await listenOn(t, join(path, '2.soc'))];
    const policy = `lb_policy cookie lb ${'s'.repeat(40)} {\nfallback first\n}`;
    const { plane, port } = await startPlane(
      t,
      site(`reverse_proxy unix/${one.path} unix/${two.path} {\n${policy}\n}`),
    );
    const first = await get(port);
    assert.equal(first.body, '1.soc');
    const cookie = first.header('set-cookie')!.split(';')[0]!;
    assert.ok(plane.patchUpstream(`unix/${one.path}`, { adminState: 'drain' }));
    assert.equal((await get(port)).body, '2.soc');
    assert.equal((await get(port, '/', { Cookie: cookie })).body, '1.soc');
  });

  test('an abstract socket of Linux is written with @', { skip: process.platform !== 'linux' }, async (t) => {
    const name = `holdfast-test-${process.pid}`;
    await listenOn(t, `\0${name}`);
    const { port } = await startPlane(t, site(`reverse_proxy unix/@${name}`));
    assert.equal((await get(port)).status, 200);
  });
});
