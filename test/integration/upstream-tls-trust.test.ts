/** Certificates of upstreams: who is believed, and what is said of those who are not. */
import assert from 'node:assert/strict';
import type { AddressInfo, Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createServer } from 'node:tls';
import { eventually } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { makeAuthority } from '../support/authority.ts';
import { findProgram, freePort, startServer, unlessInstalled } from '../support/program.ts';
import { get, openClient } from '../support/raw-client.ts';
import { startHttps } from '../support/secure-backend.ts';

const OPENSSL = findProgram('openssl');

interface Front extends TestBalancer {
  /** Messages and details of the log. */
  readonly said: string[];
}

async function front(t: TestContext, upstream: string, transport: string, versions = '1.1'): Promise<Front> {
  const said: string[] = [];
  const say = (level: string) => (message: string, fields?: object) =>
    void said.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`);
  const log = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
  const config = site(`reverse_proxy ${upstream} {\ntransport http {\n${transport}\nversions ${versions}\n}\n}`);
  const balancer = await startBalancer(t, config, { log });
  return Object.assign(balancer, { said });
}

test('a server whose authority is named is believed, and its connection is used again', async (t) => {
  const authority = await makeAuthority(t);
  const upstream = await startHttps(t, await authority.issue(['localhost']));
  const balancer = await front(t, `https://localhost:${upstream.port}`, `tls_trust_pool file ${authority.rootFile}`);
  for (let count = 0; count < 3; count += 1) assert.equal((await get(balancer.port)).body, 'secure');
  assert.equal(upstream.secured.length, 1);
  assert.equal(upstream.requests[0]?.headers.host, `localhost:${upstream.port}`);
  assert.equal(upstream.secured[0]?.alpnProtocol, 'http/1.1');
});

test('an upstream named by address is checked against the addresses of its certificate', async (t) => {
  const authority = await makeAuthority(t);
  const upstream = await startHttps(t, await authority.issue(['127.0.0.1']));
  const balancer = await front(t, `https://127.0.0.1:${upstream.port}`, `tls_trusted_ca_certs ${authority.rootFile}`);
  assert.equal((await get(balancer.port)).body, 'secure');
  assert.equal(Reflect.get(upstream.secured[0]!, 'servername'), false);
});

test('trust_der in a pool of its own', async (t) => {
  const authority = await makeAuthority(t);
  const upstream = await startHttps(t, await authority.issue(['localhost']));
  const der = authority.root
    .split('\n')
    .slice(1, -1)
    .filter((line) => !line.startsWith('-'))
    .join('');
  const pool = `tls_trust_pool inline {\ntrust_der ${der}\n}`;
  const balancer = await front(t, `https://localhost:${upstream.port}`, pool);
  assert.equal((await get(balancer.port)).body, 'secure');
});

for (const { name, names, from = -1, to = 7, known = true, option = '', says } of [
  { name: 'an unknown authority', names: ['localhost'], known: false, says: /is not trusted: .*tls_trust_pool/ },
  { name: 'an expired certificate', names: ['localhost'], from: -9, to: -2, says: /has expired/ },
  { name: 'a certificate of tomorrow', names: ['localhost'], from: 1, says: /is not valid yet/ },
  {
    name: 'a certificate for another name',
    names: ['a.example'],
    says: /is not for localhost: it is for DNS:a\.example; .*tls_server_name/,
  },
  {
    name: 'another tls_server_name',
    names: ['localhost'],
    option: 'tls_server_name b.example',
    says: /is not for b\.example/,
  },
]) {
  test(`${name} is 502, and the log says what to do`, async (t) => {
    const authority = await makeAuthority(t);
    const other = await makeAuthority(t, 'another root');
    const upstream = await startHttps(t, await authority.issue(names, from, to));
    const { rootFile } = known ? authority : other;
    const balancer = await front(t, `https://localhost:${upstream.port}`, `tls_trust_pool file ${rootFile}\n${option}`);
    assert.equal((await get(balancer.port)).status, 502);
    await eventually(() => balancer.said.some((line) => says.test(line)), `${says} in ${balancer.said.join('\n')}`);
    assert.equal(upstream.requests.length, 0);
  });
}

test('tls_server_name is what the server hears and proves', async (t) => {
  const authority = await makeAuthority(t);
  const upstream = await startHttps(t, await authority.issue(['b.example']));
  const option = `tls_trust_pool file ${authority.rootFile}\ntls_server_name b.example`;
  const balancer = await front(t, `https://127.0.0.1:${upstream.port}`, option);
  assert.equal((await get(balancer.port)).body, 'secure');
  assert.equal(Reflect.get(upstream.secured[0]!, 'servername'), 'b.example');
});

test('tls_insecure_skip_verify takes whoever answers', async (t) => {
  const authority = await makeAuthority(t);
  const upstream = await startHttps(t, await authority.issue(['a.example'], -9, -2));
  const balancer = await front(t, `https://localhost:${upstream.port}`, 'tls_insecure_skip_verify');
  assert.equal((await get(balancer.port)).body, 'secure');
});

test('a server that asks for a certificate gets ours', async (t) => {
  const authority = await makeAuthority(t);
  const leaf = await authority.issue(['localhost']);
  const own = await authority.issue(['balancer']);
  const upstream = await startHttps(t, { ...leaf, ca: authority.root, requestCert: true, rejectUnauthorized: true });
  const trust = `tls_trust_pool file ${authority.rootFile}`;
  const with_ = await front(
    t,
    `https://localhost:${upstream.port}`,
    `${trust}\ntls_client_auth ${own.certFile} ${own.keyFile}`,
  );
  assert.equal((await get(with_.port)).body, 'secure');
  assert.equal(upstream.secured[0]?.getPeerCertificate().subject.CN, 'balancer');
  const without = await front(t, `https://localhost:${upstream.port}`, trust);
  assert.equal((await get(without.port)).status, 502);
});

test('a server that speaks no TLS is 502, and the log says so', async (t) => {
  const { startBackend } = await import('../support/backend.ts');
  const upstream = await startBackend(t, 'plain');
  const balancer = await front(t, `https://127.0.0.1:${upstream.port}`, 'tls_insecure_skip_verify');
  assert.equal((await get(balancer.port)).status, 502);
  await eventually(() => balancer.said.some((line) => /does not speak TLS/.test(line)), balancer.said.join('\n'));
});

const noOpenssl = unlessInstalled(OPENSSL, 'openssl');
for (const versions of ['1.1', '1.1 2']) {
  test(
    `a certificate that TLS 1.3 misses behind the handshake is 502 (${versions})`,
    { skip: noOpenssl },
    async (t) => {
      const authority = await makeAuthority(t);
      const { certFile, keyFile } = await authority.issue(['localhost']);
      const port = await freePort();
      const files = ['-cert', certFile, '-key', keyFile, '-CAfile', authority.rootFile];
      const args = ['s_server', '-accept', `127.0.0.1:${port}`, '-tls1_3', '-Verify', '1', '-verify_return_error'];
      await startServer(t, OPENSSL!, [...args, ...files, '-alpn', 'h2,http/1.1', '-quiet'], port);
      const trust = `tls_trust_pool file ${authority.rootFile}`;
      const balancer = await front(t, `https://localhost:${port}`, trust, versions);
      assert.equal((await get(balancer.port)).status, 502);
      const says = /refused the handshake .*it may want a certificate \(tls_client_auth\)/;
      await eventually(() => balancer.said.some((line) => says.test(line)), balancer.said.join('\n'));
    },
  );
}

test('an answer that a broken record cuts short is no whole answer', async (t) => {
  const authority = await makeAuthority(t);
  const { cert, key } = await authority.issue(['localhost']);
  const raws: Socket[] = [];
  const server = createServer({ cert, key }, (socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      // As long as the connection lasts, so its end has to be a good one.
      socket.write('HTTP/1.1 200 OK\r\n\r\nhalf of it', () => {
        for (const raw of raws)
          Reflect.get(raw, '_handle').writeLatin1String({ oncomplete() {} }, '\x17\x03\x03\0\x20' + 'x'.repeat(32));
      });
    });
  });
  server.on('connection', (raw: Socket) => void raws.push(raw.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const raw of raws) raw.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const balancer = await front(t, `https://localhost:${port}`, `tls_trust_pool file ${authority.rootFile}`);
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
  assert.equal(await client.ended(), 'reset');
});
