/** `proxy_protocol`: every connection to an upstream tells of one client, and carries one request. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventually, startScripted, type ScriptedUpstream } from '../support/backend.ts';
import { site, startBalancer } from '../support/balance.ts';
import { ask, openClient } from '../support/raw-client.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

/** Answers every head; the bytes of each connection are kept. */
function startUpstream(t: TestContext): Promise<ScriptedUpstream> {
  return startScripted(t, (socket, _, received) => {
    let answered = 0;
    socket.on('data', () => {
      const heads = received().split(' HTTP/1.1\r\n').length - 1;
      for (; answered < heads; answered += 1) socket.write(OK);
    });
  });
}

test('v1: the line of a connection names address and port of its client, and no connection serves two requests', async (t) => {
  const upstream = await startUpstream(t);
  const body = `reverse_proxy 127.0.0.1:${upstream.port} {\ntransport http {\nproxy_protocol v1\n}\n}`;
  const balancer = await startBalancer(t, site(body));
  const client = await openClient(balancer.port, '127.0.0.2');
  const { localPort } = client.socket;
  for (let count = 0; count < 2; count += 1) assert.equal((await client.send(REQUEST).response()).body, 'ok');
  client.close();
  await ask(balancer.port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', '127.0.0.3');
  const line = `PROXY TCP4 127.0.0.2 127.0.0.1 ${localPort} ${balancer.port}\r\nGET / HTTP/1.1\r\n`;
  assert.equal(upstream.received.length, 3);
  assert.ok(upstream.received[0]!.startsWith(line), upstream.received[0]);
  assert.ok(upstream.received[1]!.startsWith(line), upstream.received[1]);
  assert.match(upstream.received[2]!, /^PROXY TCP4 127\.0\.0\.3 127\.0\.0\.1 \d+ \d+\r\nGET /);
});

test('v2: the source is the derived client address', async (t) => {
  const upstream = await startUpstream(t);
  const body = `reverse_proxy 127.0.0.1:${upstream.port} {\ntransport http {\nproxy_protocol v2\n}\n}`;
  const balancer = await startBalancer(t, site(body, 'servers {\ntrusted_proxies static 127.0.0.0/8\n}'));
  const request = 'GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 2001:db8::5\r\nConnection: close\r\n\r\n';
  assert.equal((await ask(balancer.port, request)).status, 200);
  const bytes = Buffer.from(upstream.received[0]!, 'latin1');
  assert.equal(bytes.subarray(0, 16).toString('hex'), '0d0a0d0a000d0a515549540a21210024');
  assert.equal(bytes.subarray(16, 32).toString('hex'), '20010db8000000000000000000000005');
  assert.equal(bytes.subarray(48, 52).toString('hex'), '00000000');
  assert.equal(bytes.subarray(52, 56).toString('latin1'), 'GET ');
});

test('a connection that another handler left idle is not taken for one that needs the header', async (t) => {
  const upstream = await startUpstream(t);
  const address = `127.0.0.1:${upstream.port}`;
  const body =
    `handle /plain {\nreverse_proxy ${address}\n}\n` +
    `handle {\nreverse_proxy ${address} {\ntransport http {\nproxy_protocol v1\n}\n}\n}`;
  const balancer = await startBalancer(t, site(body));
  const client = await openClient(balancer.port);
  await client.send('GET /plain HTTP/1.1\r\nHost: a\r\n\r\n').response();
  await client.send(REQUEST).response();
  client.close();
  assert.deepEqual(
    upstream.received.map((bytes) => bytes.slice(0, 5)),
    ['GET /', 'PROXY'],
  );
});

test('a health check sends a header without a client, and none to a port of its own', async (t) => {
  const upstream = await startUpstream(t);
  const own = await startUpstream(t);
  const proxy = (more: string): string =>
    `reverse_proxy 127.0.0.1:${upstream.port} {\nhealth_uri /up\n${more}\ntransport http {\nproxy_protocol v1\n}\n}`;
  await startBalancer(t, site(`handle /a {\n${proxy('')}\n}\nhandle {\n${proxy(`health_port ${own.port}`)}\n}`));
  await eventually(() => upstream.received.length > 0 && own.received.length > 0, 'both checks');
  await eventually(() => upstream.received[0]!.includes('\r\n\r\n') && own.received[0]!.includes('\r\n\r\n'), 'heads');
  assert.match(upstream.received[0]!, /^PROXY TCP4 127\.0\.0\.1 127\.0\.0\.1 \d+ \d+\r\nGET \/up HTTP\/1\.1\r\n/);
  assert.ok(own.received[0]!.startsWith('GET /up HTTP/1.1\r\n'));
});
