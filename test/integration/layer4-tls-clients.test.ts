/** Layer-4 servers that end the TLS of their clients. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { eventually, startScripted, type ScriptedUpstream } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { TestAuthority } from '../support/certificates.ts';
import { layer4 } from '../support/layer4-site.ts';
import {
  connectSecure,
  connectTls,
  startLayer4Tls,
  type SecureClient,
  type TlsFrontend,
} from '../support/layer4-tls.ts';
import { findProgram, runProgram, unlessInstalled } from '../support/program.ts';
import { connectTo } from '../support/tcp-world.ts';

const OPTIONS = { timeout: 60_000, concurrency: true };
const MIB = 1_048_576;
const OPENSSL = findProgram('openssl');
/** A PROXY v2 header begins with this. */
const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n';

interface Setting {
  readonly upstream: ScriptedUpstream;
  readonly front: TlsFrontend;
  readonly servername: string;
  readonly ca: string;
}

/** One name, one server behind it in the clear. */
async function start(t: TestContext, script: (socket: Socket) => void, options = ''): Promise<Setting> {
  const upstream = await startScripted(t, script);
  const body = `      @db tls sni db.localhost\n      route @db {\n tls\n proxy 127.0.0.1:${upstream.port} {\n${options}\n}\n}`;
  const front = await startLayer4Tls(t, body);
  return { upstream, front, servername: 'db.localhost', ca: front.root };
}

describe('relay', OPTIONS, () => {
  test('20 MB of noise come back as they were, both directions at once', async (t) => {
    const { front, servername, ca } = await start(t, (socket) => socket.pipe(socket));
    const { socket } = await connectTls(t, front.port, { servername, ca });
    socket.removeAllListeners('data');
    const [sent, received] = [createHash('sha256'), createHash('sha256')];
    let receivedBytes = 0;
    socket.on('data', (chunk: Buffer) => {
      received.update(chunk);
      receivedBytes += chunk.length;
    });
    let bytes = 0;
    for (let nth = 0; bytes < 20 * MIB; nth += 1) {
      const piece = randomBytes(1 + ((nth * 7919) % 200_000));
      sent.update(piece);
      bytes += piece.length;
      if (!socket.write(piece)) await once(socket, 'drain');
    }
    socket.end();
    await once(socket, 'close');
    assert.equal(receivedBytes, bytes);
    assert.equal(received.digest('hex'), sent.digest('hex'));
  });

  test('the client ends first: it gets the late answer whole', async (t) => {
    const { front, servername, ca } = await start(t, (socket) =>
      socket.on('end', () => setTimeout(() => socket.end('a'.repeat(MIB)), 100)),
    );
    const client = await connectTls(t, front.port, { servername, ca });
    client.send('x').socket.end();
    assert.equal(await client.ended(), 'fin');
    assert.equal(client.received.length, MIB);
  });

  test('the server ends first: it gets what the client still says', async (t) => {
    const { upstream, front, servername, ca } = await start(t, (socket) => socket.end('bye'));
    const client = await connectTls(t, front.port, { servername, ca });
    assert.equal(await client.ended(), 'fin');
    assert.equal(client.received, 'bye');
    client.send('z'.repeat(MIB)).socket.end();
    await eventually(() => upstream.received[0]?.length === MIB, 'the bytes behind the end');
  });

  test('a server that speaks first is heard before the client says anything', async (t) => {
    const { front, servername, ca } = await start(t, (socket) => socket.write('220 ready\r\n'));
    const client = await connectTls(t, front.port, { servername, ca });
    await client.until(() => client.received === '220 ready\r\n');
  });

  test('a reset goes through, in either direction', async (t) => {
    const ends: boolean[] = [];
    const { upstream, front, servername, ca } = await start(t, (socket) => {
      socket.on('close', (broken) => ends.push(broken));
      socket.on('data', (data) => void (data.includes('reset') && socket.resetAndDestroy()));
    });
    const first = await connectTls(t, front.port, { servername, ca });
    first.send('reset');
    assert.equal(await first.ended(), 'reset');
    const raw = connect(front.port, '127.0.0.1');
    raw.on('error', () => {});
    const second = await connectTls(t, front.port, { servername, ca, socket: raw });
    second.send('x');
    await eventually(() => upstream.received[1] === 'x', 'the byte');
    raw.resetAndDestroy();
    await eventually(() => ends.length === 2, 'both ends');
    assert.equal(ends[1], true);
  });

  test('a server that nobody listens at resets the client', async (t) => {
    const upstream = await startScripted(t, (socket) => void socket.resetAndDestroy());
    const body = `      @a tls sni a.localhost\n      route @a {\n tls\n proxy 127.0.0.1:${upstream.port}\n}`;
    const { port, root } = await startLayer4Tls(t, body);
    const client = await connectTls(t, port, { servername: 'a.localhost', ca: root });
    assert.equal(await client.ended(), 'reset');
  });
});

describe('what follows sees the bytes inside', OPTIONS, () => {
  test('matchers behind tls choose by them', async (t) => {
    const [web, shell, rest] = await Promise.all(
      ['web', 'shell', 'rest'].map((name) => startScripted(t, (socket) => socket.once('data', () => socket.end(name)))),
    );
    const to = (upstream: ScriptedUpstream | undefined): string => `proxy 127.0.0.1:${upstream!.port}`;
    const body = `      @all tls sni in.localhost
      route @all {
        tls
        subroute {
          @web http host a.test
          @shell ssh
          route @web {
            ${to(web)}
          }
          route @shell {
            ${to(shell)}
          }
          route {
            ${to(rest)}
          }
        }
      }`;
    const { port, root } = await startLayer4Tls(t, body);
    for (const [bytes, name] of [
      ['GET / HTTP/1.1\r\nHost: a.test\r\n\r\n', 'web'],
      ['SSH-2.0-x\r\n', 'shell'],
      ['GET / HTTP/1.1\r\nHost: b.test\r\n\r\n', 'rest'],
    ] as const) {
      const client = await connectTls(t, port, { servername: 'in.localhost', ca: root });
      client.send(bytes);
      await client.ended();
      assert.equal(client.received, name);
    }
    const [first] = web!.received;
    assert.equal(first, 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n', 'what the matchers read is passed on');
  });

  test('routes go on below: TLS for one name, the bytes of all others as they are', async (t) => {
    const upstream = await startScripted(t, (socket) => socket.once('data', (data: Buffer) => socket.end(data)));
    const body = `      @own tls sni own.localhost\n      route @own {\n tls\n }\n      route {\n proxy 127.0.0.1:${upstream.port}\n }`;
    const { port, root } = await startLayer4Tls(t, body);
    const secure = await connectTls(t, port, { servername: 'own.localhost', ca: root });
    secure.send('inside');
    await secure.ended();
    assert.equal(secure.received, 'inside');
    const plain = await connectTo(t, port);
    plain.send('outside, and no ClientHello');
    await plain.ended();
    assert.equal(plain.received, 'outside, and no ClientHello');
  });

  test('echo inside of TLS', async (t) => {
    const { port, root } = await startLayer4Tls(t, '      @e tls sni e.localhost\n      route @e {\n tls\n echo\n }');
    const client = await connectTls(t, port, { servername: 'e.localhost', ca: root });
    client.send('hello').socket.end();
    assert.equal(await client.ended(), 'fin');
    assert.equal(client.received, 'hello');
  });

  test('the PROXY header tells of the TLS that was ended', async (t) => {
    const options = 'proxy_protocol v2 {\nauthority\nssl\n}';
    const { upstream, front, servername, ca } = await start(t, (socket) => socket.write('.'), options);
    const client = await connectTls(t, front.port, { servername, ca, maxVersion: 'TLSv1.2' });
    await client.until(() => client.received === '.');
    await eventually(() => (upstream.received[0]?.length ?? 0) > 28, 'the header');
    const bytes = Buffer.from(upstream.received[0]!, 'latin1');
    assert.equal(bytes.toString('latin1', 0, 12), SIGNATURE);
    const tlvs = bytes.toString('latin1', 28);
    assert.ok(tlvs.startsWith('\x02\0\x0cdb.localhost\x20\0'), JSON.stringify(tlvs));
    assert.ok(tlvs.includes('\x01\0\0\0\x01\x21\0\x07TLSv1.2\x23\0'), JSON.stringify(tlvs));
    assert.ok(tlvs.endsWith('TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256'), JSON.stringify(tlvs));
  });
});

describe('handshakes', OPTIONS, () => {
  test('a PROXY header may stand in front, and its client is the one that goes on', async (t) => {
    const upstream = await startScripted(t, () => {});
    const body = `      route {
        proxy_protocol
        subroute {
          @db tls sni db.localhost
          route @db {
            tls
            proxy 127.0.0.1:${upstream.port} {
              proxy_protocol v1
            }
          }
        }
      }`;
    const { port, root } = await startLayer4Tls(t, body);
    const raw = connect(port, '127.0.0.1');
    raw.write('PROXY TCP4 203.0.113.5 192.0.2.1 4711 443\r\n');
    const client = await connectTls(t, port, { socket: raw, servername: 'db.localhost', ca: root });
    client.send('x');
    await eventually(() => upstream.received[0]?.endsWith('x') === true, 'the byte');
    assert.equal(upstream.received[0], 'PROXY TCP4 203.0.113.5 192.0.2.1 4711 443\r\nx');
  });

  test('what is no TLS is told so and closed, and an unknown name is refused by its alert', async (t) => {
    const upstream = await startScripted(t, () => {});
    const body = `      route {\n tls {\n connection_policy {\n match {\n sni db.localhost\n}\n}\n}\n proxy 127.0.0.1:${upstream.port}\n }`;
    const { port, root } = await startLayer4Tls(t, body);
    const plain = await connectTo(t, port);
    plain.send('EHLO someone\r\n');
    await plain.ended();
    assert.equal(plain.received, '\x15\x03\x01\0\x02\x02\x32');
    await assert.rejects(connectTls(t, port, { servername: 'other.localhost', ca: root }), {
      code: 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME',
    });
    await connectTls(t, port, { servername: 'db.localhost', ca: root });
    await eventually(() => upstream.sockets.length === 1, 'the one connection that came through');
  });

  test('policies: the first whose name fits decides on protocols, versions and client certificates', async (t) => {
    const authority = await TestAuthority.create(t);
    const known = await authority.leaf('client', ['client.test']);
    const upstream = await startScripted(t, (socket) => socket.write('in'));
    const body = `      route {
        tls {
          connection_policy {
            match {
              sni old.localhost
            }
            protocols tls1.2 tls1.2
            alpn imap
          }
          connection_policy {
            default_sni strict.localhost
            client_auth {
              mode require_and_verify
              trusted_ca_cert_file ${authority.rootFile}
            }
          }
        }
        proxy 127.0.0.1:${upstream.port}
      }`;
    const { port, root: ca } = await startLayer4Tls(t, body);
    const { socket: old } = await connectSecure(t, port, { servername: 'old.localhost', ca, ALPNProtocols: ['imap'] });
    assert.deepEqual([old.alpnProtocol, old.getProtocol()], ['imap', 'TLSv1.2']);
    const strict = { servername: 'strict.localhost', ca };
    const stranger = await connectTls(t, port, strict);
    assert.equal(await stranger.ended(), 'reset');
    const friend = await connectTls(t, port, { ...strict, cert: known.certificate, key: known.key });
    await friend.until(() => friend.received === 'in');
    const nameless = {
      ca,
      cert: known.certificate,
      key: known.key,
      servername: '',
      checkServerIdentity: () => undefined,
    };
    const lucky = await connectTls(t, port, { ...nameless, ALPNProtocols: ['anything'] });
    await lucky.until(() => lucky.received === 'in');
  });

  test('sessions are resumed by another worker', async (t) => {
    const upstream = await startScripted(t, (socket) => socket.write('in'));
    const body = `      @db tls sni db.localhost\n      route @db {\n tls\n proxy 127.0.0.1:${upstream.port}\n }`;
    const front = await startLayer4Tls(t, body, { workers: 2 });
    const options = { servername: 'db.localhost', ca: front.root };
    const sessions: Buffer[] = [];
    const first = await connectSecure(t, front.port, options);
    first.socket.on('session', (session: Buffer) => sessions.push(session));
    await eventually(() => sessions.length > 0, 'a ticket');
    for (let nth = 0; nth < 6; nth += 1) {
      const { socket } = await connectSecure(t, front.port, { ...options, session: sessions[0]! });
      assert.equal(socket.isSessionReused(), true);
    }
  });

  test('a client that goes in the middle of its handshake leaves nothing', async (t) => {
    const upstream = await startScripted(t, () => {});
    const body = `      connections 1\n      route {\n tls {\n connection_policy {\n default_sni db.localhost\n}\n}\n proxy 127.0.0.1:${upstream.port}\n }`;
    const { port, root } = await startLayer4Tls(t, body);
    for (let nth = 0; nth < 3; nth += 1) {
      const client = await connectTo(t, port);
      client.send('\x16\x03\x01');
      await new Promise((resolve) => setTimeout(resolve, 20));
      client.socket.resetAndDestroy();
      // There is one place: it must have been given back.
      await eventually(async () => {
        const next = await connectTls(t, port, { servername: 'db.localhost', ca: root }).catch(() => null);
        next?.socket.destroy();
        return next !== null;
      }, 'a free place');
      await eventually(() => upstream.sockets.every((socket) => socket.destroyed || socket.readableEnded), 'its end');
    }
  });

  test('openssl s_client', { skip: unlessInstalled(OPENSSL, 'openssl') }, async (t) => {
    const { front } = await start(t, (socket) =>
      socket.once('data', (data: Buffer) => socket.end(`got ${String(data)}`)),
    );
    const args = ['s_client', '-connect', `127.0.0.1:${front.port}`, '-servername', 'db.localhost', '-quiet'];
    const { stdout } = await runProgram(OPENSSL!, args, 'hello\n');
    assert.equal(stdout, 'got hello\n');
  });
});

describe('certificates', OPTIONS, () => {
  test('those of the sites serve, and running connections outlive a reload that changes them', async (t) => {
    const upstream = await startScripted(t, (socket) => socket.pipe(socket));
    const authority = await TestAuthority.create(t);
    const config = (file: string, key: string): string =>
      `{\n admin off\n auto_https disable_redirects\n layer4 {\n 127.0.0.2:0 {\n route {\n tls\n proxy 127.0.0.1:${upstream.port}\n}\n}\n}\n}\n` +
      `https://db.test:0 {\n bind 127.0.0.1\n tls ${file} ${key}\n respond ok\n}\n`;
    const first = await authority.leaf('first', ['db.test']);
    const balancer = await startBalancer(t, config(first.certificateFile, first.keyFile));
    const { port } = balancer.addresses().get('tcp/127.0.0.2:0')!;
    const options = { servername: 'db.test', ca: authority.root.certificate };
    const reach = (): Promise<SecureClient> => {
      const socket = connect({ port, host: '127.0.0.2', allowHalfOpen: true });
      return connectSecure(t, port, { ...options, socket });
    };
    const { client, socket: before } = await reach();
    const second = await authority.leaf('second', ['db.test']);
    await balancer.reload(config(second.certificateFile, second.keyFile));
    client.send('still here');
    await client.until(() => client.received === 'still here');
    const { socket: after } = await reach();
    assert.notEqual(before.getPeerCertificate().fingerprint256, after.getPeerCertificate().fingerprint256);
  });

  test('reloads under load fail no handshake and cut no stream', async (t) => {
    const upstream = await startScripted(t, (socket) => socket.pipe(socket));
    const body = (round: number): string =>
      `      idle_timeout ${60 + round}s\n      @db tls sni db.localhost\n      route @db {\n tls\n proxy 127.0.0.1:${upstream.port}\n }`;
    const front = await startLayer4Tls(t, body(0), { workers: 2 });
    const options = { servername: 'db.localhost', ca: front.root };
    const stream = await connectTls(t, front.port, options);
    const ended = new AbortController();
    const failures: unknown[] = [];
    let made = 0;
    const load = Promise.all(
      Array.from({ length: 3 }, async () => {
        while (!ended.signal.aborted) {
          try {
            const client = await connectTls(t, front.port, options);
            client.send('x');
            await client.until(() => client.received === 'x');
            client.close();
            made += 1;
          } catch (error) {
            failures.push(error);
          }
        }
      }),
    );
    for (let round = 1; round <= 5; round += 1) {
      await front.reload(layer4(body(round)));
      stream.send(`${round}`);
    }
    ended.abort();
    await load;
    await stream.until(() => stream.received === '12345');
    assert.deepEqual(failures, []);
    assert.ok(made > 5, `${made} connections`);
  });

  test('a tls handler without any certificate is refused', async (t) => {
    const config = layer4(`      route {\n        tls\n        proxy 127.0.0.1:1\n      }`);
    await assert.rejects(
      startBalancer(t, config),
      /tls has no certificate to show: lead to it with .* at Caddyfile:7$/,
    );
  });
});

test('handshakes are counted by what became of them', OPTIONS, async (t) => {
  const { front, servername, ca } = await start(t, (socket) => socket.write('.'));
  const client = await connectTls(t, front.port, { servername, ca });
  await client.until(() => client.received === '.');
  await assert.rejects(connectTls(t, front.port, { servername, ca, ciphers: 'AES128-SHA', maxVersion: 'TLSv1.2' }));
  const counted = async (): Promise<string[]> => {
    const lines = (await front.metrics()).split('\n');
    return lines.filter((line) => line.startsWith('holdfast_layer4_tls_handshakes_total'));
  };
  await eventually(async () => (await counted()).some((line) => / 1$/.test(line) && line.includes('failed')), 'both');
  assert.deepEqual(
    (await counted()).map((line) => line.replace(/^.*result=/, '')),
    ['"full"} 1', '"resumed"} 0', '"failed"} 1'],
  );
});
