/** Layer-4 proxies whose servers are behind TLS. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { createServer, type TlsOptions, type TLSSocket } from 'node:tls';
import { makeAuthority, type Authority } from '../support/authority.ts';
import { eventually, startScripted } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { layer4 } from '../support/layer4-site.ts';
import { connectTls, listeningLog, startLayer4Tls } from '../support/layer4-tls.ts';
import { findProgram, freePort, startServer, unlessInstalled } from '../support/program.ts';
import { connectTo } from '../support/tcp-world.ts';

const OPTIONS = { timeout: 60_000, concurrency: true };
const MIB = 1_048_576;
const OPENSSL = findProgram('openssl');

interface SecureServer {
  readonly port: number;
  readonly sockets: readonly TLSSocket[];
  /** Of each connection, latin1. */
  readonly received: readonly string[];
  /** Which of them resumed a session. */
  readonly resumed: readonly boolean[];
}

/** A TLS server that keeps half-closed connections. */
async function startSecure(
  t: TestContext,
  options: TlsOptions,
  script: (socket: TLSSocket, raw: Socket) => void = () => {},
): Promise<SecureServer> {
  const sockets: TLSSocket[] = [];
  const received: string[] = [];
  const resumed: boolean[] = [];
  const raws = new Set<Socket>();
  const server = createServer({ ...options, allowHalfOpen: true }, (socket) => {
    const index = sockets.push(socket) - 1;
    resumed.push(socket.isSessionReused());
    received[index] = '';
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => (received[index] += chunk.toString('latin1')));
    script(
      socket,
      [...raws].find((raw) => raw.remotePort === socket.remotePort)!,
    );
  });
  server.on('tlsClientError', () => {});
  server.on('connection', (raw: Socket) => {
    raws.add(raw);
    raw.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    for (const raw of raws) raw.destroy();
  });
  return { port: (server.address() as AddressInfo).port, sockets, received, resumed };
}

interface Front extends TestBalancer {
  readonly said: readonly string[];
}

/** `tls` are lines of each upstream. */
async function front(t: TestContext, ports: readonly number[], tls: string, proxy = 'lb_policy first'): Promise<Front> {
  const upstreams = ports.map((port) => `upstream localhost:${port} {\n${tls}\n}`).join('\n');
  const { log, said } = listeningLog();
  const balancer = await startBalancer(t, layer4(`route {\nproxy {\n${upstreams}\n${proxy}\n}\n}`), { log });
  return Object.assign(balancer, { said });
}

/** One server with a certificate that is trusted. */
async function trusted(
  t: TestContext,
  script: (socket: TLSSocket, raw: Socket) => void,
  options: TlsOptions = {},
): Promise<{ readonly authority: Authority; readonly server: SecureServer; readonly balancer: Front }> {
  const authority = await makeAuthority(t);
  const { cert, key } = await authority.issue(['localhost']);
  const server = await startSecure(t, { cert, key, ...options }, script);
  return { authority, server, balancer: await front(t, [server.port], `tls_trust_pool file ${authority.rootFile}`) };
}

describe('relay', OPTIONS, () => {
  test('20 MB of noise come back as they were, and the server was asked for by its name', async (t) => {
    const { balancer, server } = await trusted(t, (socket) => void socket.pipe(socket));
    const socket = connect({ port: balancer.port, host: '127.0.0.1' });
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
    assert.equal(Reflect.get(server.sockets[0]!, 'servername'), 'localhost');
  });

  test('the client ends first: it gets the late answer whole', async (t) => {
    const { balancer } = await trusted(t, (socket) =>
      socket.on('end', () => setTimeout(() => socket.end('a'.repeat(MIB)), 100)),
    );
    const client = await connectTo(t, balancer.port);
    client.send('x').socket.end();
    assert.equal(await client.ended(), 'fin');
    assert.equal(client.received.length, MIB);
  });

  test('the server ends first: it gets what the client still says', async (t) => {
    const { balancer, server } = await trusted(t, (socket) => void socket.end('bye'));
    const client = await connectTo(t, balancer.port);
    assert.equal(await client.ended(), 'fin');
    assert.equal(client.received, 'bye');
    client.send('z'.repeat(MIB)).socket.end();
    await eventually(() => server.received[0]?.length === MIB, 'the bytes behind the end');
  });

  test('a reset goes through, in either direction', async (t) => {
    const ends: boolean[] = [];
    const { balancer, server } = await trusted(t, (socket, raw) => {
      let failed = false;
      socket.on('error', () => (failed = true));
      socket.on('close', () => ends.push(failed));
      socket.on('data', (data) => void (data.includes('reset') && raw.resetAndDestroy()));
    });
    const first = await connectTo(t, balancer.port);
    first.send('reset');
    assert.equal(await first.ended(), 'reset');
    const second = await connectTo(t, balancer.port);
    second.send('x');
    await eventually(() => server.received[1] === 'x', 'the byte');
    second.socket.resetAndDestroy();
    await eventually(() => ends.length === 2, 'both ends');
    assert.equal(ends[1], true);
  });

  test('TLS on both sides', async (t) => {
    const authority = await makeAuthority(t);
    const server = await startSecure(t, await authority.issue(['inner.test']), (socket) => void socket.pipe(socket));
    const tls = `tls_trust_pool file ${authority.rootFile}\ntls_server_name inner.test`;
    const body = `@db tls sni db.localhost\nroute @db {\ntls\nproxy {\nupstream 127.0.0.1:${server.port} {\n${tls}\n}\n}\n}`;
    const { port, root } = await startLayer4Tls(t, body);
    const client = await connectTls(t, port, { servername: 'db.localhost', ca: root });
    client.send('there and back').socket.end();
    assert.equal(await client.ended(), 'fin');
    assert.equal(client.received, 'there and back');
    assert.equal(Reflect.get(server.sockets[0]!, 'servername'), 'inner.test');
  });

  test('the PROXY header stands in front of the handshake', async (t) => {
    const authority = await makeAuthority(t);
    const { cert, key } = await authority.issue(['localhost']);
    const inner = await startSecure(t, { cert, key }, (socket) => void socket.pipe(socket));
    const headers: string[] = [];
    const outer = await startScripted(t, (socket) => {
      socket.once('data', (first: Buffer) => {
        const end = first.indexOf('\r\n') + 2;
        headers.push(first.toString('latin1', 0, end));
        const onwards = connect(inner.port, '127.0.0.1');
        onwards.on('error', () => {});
        onwards.write(first.subarray(end));
        socket.pipe(onwards).pipe(socket);
      });
    });
    const tls = `tls_trust_pool file ${authority.rootFile}`;
    const balancer = await front(t, [outer.port], tls, 'proxy_protocol v1');
    const client = await connectTo(t, balancer.port);
    client.send('once');
    await client.until(() => client.received !== '');
    assert.equal(client.received, 'once');
    assert.match(headers[0] ?? '', /^PROXY TCP4 127\.0\.0\.1 127\.0\.0\.1 \d+ \d+\r\n$/);
  });

  test('sessions are resumed; ports may be left out', async (t) => {
    const authority = await makeAuthority(t);
    const server = await startSecure(t, await authority.issue(['localhost']), (socket) => void socket.write('.'));
    const plain = await startScripted(t, (socket) => socket.write('plain'));
    const tls = `tls_trust_pool file ${authority.rootFile}\ntls_except_ports ${plain.port}`;
    const balancer = await front(t, [server.port, plain.port], tls, 'lb_policy round_robin');
    const heard: string[] = [];
    for (let nth = 0; nth < 6; nth += 1) {
      const client = await connectTo(t, balancer.port);
      await client.until(() => client.received !== '');
      heard.push(client.received);
      client.close();
    }
    assert.deepEqual(heard.toSorted(), ['.', '.', '.', 'plain', 'plain', 'plain']);
    assert.deepEqual(server.resumed, [false, true, true]);
  });
});

describe('servers that are not what they should be', OPTIONS, () => {
  test('one that is not trusted gets no byte: the next one does, and the log says why', async (t) => {
    const [authority, other] = [await makeAuthority(t), await makeAuthority(t, 'other root')];
    const wrong = await startSecure(t, await other.issue(['localhost']));
    const right = await startSecure(t, await authority.issue(['localhost']), (socket) => void socket.write('right'));
    const balancer = await front(t, [wrong.port, right.port], `tls_trust_pool file ${authority.rootFile}`);
    const client = await connectTo(t, balancer.port);
    client.send('secret');
    await client.until(() => client.received === 'right');
    await eventually(() => right.received[0] === 'secret', 'the bytes');
    assert.deepEqual(
      wrong.received.filter((bytes) => bytes !== ''),
      [],
    );
    assert.match(balancer.said.join('\n'), /is not trusted: .*tls_trust_pool/);
  });

  test('tls_insecure_skip_verify takes whoever answers', async (t) => {
    const other = await makeAuthority(t);
    const server = await startSecure(t, await other.issue(['someone.test']), (socket) => void socket.write('in'));
    const balancer = await front(t, [server.port], 'tls_insecure_skip_verify');
    const client = await connectTo(t, balancer.port);
    await client.until(() => client.received === 'in');
  });

  test('with no other server the client is reset', async (t) => {
    const plain = await startScripted(t, (socket) => socket.end('220 no TLS here\r\n'));
    const balancer = await front(t, [plain.port], 'tls');
    const client = await connectTo(t, balancer.port);
    assert.equal(await client.ended(), 'reset');
    assert.equal(client.received, '');
    assert.match(balancer.said.join('\n'), /does not speak TLS/);
  });

  test('one that never answers the ClientHello is left after tls_timeout', async (t) => {
    const authority = await makeAuthority(t);
    const silent = await startScripted(t, () => {});
    const server = await startSecure(t, await authority.issue(['localhost']), (socket) => void socket.write('in'));
    const tls = `tls_timeout 200ms\ntls_trust_pool file ${authority.rootFile}`;
    const balancer = await front(t, [silent.port, server.port], tls);
    const client = await connectTo(t, balancer.port);
    await client.until(() => client.received === 'in');
    await eventually(() => silent.sockets[0]!.destroyed || silent.sockets[0]!.readableEnded, 'the dial given up');
  });

  test('a client certificate is shown; without one the server refuses, and the log says so', async (t) => {
    const authority = await makeAuthority(t);
    const { cert, key } = await authority.issue(['localhost']);
    const own = await authority.issue(['balancer.test']);
    const asks: TlsOptions = { cert, key, maxVersion: 'TLSv1.2', ca: authority.root, requestCert: true };
    const server = await startSecure(t, asks, (socket) => void socket.write('in'));
    const pool = `tls_trust_pool file ${authority.rootFile}`;
    const knows = await front(t, [server.port], `${pool}\ntls_client_auth ${own.certFile} ${own.keyFile}`);
    const welcome = await connectTo(t, knows.port);
    await welcome.until(() => welcome.received === 'in');
    assert.equal(server.sockets[0]!.getPeerCertificate().subject.CN, 'balancer.test');
    const stranger = await connectTo(t, (await front(t, [server.port], pool)).port);
    assert.equal(await stranger.ended(), 'reset');
  });

  const noOpenssl = unlessInstalled(OPENSSL, 'openssl');
  test(
    'a certificate that TLS 1.3 misses only behind the handshake is told of, too',
    { skip: noOpenssl },
    async (t) => {
      const authority = await makeAuthority(t);
      const { certFile, keyFile } = await authority.issue(['localhost']);
      const port = await freePort();
      const files = ['-cert', certFile, '-key', keyFile, '-CAfile', authority.rootFile];
      const args = ['s_server', '-accept', `127.0.0.1:${port}`, '-tls1_3', '-Verify', '1', '-verify_return_error'];
      await startServer(t, OPENSSL!, [...args, ...files, '-quiet'], port);
      const balancer = await front(t, [port], `tls_trust_pool file ${authority.rootFile}`);
      const client = await connectTo(t, balancer.port);
      client.send('x');
      assert.equal(await client.ended(), 'reset');
      assert.match(balancer.said.join('\n'), /refused the handshake .*it may want a certificate \(tls_client_auth\)/);
    },
  );
});
