/** `health <probe>` of a pool against real servers: which state it gives them, what it shows, and what a reload keeps. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { startDatagramServer } from '../../src/control-plane/health/udp-probe.contract.ts';
import { makeAuthority } from '../support/authority.ts';
import { eventually, startBackend } from '../support/backend.ts';
import { startPlane, type TestPlane } from '../support/plane.ts';
import { get } from '../support/raw-client.ts';
import { startHttps } from '../support/secure-backend.ts';
import { proxyTo, site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };
const FAST = 'interval 100ms\nrise 2\nfall 2';

interface Peer {
  readonly port: number;
  close(): Promise<void>;
}

/** A TCP server that plays `serve`; closing it ends its connections. */
async function startPeer(t: TestContext, serve: (socket: Socket) => void): Promise<Peer> {
  const open = new Set<Socket>();
  const server: Server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => open.delete(socket));
    serve(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    for (const socket of open) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  t.after(close);
  return { port: (server.address() as AddressInfo).port, close };
}

function stateOf({ plane }: TestPlane, port: number): string | undefined {
  return plane.upstreams().find(({ upstream }) => upstream.endsWith(`:${port}`))?.state;
}

function checkOf(
  { plane }: TestPlane,
  port: number,
): ReturnType<TestPlane['plane']['upstreams']>[0]['endpoints'][0]['checks'][0] {
  const status = plane.upstreams().find(({ upstream }) => upstream.endsWith(`:${port}`));
  return status!.endpoints[0]!.checks[0]!;
}

test('a companion port that closes takes its server out, and clients go to the other one', OPTIONS, async (t) => {
  const first = await startBackend(t, 'first');
  const second = await startBackend(t, 'second');
  const companion = await startPeer(t, () => {});
  const check = `lb_policy first\nhealth tcp {\n${FAST}\nport ${companion.port}\n}`;
  const text = site(`handle /a* {\n${proxyTo([first], check)}\n}\nhandle {\n${proxyTo([second], 'health tcp')}\n}`);
  const running = await startPlane(t, text, { workers: 1 });
  await eventually(() => checkOf(running, first.port).consecutivePasses > 1, 'passes');
  assert.equal(stateOf(running, first.port), 'up');
  await companion.close();
  await eventually(() => stateOf(running, first.port) === 'down', 'the server to go down');
  const { reason, name, cause } = checkOf(running, first.port);
  assert.deepEqual([reason, name], ['CONNECT_FAILED', 'tcp every 100ms']);
  assert.notEqual(cause, '');
  assert.equal((await get(running.port, '/a')).status, 503);
  assert.equal((await get(running.port)).status, 200);
});

test('a process that hangs is seen by an expected answer, not by a connection', OPTIONS, async (t) => {
  let hung = false;
  const peer = await startPeer(t, (socket) => {
    socket.on('data', () => void (hung || socket.write('PONG\r\n')));
  });
  const one = await startBackend(t, 'one');
  const two = await startBackend(t, 'two');
  const asks = `health tcp {\n${FAST}\ntimeout 200ms\nport ${peer.port}\nsend "PING\\r\\n"\nexpect PONG\n}`;
  const dials = `health tcp {\n${FAST}\nport ${peer.port}\n}`;
  const text = site(`handle /a* {\n${proxyTo([one], asks)}\n}\nhandle {\n${proxyTo([two], dials)}\n}`);
  const running = await startPlane(t, text, { workers: 1 });
  await eventually(() => checkOf(running, one.port).consecutivePasses > 1, 'passes');
  hung = true;
  await eventually(() => stateOf(running, one.port) === 'down', 'the hang to be seen');
  assert.equal(checkOf(running, one.port).reason, 'RECV_RESPONSE_TIMEOUT');
  assert.ok(checkOf(running, one.port).loss > 0);
  assert.equal(stateOf(running, two.port), 'up');
  hung = false;
  await eventually(() => stateOf(running, one.port) === 'up', 'the server to come back');
});

test('a UDP service is asked by datagrams; a closed port is unreachable', OPTIONS, async (t) => {
  const backend = await startBackend(t, 'backend');
  const service = await startDatagramServer((question, reply) => reply(Buffer.from(`re: ${String(question)}`)));
  const check = `health udp {\n${FAST}\ntimeout 5s\nport ${service.port}\nsend hello\nexpect_regex "^re: hello$"\n}`;
  const running = await startPlane(t, site(proxyTo([backend], check)), { workers: 1 });
  await eventually(() => checkOf(running, backend.port).consecutivePasses > 1, 'passes');
  const { roundTripMs, jitterMs, loss } = checkOf(running, backend.port);
  assert.ok(roundTripMs !== null && roundTripMs >= 0 && jitterMs !== null && jitterMs >= 0);
  assert.equal(loss, 0);
  await service.close();
  await eventually(() => stateOf(running, backend.port) === 'down', 'the closed port to be seen');
  assert.equal(checkOf(running, backend.port).reason, 'PORT_UNREACHABLE');
});

test(
  'an unchanged block keeps its verdict and results over a reload, a changed one begins anew',
  OPTIONS,
  async (t) => {
    const backend = await startBackend(t, 'backend');
    const peer = await startPeer(t, () => {});
    await peer.close();
    const text = (options: string, more = ''): string =>
      site(`${more}\n${proxyTo([backend], `health tcp {\n${FAST}\nport ${peer.port}\n${options}\n}`)}`);
    const running = await startPlane(t, text(''), { workers: 1 });
    await eventually(() => stateOf(running, backend.port) === 'down', 'the server to go down');
    const before = checkOf(running, backend.port).results.length;
    await running.reload(text('', 'header X-New yes'));
    assert.equal(stateOf(running, backend.port), 'down');
    assert.ok(checkOf(running, backend.port).results.length >= before);
    await running.reload(text('max_rtt 1s'));
    assert.equal(checkOf(running, backend.port).results.length, 0);
  },
);

test('health http asks as configured, with TLS too, and a wrong certificate says so', OPTIONS, async (t) => {
  const authority = await makeAuthority(t);
  const leaf = await authority.issue(['shop.test']);
  const secure = await startHttps(t, { cert: leaf.cert, key: leaf.key });
  const backend = await startBackend(t, 'backend');
  const other = await startBackend(t, 'other');
  const check = (more: string): string =>
    `health http {\n${FAST}\nport ${secure.port}\nversion 1.1\ndomain shop.test\npath /up?x=1\n${more}\n}`;
  const text = site(
    `handle /a* {\n${proxyTo([backend], check('tls\ninsecure'))}\n}\nhandle {\n${proxyTo([other], check('tls'))}\n}`,
  );
  const running = await startPlane(t, text, { workers: 1 });
  await eventually(() => checkOf(running, backend.port).consecutivePasses > 1, 'passes');
  const [request] = secure.requests;
  assert.deepEqual([request?.method, request?.url, request?.headers.host], ['GET', '/up?x=1', 'shop.test']);
  assert.equal(secure.secured[0]?.servername, 'shop.test');
  await eventually(() => stateOf(running, other.port) === 'down', 'the untrusted certificate to be seen');
  assert.equal(checkOf(running, other.port).reason, 'TLS_FAILED');
  assert.match(checkOf(running, other.port).results.at(-1)?.detail ?? '', /not trusted/);
});

test('health_uri speaks TLS where the traffic of its pool does', OPTIONS, async (t) => {
  const authority = await makeAuthority(t);
  const leaf = await authority.issue(['127.0.0.1']);
  const secure = await startHttps(t, { cert: leaf.cert, key: leaf.key });
  const proxy = (trust: string): string =>
    `reverse_proxy https://127.0.0.1:${secure.port} {\nhealth_uri /up\nhealth_interval 100ms\ntransport http {\ntls\n${trust}\n}\n}`;
  const text = site(proxy(`tls_trust_pool file ${authority.rootFile}`));
  const running = await startPlane(t, text, { workers: 1 });
  await eventually(() => checkOf(running, secure.port).consecutivePasses > 1, 'passes');
  assert.equal(secure.requests[0]?.url, '/up');
  await running.reload(site(proxy('')));
  await eventually(() => stateOf(running, secure.port) === 'down', 'the unknown authority to be seen');
  assert.equal(checkOf(running, secure.port).reason, 'TLS_FAILED');
});

test('a burst counts what was lost, and too much of it takes the server down', OPTIONS, async (t) => {
  const backend = await startBackend(t, 'backend');
  let count = 0;
  const service = await startDatagramServer((_, reply) => {
    count += 1;
    if (count % 2 === 0) reply(Buffer.from('pong'));
  });
  t.after(() => service.close());
  const check = (loss: string): string =>
    `health udp {\n${FAST}\ntimeout 300ms\nport ${service.port}\nsend ping\nexpect pong\nburst 4\n${loss}\n}`;
  const running = await startPlane(t, site(proxyTo([backend], check('max_loss 20%'))), { workers: 1 });
  await eventually(() => stateOf(running, backend.port) === 'down', 'the loss to be seen');
  assert.equal(checkOf(running, backend.port).reason, 'TOO_MUCH_LOSS');
  await running.reload(site(proxyTo([backend], check('max_loss 60%'))));
  await eventually(() => checkOf(running, backend.port).consecutivePasses > 1, 'half of it to be enough');
});
