import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import type { ConnectionOptions } from 'node:tls';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { eventually } from '../support/backend.ts';
import { TestAuthority, type LeafFiles } from '../support/certificates.ts';
import { findProgram } from '../support/program.ts';
import { get, openClient } from '../support/raw-client.ts';
import { getTls, openTls } from '../support/tls-client.ts';

const GLOBALS = '{\n\tadmin off\n\tauto_https disable_redirects\n}\n';
const OPENSSL = findProgram('openssl');
const needsOpenssl = { skip: OPENSSL === undefined && 'openssl is not installed' };

interface Started {
  readonly balancer: TestBalancer;
  readonly port: number;
  readonly authority: TestAuthority;
  readonly leaf: LeafFiles;
}

/** One site `a.test` with a certificate from files. */
async function start(t: TestContext, tlsBlock = '', workers = 1, body = '\trespond ok'): Promise<Started> {
  const authority = await TestAuthority.create(t);
  const leaf = await authority.leaf('a', ['a.test']);
  const block = tlsBlock.replaceAll('ROOT', authority.rootFile);
  const config = `${GLOBALS}https://a.test:0 {\n\tbind 127.0.0.1\n\ttls ${leaf.certificateFile} ${leaf.keyFile} {\n${block}\n\t}\n${body}\n}\n`;
  const balancer = await startBalancer(t, config, { workers });
  return { balancer, port: balancer.port, authority, leaf };
}

/** Resolves with all that openssl printed, whatever its exit code. */
function openssl(args: readonly string[], input = 'Q\n'): Promise<string> {
  return new Promise((resolve) => {
    const child = execFile(OPENSSL!, args, { timeout: 20_000 }, (_error, stdout, stderr) => resolve(stdout + stderr));
    child.stdin!.on('error', () => {});
    child.stdin!.end(input);
  });
}

function sClient(port: number, ...args: string[]): Promise<string> {
  return openssl(['s_client', '-connect', `127.0.0.1:${port}`, '-servername', 'a.test', ...args]);
}

describe('versions and suites', () => {
  test('TLS 1.2 and 1.3 are spoken, 1.0 and 1.1 are not', needsOpenssl, async (t) => {
    const { port } = await start(t);
    assert.match(await sClient(port, '-tls1_3'), /New, TLSv1\.3, Cipher is TLS_AES_/);
    assert.match(await sClient(port, '-tls1_2'), /New, TLSv1\.2, Cipher is ECDHE-ECDSA-/);
    for (const version of ['-tls1', '-tls1_1']) {
      const output = await sClient(port, version, '-cipher', 'ALL:@SECLEVEL=0');
      assert.match(output, /Cipher is \(NONE\)/, version);
    }
  });

  test('suites without forward secrecy or authenticated encryption are refused', needsOpenssl, async (t) => {
    const { port } = await start(t);
    for (const suite of [
      'AES128-SHA',
      'AES256-GCM-SHA384',
      'ECDHE-ECDSA-AES128-SHA',
      'ECDHE-ECDSA-AES256-SHA384',
      'NULL',
      'eNULL',
    ]) {
      const output = await sClient(port, '-tls1_2', '-cipher', `${suite}:@SECLEVEL=0`);
      assert.doesNotMatch(output, /Cipher is ECDHE|Cipher is AES/, suite);
    }
  });

  test('no compression, no renegotiation, keys that are agreed for one connection', needsOpenssl, async (t) => {
    const { port } = await start(t);
    const args = ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', 'a.test'];
    const output = await openssl([...args, '-tls1_2', '-comp'], 'R\n');
    assert.match(output, /Compression: NONE/);
    assert.match(output, /Secure Renegotiation IS supported/);
    assert.match(output, /RENEGOTIATING[\s\S]*no renegotiation/);
    assert.match(output, /Server Temp Key: (?:X25519|ECDH)/);
    assert.match(await openssl([...args, '-tls1_3']), /Server Temp Key: X25519|Negotiated TLS1\.3 group: X25519/);
  });

  test('protocols, ciphers and curves of a tls block hold', needsOpenssl, async (t) => {
    const block =
      '\t\tprotocols tls1.2 tls1.2\n\t\tciphers TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384\n\t\tcurves secp384r1';
    const { port } = await start(t, block);
    const output = await sClient(port);
    assert.match(output, /Cipher is ECDHE-ECDSA-AES256-GCM-SHA384/);
    assert.match(output, /Server Temp Key: ECDH, (?:P-384|secp384r1), 384 bits/);
    assert.match(await sClient(port, '-tls1_3'), /Cipher is \(NONE\)/);
  });

  test('the protocol is agreed by ALPN', needsOpenssl, async (t) => {
    const { port } = await start(t);
    assert.match(await sClient(port, '-alpn', 'spdy/3,http/1.1'), /ALPN protocol: http\/1\.1/);
  });
});

describe('sessions', () => {
  for (const version of ['tls1_2', 'tls1_3']) {
    test(`are resumed by every worker (${version})`, needsOpenssl, async (t) => {
      const { port, balancer } = await start(t, '', 3);
      const folder = mkdtempSync(join(tmpdir(), 'holdfast-session-'));
      t.after(() => rmSync(folder, { recursive: true }));
      const file = join(folder, 'session');
      // A ticket of TLS 1.3 comes behind the handshake: a request waits for it.
      const request = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n';
      const args = ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', 'a.test', `-${version}`, '-ign_eof'];
      assert.match(await openssl([...args, '-sess_out', file], request), /New, TLS/);
      for (let round = 0; round < 8; round += 1) {
        assert.match(await openssl([...args, '-sess_in', file], request), /Reused, TLS/);
      }
      assert.match(await balancer.metrics(), /holdfast_tls_handshakes_total\{server="srv0",result="resumed"\} 8/);
    });
  }
});

describe('client certificates', () => {
  async function clients(
    t: TestContext,
    authority: TestAuthority,
  ): Promise<Record<'none' | 'known' | 'strange', ConnectionOptions>> {
    const base = { ca: authority.root.certificate, servername: 'a.test' };
    const known = await authority.leaf('client', ['client.test']);
    const strange = await (await TestAuthority.create(t, 'Other')).leaf('strange', ['client.test']);
    return {
      none: base,
      known: { ...base, cert: known.certificate, key: known.key },
      strange: { ...base, cert: strange.certificate, key: strange.key },
    };
  }

  const modes = [
    ['request', { none: true, known: true, strange: true }],
    ['require', { none: false, known: true, strange: true }],
    ['verify_if_given', { none: true, known: true, strange: false }],
    ['require_and_verify', { none: false, known: true, strange: false }],
  ] as const;
  for (const [mode, welcome] of modes) {
    test(`mode ${mode} lets in whom it should`, async (t) => {
      const { port, authority } = await start(
        t,
        `\t\tclient_auth {\n\t\t\tmode ${mode}\n\t\t\ttrust_pool file ROOT\n\t\t}`,
      );
      for (const [who, options] of Object.entries(await clients(t, authority))) {
        const answered = await getTls(port, options).then(
          ({ body }) => body === 'ok',
          () => false,
        );
        assert.equal(answered, welcome[who as keyof typeof welcome], who);
      }
    });
  }

  test('the certificate is told in placeholders', async (t) => {
    const block = '\t\tclient_auth {\n\t\t\ttrust_pool file ROOT\n\t\t}';
    const { port, authority } = await start(
      t,
      block,
      1,
      '\trespond "{http.request.tls.client.subject}|{http.request.tls.client.issuer}|{http.request.tls.client.fingerprint}"',
    );
    const { known } = await clients(t, authority);
    assert.match((await getTls(port, known)).body, /^CN=client\.test\|CN=Test Root\|[0-9a-f]{64}$/);
  });

  test('a site that asks for them is not reached with the handshake of another', async (t) => {
    const authority = await TestAuthority.create(t);
    const open = await authority.leaf('open', ['open.test']);
    const closed = await authority.leaf('closed', ['closed.test']);
    const config =
      `${GLOBALS}https://open.test:0 {\n\tbind 127.0.0.1\n\ttls ${open.certificateFile} ${open.keyFile}\n\trespond open\n}\n` +
      `https://closed.test:0 {\n\tbind 127.0.0.1\n\ttls ${closed.certificateFile} ${closed.keyFile} {\n\t\tclient_auth {\n\t\t\ttrust_pool file ${authority.rootFile}\n\t\t}\n\t}\n\trespond closed\n}\n`;
    const { port } = await startBalancer(t, config);
    const options = { ca: authority.root.certificate, servername: 'open.test' };
    assert.equal((await getTls(port, options)).body, 'open');
    assert.equal((await getTls(port, options, '/', { Host: 'closed.test' })).status, 421);
    // A session of the open site is no way in either.
    const { socket, raw } = await openTls(port, options);
    const session = once(socket, 'session');
    raw.send('GET / HTTP/1.1\r\nHost: open.test\r\n\r\n');
    const [ticket] = (await session) as [Buffer];
    raw.close();
    await assert.rejects(getTls(port, { ...options, servername: 'closed.test', session: ticket }));
  });

  test('a connection made before they were asked for is not kept', async (t) => {
    const { port, authority, balancer, leaf } = await start(t);
    const options = { ca: authority.root.certificate, servername: 'a.test' };
    const { raw } = await openTls(port, options);
    raw.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    assert.equal((await raw.response()).body, 'ok');
    await balancer.reload(
      `${GLOBALS}https://a.test:0 {\n\tbind 127.0.0.1\n\ttls ${leaf.certificateFile} ${leaf.keyFile} {\n\t\tclient_auth {\n\t\t\ttrust_pool file ${authority.rootFile}\n\t\t}\n\t}\n\trespond ok\n}\n`,
    );
    assert.equal(await raw.ended(), 'fin');
    await assert.rejects(getTls(port, options));
  });
});

describe('changes while it runs', () => {
  test('a new certificate in the files is served, and no handshake fails meanwhile', { timeout: 60_000 }, async (t) => {
    const { port, authority, leaf, balancer } = await start(t);
    const options = { ca: authority.root.certificate, servername: 'a.test' };
    const { socket, raw } = await openTls(port, options);
    const before = socket.getPeerX509Certificate()!.serialNumber;
    const next = await authority.leaf('next', ['a.test']);
    const seen = new Set<string>();
    let failed = 0;
    const ended = new AbortController();
    const load = (async () => {
      while (!ended.signal.aborted) {
        try {
          const client = await openTls(port, options);
          seen.add(client.socket.getPeerX509Certificate()!.serialNumber);
          client.raw.close();
        } catch {
          failed += 1;
        }
      }
    })();
    for (const [from, to] of [
      [next.keyFile, leaf.keyFile],
      [next.certificateFile, leaf.certificateFile],
    ] as const) {
      copyFileSync(from, `${to}.new`);
      renameSync(`${to}.new`, to);
    }
    await eventually(() => seen.size === 2, 'the new certificate to be served', 30_000);
    ended.abort();
    await load;
    assert.equal(failed, 0);
    assert.ok(seen.has(before));
    raw.send('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n');
    assert.equal((await raw.response()).body, 'ok', 'an open connection goes on');
    assert.match(
      await balancer.metrics(),
      /holdfast_certificate_renewals_total\{certificate=".*a\.crt",result="success"\} 1/,
    );
  });

  test('a broken new file is told, and the old certificate serves on', { timeout: 60_000 }, async (t) => {
    const { port, authority, leaf, balancer } = await start(t);
    const events: string[] = [];
    balancer.on('certificate-failed', ({ message }) => events.push(message));
    writeFileSync(leaf.certificateFile, 'rubbish');
    await eventually(() => events.length > 0, 'the event', 30_000);
    assert.match(events[0]!, /a\.crt: there is no certificate in it.*; the old certificate serves on/);
    assert.equal((await getTls(port, { ca: authority.root.certificate, servername: 'a.test' })).body, 'ok');
    assert.match(
      await balancer.metrics(),
      /holdfast_certificate_renewals_total\{certificate=".*a\.crt",result="failure"\} 1/,
    );
  });

  test('reloads under load break no handshake and no request', { timeout: 60_000 }, async (t) => {
    const { port, authority, leaf, balancer } = await start(t, '', 2);
    const options = { ca: authority.root.certificate, servername: 'a.test' };
    const ended = new AbortController();
    let asked = 0;
    const failures: unknown[] = [];
    const load = Promise.all(
      Array.from({ length: 3 }, async () => {
        while (!ended.signal.aborted) {
          asked += 1;
          await getTls(port, options).catch((error: unknown) => failures.push(error));
        }
      }),
    );
    for (let round = 0; round < 5; round += 1) {
      const config = `${GLOBALS}https://a.test:0 {\n\tbind 127.0.0.1\n\ttls ${leaf.certificateFile} ${leaf.keyFile}\n\trespond ${round}\n}\n`;
      await balancer.reload(config);
    }
    ended.abort();
    await load;
    assert.deepEqual(failures, []);
    assert.ok(asked > 5);
  });
});

describe('redirects', () => {
  async function freePort(): Promise<number> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    server.close();
    await once(server, 'close');
    return typeof address === 'object' ? address!.port : 0;
  }

  test('requests in the clear are sent to HTTPS, and sites with http:// are served', async (t) => {
    const [http, https] = [await freePort(), await freePort()];
    const globals = `{\n\tadmin off\n\thttp_port ${http}\n\thttps_port ${https}\n\tdefault_bind 127.0.0.1\n}\n`;
    await startBalancer(t, `${globals}localhost {\n\trespond secure\n}\nhttp://plain.test {\n\trespond plain\n}\n`);
    const redirect = await get(http, '/path?q=1', { Host: 'localhost' });
    assert.equal(redirect.status, 308);
    assert.equal(redirect.header('Location'), 'https://localhost/path?q=1');
    assert.equal((await get(http, '/', { Host: 'plain.test' })).body, 'plain');
    const options = { servername: 'localhost', rejectUnauthorized: false };
    assert.equal((await getTls(https, options)).body, 'secure');
  });

  test('a site on a port of its own is named with its port', async (t) => {
    const [http, own] = [await freePort(), await freePort()];
    const globals = `{\n\tadmin off\n\thttp_port ${http}\n\tdefault_bind 127.0.0.1\n}\n`;
    await startBalancer(t, `${globals}localhost:${own} {\n\trespond secure\n}\n`);
    assert.equal((await get(http, '/x', { Host: 'localhost' })).header('Location'), `https://localhost:${own}/x`);
  });
});

describe('limits', () => {
  test('a connection too many is reset before its handshake', async (t) => {
    const authority = await TestAuthority.create(t);
    const leaf = await authority.leaf('a', ['a.test']);
    const globals = GLOBALS.replace(
      'admin off',
      'admin off\n\tservers {\n\t\tlimits {\n\t\t\tconnections 1\n\t\t}\n\t}',
    );
    const config = `${globals}https://a.test:0 {\n\tbind 127.0.0.1\n\ttls ${leaf.certificateFile} ${leaf.keyFile}\n\trespond ok\n}\n`;
    const { port } = await startBalancer(t, config);
    const options = { ca: authority.root.certificate, servername: 'a.test' };
    const { raw } = await openTls(port, options);
    await assert.rejects(openTls(port, options), { code: 'ECONNRESET' });
    raw.close();
    await eventually(async () => {
      try {
        return (await getTls(port, options)).body === 'ok';
      } catch {
        return false;
      }
    }, 'the place to be free again');
  });

  test('a handshake that stops takes a place and gives it back', async (t) => {
    const { port, balancer } = await start(t);
    const client = await openClient(port);
    client.send('\x16\x03\x01');
    await eventually(async () => /holdfast_connections_open 1/.test(await balancer.metrics()), 'it to be counted');
    client.close();
    await eventually(async () => /holdfast_connections_open 0/.test(await balancer.metrics()), 'it to be gone');
    assert.match(await balancer.metrics(), /holdfast_tls_handshakes_total\{server="srv0",result="failed"\} 1/);
  });
});
