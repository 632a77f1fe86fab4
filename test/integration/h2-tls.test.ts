/** HTTP/2 over TLS: what is agreed on, cookies, and what a reload does to connections. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { eventually, startBackend } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { TestAuthority, type LeafFiles } from '../support/certificates.ts';
import { askH2, openH2 } from '../support/http2-client.ts';
import { getTls, openTls } from '../support/tls-client.ts';

const TIMEOUT = { timeout: 30_000 };

interface Started {
  readonly balancer: TestBalancer;
  readonly port: number;
  readonly ca: string;
  readonly leaf: LeafFiles;
  readonly authority: TestAuthority;
  readonly configOf: (body: string, tls?: string, servers?: string) => string;
}

async function start(t: TestContext, body: string, tls = '', servers = ''): Promise<Started> {
  const authority = await TestAuthority.create(t);
  const leaf = await authority.leaf('a', ['a.test', 'b.test']);
  const configOf = (inside: string, block = '', options = ''): string =>
    `{\nadmin off\nauto_https disable_redirects\nservers {\n${options}\n}\n}\n` +
    `https://a.test:0, https://b.test:0 {\nbind 127.0.0.1\ntls ${leaf.certificateFile} ${leaf.keyFile} {\n${block}\n}\n${inside}\n}\n`;
  const balancer = await startBalancer(t, configOf(body, tls, servers));
  return { balancer, port: balancer.port, ca: authority.root.certificate, leaf, authority, configOf };
}

test('h2 is agreed on with clients that offer it, http/1.1 with those that do not', TIMEOUT, async (t) => {
  const { port, ca } = await start(t, 'respond "{http.request.tls.proto} {http.request.proto}"');
  const session = await openH2(t, port, { ca, servername: 'a.test' });
  assert.equal((await askH2(session, { ':authority': 'a.test' })).body, 'h2 HTTP/2.0');
  assert.equal((await getTls(port, { ca, servername: 'a.test' })).body, 'http/1.1 HTTP/1.1');
});

for (const [name, tls, servers] of [
  ['protocols h1', '', 'protocols h1'],
  ['alpn http/1.1', 'alpn http/1.1', ''],
] as const) {
  test(`with ${name} no HTTP/2 is offered`, TIMEOUT, async (t) => {
    const { port, ca } = await start(t, 'respond ok', tls, servers);
    const { socket, raw } = await openTls(port, { ca, servername: 'a.test', ALPNProtocols: ['h2', 'http/1.1'] });
    assert.equal(socket.alpnProtocol, 'http/1.1');
    raw.close();
  });
}

test('affinity holds over HTTP/2: one Secure cookie, then the same server', TIMEOUT, async (t) => {
  const backends = await Promise.all(['one', 'two', 'three'].map((name) => startBackend(t, name)));
  const upstreams = backends.map(({ port }) => `127.0.0.1:${port}`).join(' ');
  const { port, ca } = await start(t, `reverse_proxy ${upstreams} {\nlb_policy cookie lb secret\n}`);
  const session = await openH2(t, port, { ca, servername: 'a.test' });
  const first = await askH2(session, { ':authority': 'a.test' });
  const cookies = first.headers['set-cookie'] as unknown as readonly string[];
  assert.equal(cookies.length, 1);
  assert.match(cookies[0]!, /^lb=[^;]+; Path=\/; HttpOnly; Secure; SameSite=None$/);
  const value = cookies[0]!.split(';')[0]!;
  for (let round = 0; round < 10; round += 1) {
    const answer = await askH2(session, { ':authority': 'a.test', cookie: ['other=1', value] });
    assert.equal(answer.body, first.body);
    assert.equal(answer.headers['set-cookie'], undefined);
  }
});

test('a request for another host than the handshake was for is 421 where that matters', TIMEOUT, async (t) => {
  const { port, ca } = await start(t, 'respond ok', '', 'strict_sni_host on');
  const session = await openH2(t, port, { ca, servername: 'a.test' });
  assert.equal((await askH2(session, { ':authority': 'b.test' })).status, 421);
  assert.equal((await askH2(session, { ':authority': 'a.test' })).status, 200);
});

test('a connection that a new policy would not let in serves no further request', TIMEOUT, async (t) => {
  const started = await start(t, 'respond ok');
  const { balancer, port, ca, authority, configOf } = started;
  const session = await openH2(t, port, { ca, servername: 'a.test' });
  assert.equal((await askH2(session, { ':authority': 'a.test' })).status, 200);
  const told = once(session, 'goaway');
  const block = `client_auth {\nmode require_and_verify\ntrust_pool file ${authority.rootFile}\n}`;
  await balancer.reload(configOf('respond ok', block));
  // Node closes the session at the GOAWAY, or asks once more and is refused.
  const late = await askH2(session, { ':authority': 'a.test' }).catch(() => ({ status: 0 }));
  assert.equal(late.status, 0);
  await told;
  await eventually(() => session.destroyed, 'the end of the session');
});

test('a reload that changes nothing about TLS keeps the connection', TIMEOUT, async (t) => {
  const { balancer, port, ca, configOf } = await start(t, 'respond one');
  const session = await openH2(t, port, { ca, servername: 'a.test' });
  assert.equal((await askH2(session, { ':authority': 'a.test' })).body, 'one');
  await balancer.reload(configOf('respond two'));
  assert.equal((await askH2(session, { ':authority': 'a.test' })).body, 'two');
  assert.equal(session.destroyed, false);
});
