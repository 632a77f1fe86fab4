import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { once } from 'node:events';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { TestAuthority } from '../support/certificates.ts';
import { get, openClient } from '../support/raw-client.ts';
import { getTls, openTls } from '../support/tls-client.ts';

/** Global options: no admin port, and no redirects from port 80. */
const GLOBALS = '{\n\tadmin off\n\tauto_https disable_redirects\n}\n';

const backend = createServer((request, response) => {
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({ url: request.url, headers: request.headers }));
});
let upstream = '';

before(async () => {
  backend.listen(0, '127.0.0.1');
  await once(backend, 'listening');
  const address = backend.address();
  upstream = `127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
});
after(() => {
  backend.close();
  backend.closeAllConnections();
});

function dataDir(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-data-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A site with a certificate of our own authority. */
async function startLocal(t: TestContext, body = ''): Promise<TestBalancer & { readonly root: string }> {
  const dir = dataDir(t);
  const config = `${GLOBALS}https://localhost:0 {\n\tbind 127.0.0.1\n\treverse_proxy ${upstream}\n${body}\n}\n`;
  const balancer = await startBalancer(t, config, { dataDir: dir });
  return Object.assign(balancer, { root: readFileSync(join(dir, 'pki/authorities/local/root.crt'), 'utf8') });
}

describe('a site with a certificate of our own authority', () => {
  test('is trusted by a client that trusts the root, and by nobody else', async (t) => {
    const { port, root } = await startLocal(t);
    const { status, body } = await getTls(port, { ca: root, servername: 'localhost' }, '/path?q=1');
    assert.equal(status, 200);
    const seen = JSON.parse(body) as { url: string; headers: Record<string, string> };
    assert.equal(seen.url, '/path?q=1');
    assert.equal(seen.headers['x-forwarded-proto'], 'https');
    await assert.rejects(getTls(port, { servername: 'localhost' }), /self.signed certificate|unable to get/i);
  });

  test('keeps its keys for its owner alone', async (t) => {
    const dir = dataDir(t);
    await startBalancer(t, `${GLOBALS}https://localhost:0 {\n\tbind 127.0.0.1\n\trespond ok\n}\n`, { dataDir: dir });
    for (const file of ['root.key', 'intermediate.key', 'root.crt']) {
      assert.equal(statSync(join(dir, 'pki/authorities/local', file)).mode & 0o777, 0o600, file);
    }
  });

  test('keeps its root over a restart', async (t) => {
    const dir = dataDir(t);
    const config = `${GLOBALS}https://localhost:0 {\n\tbind 127.0.0.1\n\trespond ok\n}\n`;
    const first = await startBalancer(t, config, { dataDir: dir });
    const root = readFileSync(join(dir, 'pki/authorities/local/root.crt'), 'utf8');
    await first.stop();
    const second = await startBalancer(t, config, { dataDir: dir });
    assert.equal((await getTls(second.port, { ca: root, servername: 'localhost' })).body, 'ok');
  });

  test('gives an IP address a certificate that a client without SNI gets', async (t) => {
    const dir = dataDir(t);
    const config = `${GLOBALS}https://127.0.0.1:0 {\n\tbind 127.0.0.1\n\trespond ok\n}\n`;
    const { port } = await startBalancer(t, config, { dataDir: dir });
    const root = readFileSync(join(dir, 'pki/authorities/local/root.crt'), 'utf8');
    const { socket, raw } = await openTls(port, { ca: root, servername: '' });
    assert.equal(socket.getPeerCertificate().subjectaltname, 'IP Address:127.0.0.1');
    raw.close();
  });

  test('sets sticky cookies Secure and SameSite=None', async (t) => {
    const dir = dataDir(t);
    const config = `${GLOBALS}https://localhost:0 {\n\tbind 127.0.0.1\n\treverse_proxy ${upstream} {\n\t\tlb_policy cookie\n\t}\n}\n`;
    const { port } = await startBalancer(t, config, { dataDir: dir });
    const root = readFileSync(join(dir, 'pki/authorities/local/root.crt'), 'utf8');
    const { headers } = await getTls(port, { ca: root, servername: 'localhost' });
    const [cookie = ''] = headers('Set-Cookie');
    assert.match(cookie, /^lb=.*; Path=\/; HttpOnly; Secure; SameSite=None$|^lb=.*Secure.*SameSite=None/);
  });

  test('tells of its TLS in placeholders, and matches as https', async (t) => {
    const body =
      '\t@secure protocol https\n' +
      '\theader @secure X-Tls "{http.request.scheme} {http.request.tls.version} {http.request.tls.cipher_suite} {http.request.tls.server_name} {http.request.tls.proto} {http.request.tls.resumed}"';
    const { port, root } = await startLocal(t, body);
    const response = await getTls(port, { ca: root, servername: 'localhost' });
    assert.match(response.header('X-Tls') ?? '', /^https tls1\.3 TLS_AES_\d+_GCM_SHA\d+ localhost http\/1\.1 false$/);
  });

  test('serves several requests on one connection, and a tunnel', async (t) => {
    const { port, root } = await startLocal(t);
    const { raw } = await openTls(port, { ca: root, servername: 'localhost' });
    for (const target of ['/1', '/2', '/3']) {
      raw.send(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      const { body } = await raw.response();
      assert.equal((JSON.parse(body) as { url: string }).url, target);
    }
    raw.close();
  });
});

describe('certificates from files', () => {
  test('are chosen by exact name, then wildcard; a name without one is refused with an alert', async (t) => {
    const authority = await TestAuthority.create(t);
    const exact = await authority.leaf('exact', ['www.shop.test']);
    const wild = await authority.leaf('wild', ['*.shop.test']);
    const config =
      `${GLOBALS}https://www.shop.test:0 {\n\tbind 127.0.0.1\n\ttls ${exact.certificateFile} ${exact.keyFile}\n\trespond exact\n}\n` +
      `https://*.shop.test:0 {\n\tbind 127.0.0.1\n\ttls ${wild.certificateFile} ${wild.keyFile}\n\trespond wild\n}\n`;
    const { port } = await startBalancer(t, config);
    const ca = authority.root.certificate;
    assert.equal((await getTls(port, { ca, servername: 'www.shop.test' })).body, 'exact');
    assert.equal((await getTls(port, { ca, servername: 'api.shop.test' })).body, 'wild');
    await assert.rejects(getTls(port, { ca, servername: 'other.test' }), { code: 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME' });
  });

  test('default_sni serves clients that name nobody, fallback_sni those that name somebody unknown', async (t) => {
    const authority = await TestAuthority.create(t);
    const { certificateFile, keyFile } = await authority.leaf('shop', ['shop.test']);
    const globals = GLOBALS.replace('admin off', 'admin off\n\tdefault_sni shop.test\n\tfallback_sni shop.test');
    const config = `${globals}https://shop.test:0 {\n\tbind 127.0.0.1\n\ttls ${certificateFile} ${keyFile}\n\trespond ok\n}\n`;
    const { port } = await startBalancer(t, config);
    for (const servername of ['', 'stranger.test']) {
      const options = { ca: authority.root.certificate, servername, checkServerIdentity: () => undefined };
      assert.equal((await getTls(port, options, '/', { Host: 'shop.test' })).body, 'ok', servername);
    }
  });

  test('a file that is missing, or a key of another certificate, is told with its line', async (t) => {
    const authority = await TestAuthority.create(t);
    const [one, two] = [await authority.leaf('one', ['a.test']), await authority.leaf('two', ['b.test'])];
    const config = (files: string): string => `${GLOBALS}https://a.test:0 {\n\tbind 127.0.0.1\n\ttls ${files}\n}\n`;
    await assert.rejects(
      startBalancer(t, config('/nowhere/a.crt /nowhere/a.key')),
      /cannot read \/nowhere\/a\.crt.*Caddyfile:7/,
    );
    await assert.rejects(
      startBalancer(t, config(`${one.certificateFile} ${two.keyFile}`)),
      /does not belong.*Caddyfile:7/,
    );
  });
});

describe('what is no TLS', () => {
  test('a request in the clear is told that this is an HTTPS server', async (t) => {
    const { port } = await startLocal(t);
    const { status, body } = await get(port);
    assert.equal(status, 400);
    assert.equal(body, 'Client sent an HTTP request to an HTTPS server.\n');
  });

  test('other bytes end the connection, and the next client is served', async (t) => {
    const { port, root } = await startLocal(t);
    for (const bytes of ['\x00\x01\x02\x03', 'SSH-2.0-x\r\n', '\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00']) {
      const client = await openClient(port);
      client.send(bytes);
      await client.ended();
    }
    assert.equal((await getTls(port, { ca: root, servername: 'localhost' })).status, 200);
    assert.match(await (await startLocal(t)).metrics(), /holdfast_tls_handshakes_total/);
  });

  test('a broken ClientHello and a client that leaves in the middle hurt nobody', async (t) => {
    const { port, root } = await startLocal(t);
    const hello = await captureHello();
    for (const bytes of [hello.subarray(0, 40), Buffer.concat([hello, Buffer.alloc(300, 0x17)])]) {
      const client = await openClient(port);
      client.send(bytes);
      await new Promise((resolve) => setTimeout(resolve, 30));
      client.close();
    }
    assert.equal((await getTls(port, { ca: root, servername: 'localhost' })).status, 200);
  });

  test('a ClientHello on a plain port is answered at once', async (t) => {
    const config = '{\n\tadmin off\n\tauto_https off\n}\nhttp://:0 {\n\tbind 127.0.0.1\n\trespond ok\n}\n';
    const { port } = await startBalancer(t, config);
    const client = await openClient(port);
    client.send(await captureHello());
    assert.equal((await client.response()).status, 400);
    client.close();
  });
});

/** The first bytes a TLS client sends. */
async function captureHello(): Promise<Buffer> {
  const { createServer: createTcp } = await import('node:net');
  const { connect: connectTls } = await import('node:tls');
  const server = createTcp().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const accepted = once(server, 'connection');
  const client = connectTls({
    port: typeof address === 'object' ? address!.port : 0,
    host: '127.0.0.1',
    servername: 'localhost',
  });
  client.on('error', () => {});
  const [socket] = (await accepted) as [Socket];
  const [hello] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  client.destroy();
  server.close();
  return hello;
}
