/** TCP through a layer-4 server: bytes, ends and failures on both sides. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { eventually, startScripted, type ScriptedUpstream } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { layer4, proxyRoute } from '../support/layer4-site.ts';
import { get, openClient } from '../support/raw-client.ts';
import { startFullBacklog } from '../support/full-backlog.ts';
import { findProgram, runProgram, temporaryFolder, unlessInstalled } from '../support/program.ts';
import { closedPort, connectTo } from '../support/tcp-world.ts';

const OPTIONS = { timeout: 60_000, concurrency: true };
const MIB = 1_048_576;
const SS = findProgram('ss');

interface Setting {
  readonly upstream: ScriptedUpstream;
  readonly balancer: TestBalancer;
}

async function start(t: TestContext, script: (socket: Socket) => void): Promise<Setting> {
  const upstream = await startScripted(t, script);
  return { upstream, balancer: await startBalancer(t, layer4(proxyRoute([upstream.port]))) };
}

/** Servers that say who they are to whoever connects. */
function startNamed(t: TestContext, count: number): Promise<ScriptedUpstream[]> {
  return Promise.all(Array.from({ length: count }, (_, nth) => startScripted(t, (socket) => socket.write(`${nth}`))));
}

/** The server that a new connection gets. */
async function serverOf(t: TestContext, port: number, localAddress?: string): Promise<string> {
  const client = await connectTo(t, port, localAddress);
  await client.until(() => client.received !== '' || client.end !== undefined);
  client.socket.end();
  return client.received === '' ? client.end! : client.received;
}

describe('relay', OPTIONS, () => {
  test('20 MB of noise in pieces of all sizes come back as they were, both directions at once', async (t) => {
    const { balancer } = await start(t, (socket) => socket.pipe(socket));
    const socket = connect({ port: balancer.port, host: '127.0.0.1' });
    const sent = createHash('sha256');
    const received = createHash('sha256');
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
      if (!socket.write(piece)) await new Promise((resolve) => socket.once('drain', resolve));
    }
    socket.end();
    await new Promise((resolve) => socket.once('close', resolve));
    assert.equal(receivedBytes, bytes);
    assert.equal(received.digest('hex'), sent.digest('hex'));
  });

  test('the client ends first: it gets the late answer whole', async (t) => {
    const { balancer } = await start(t, (socket) =>
      socket.on('end', () => setTimeout(() => socket.end('a'.repeat(MIB)), 100)),
    );
    const client = await connectTo(t, balancer.port);
    client.send('x').socket.end();
    assert.equal(await client.ended(), 'fin');
    assert.equal(client.received.length, MIB);
  });

  test('the server ends first: it gets what the client still says', async (t) => {
    const { upstream, balancer } = await start(t, (socket) => socket.end('bye'));
    const client = await connectTo(t, balancer.port);
    assert.equal(await client.ended(), 'fin');
    client.send('z'.repeat(MIB)).socket.end();
    await eventually(() => upstream.received[0]?.length === MIB, 'the bytes behind the end');
  });

  test('a reset goes through, in either direction', async (t) => {
    const ends: boolean[] = [];
    const { upstream, balancer } = await start(t, (socket) => {
      socket.on('close', (broken) => ends.push(broken));
      socket.on('data', (data) => void (data.includes('reset') && socket.resetAndDestroy()));
    });
    const first = await connectTo(t, balancer.port);
    first.send('reset');
    assert.equal(await first.ended(), 'reset');
    const second = await connectTo(t, balancer.port);
    second.send('x');
    await eventually(() => upstream.received[1] === 'x', 'the byte');
    second.socket.resetAndDestroy();
    await eventually(() => ends.length === 2, 'both ends');
    assert.equal(ends[1], true);
  });

  test('connections of an acceptor thread keep both directions, too', async (t) => {
    const upstream = await startScripted(t, (socket) =>
      socket.on('end', () => setTimeout(() => socket.end('late'), 50)),
    );
    const { port } = await startBalancer(t, layer4(`      accept shared\n${proxyRoute([upstream.port])}`), {
      workers: 2,
    });
    for (let nth = 0; nth < 4; nth += 1) {
      const client = await connectTo(t, port);
      client.send('x').socket.end();
      await client.ended();
      assert.equal(client.received, 'late');
    }
  });

  const noSs = unlessInstalled(SS, 'ss');
  test('keep-alive probes run on both legs', { skip: noSs }, async (t) => {
    const { upstream, balancer } = await start(t, (socket) => socket.pipe(socket));
    const client = await connectTo(t, balancer.port);
    client.send('x');
    await client.until(() => client.received === 'x');
    const legs = [`sport = :${balancer.port}`, `dport = :${upstream.port}`];
    for (const leg of legs) {
      const { stdout } = await runProgram(SS!, ['-Htno', `( ${leg} )`]);
      assert.match(stdout, /timer:\(keepalive,/, leg);
    }
  });

  test('a client that reads nothing of 50 MB stops the server; later it gets every byte', async (t) => {
    const total = 50 * MIB;
    const piece = Buffer.alloc(65_536, 'p');
    let written = 0;
    const { balancer } = await start(t, (socket) => {
      const pump = (): void => {
        while (written < total) {
          written += piece.length;
          if (!socket.write(piece)) return;
        }
        socket.end();
      };
      socket.on('drain', pump);
      pump();
    });
    const socket = connect({ port: balancer.port, host: '127.0.0.1' });
    let before = -1;
    await eventually(async () => {
      const stopped = written === before && written > 0;
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 150));
      return stopped;
    }, 'the server to be stopped');
    assert.ok(written < total, `${written} bytes were taken`);
    let received = 0;
    socket.on('data', (data: Buffer) => (received += data.length));
    await new Promise((resolve) => socket.once('end', resolve));
    assert.equal(received, total);
  });
});

describe('choice', OPTIONS, () => {
  test('ip_hash sends an address to the same server over TCP as over HTTP', async (t) => {
    const servers = await startNamed(t, 3);
    const names = await Promise.all(
      [0, 1, 2].map((nth) =>
        startScripted(t, (socket) => {
          socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${nth}`));
        }),
      ),
    );
    const tcp = await startBalancer(
      t,
      layer4(
        proxyRoute(
          servers.map(({ port }) => port),
          'lb_policy ip_hash',
        ),
      ),
    );
    const upstreams = names.map(({ port }) => `127.0.0.1:${port}`).join(' ');
    const http = await startBalancer(t, site(`reverse_proxy ${upstreams} {\n    lb_policy ip_hash\n  }`));
    const seen = new Set<string>();
    for (let host = 1; host <= 12; host += 1) {
      const address = `127.0.${host * 3}.${host}`;
      const overTcp = await serverOf(t, tcp.port, address);
      assert.equal(overTcp, (await get(http.port, '/', {}, address)).body, address);
      seen.add(overTcp);
    }
    assert.equal(seen.size, 3);
  });

  test('max_connections of a server is never exceeded: others take over, then nobody', async (t) => {
    const servers = await startNamed(t, 2);
    const upstream = (nth: number): string =>
      `upstream 127.0.0.1:${servers[nth]!.port} {\n            max_connections 1\n          }`;
    const route = `      route {\n        proxy {\n          lb_policy first\n          ${upstream(0)}\n          ${upstream(1)}\n        }\n      }`;
    const { port } = await startBalancer(t, layer4(route), { workers: 2 });
    const clients = await Promise.all([0, 1, 2].map(() => connectTo(t, port)));
    await Promise.all(clients.map((client) => client.until(() => client.received !== '' || client.end !== undefined)));
    const got = clients.map((client) => client.received || client.end!);
    assert.deepEqual(new Set(got), new Set(['0', '1', 'reset']));
  });

  test('a dead server is passed over, and what the client said first arrives at the next', async (t) => {
    const alive = await startScripted(t, (socket) => socket.pipe(socket));
    const balancer = await startBalancer(t, layer4(proxyRoute([await closedPort(), alive.port], 'lb_policy first')));
    const client = await connectTo(t, balancer.port);
    client.send('early');
    await client.until(() => client.received === 'early');
    assert.match(await balancer.metrics(), /^holdfast_upstream_failures_total\{.*cause="dial".*\} 1$/m);
  });

  test('a server that does not answer a dial is left after dial_timeout', async (t) => {
    const silent = await startFullBacklog(t);
    const [alive] = await startNamed(t, 1);
    const balancer = await startBalancer(
      t,
      layer4(proxyRoute([silent, alive!.port], 'lb_policy first\n          dial_timeout 300ms')),
    );
    assert.equal(await serverOf(t, balancer.port), '0');
  });

  test('a client that goes while its server is dialled leaves nothing behind', async (t) => {
    const silent = await startFullBacklog(t);
    const balancer = await startBalancer(t, layer4(proxyRoute([silent])));
    const inFlight = (): number => balancer.upstreams()[0]!.inFlight;
    const client = await connectTo(t, balancer.port);
    client.send('anybody there?');
    await eventually(() => inFlight() === 1, 'the dial');
    client.socket.resetAndDestroy();
    await eventually(() => inFlight() === 0, 'its end');
  });

  test('a server behind a Unix socket', async (t) => {
    const path = join(await temporaryFolder(t), 'server.sock');
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => {});
      socket.pipe(socket);
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    t.after(() => server.close());
    const { port } = await startBalancer(t, layer4(`      route {\n        proxy unix/${path}\n      }`));
    const client = await connectTo(t, port);
    client.send('over there').socket.end();
    assert.equal(await client.ended(), 'fin');
    assert.equal(client.received, 'over there');
    const cut = await connectTo(t, port);
    cut.send('x');
    await cut.until(() => cut.received === 'x');
    cut.socket.resetAndDestroy();
    const next = await connectTo(t, port);
    next.send('still here');
    await next.until(() => next.received === 'still here');
  });

  test('all servers dead: the connection is reset without waiting', async (t) => {
    const dead = await closedPort();
    const { port } = await startBalancer(t, layer4(proxyRoute([dead])));
    const client = await connectTo(t, port);
    assert.equal(await client.ended(), 'reset');
  });
});

describe('all servers down', OPTIONS, () => {
  /** A server that serves, with a check that fails. */
  async function startDown(t: TestContext, options: string): Promise<TestBalancer> {
    const [server] = await startNamed(t, 1);
    const check = `health_port ${await closedPort()}\n          health_interval 1s\n          health_fall 1`;
    const balancer = await startBalancer(t, layer4(proxyRoute([server!.port], `${check}\n          ${options}`)));
    await eventually(() => balancer.upstreams()[0]!.endpoints[0]!.checks[0]?.verdict === 'down', 'the verdict');
    return balancer;
  }

  test('they are tried all the same', async (t) => {
    assert.equal(await serverOf(t, (await startDown(t, 'lb_policy ip_hash')).port), '0');
  });

  test('with best_effort off the connection is reset, and counted', async (t) => {
    const balancer = await startDown(t, 'best_effort off');
    assert.equal(await serverOf(t, balancer.port), 'reset');
    assert.match(await balancer.metrics(), /^holdfast_layer4_no_upstream_total\{.*\} 1$/m);
  });
});

describe('routes', OPTIONS, () => {
  test('ssh, http by host, TLS by name, and the rest, on one port', async (t) => {
    const servers = await startNamed(t, 3);
    const to = (nth: number): string => `{\n        proxy 127.0.0.1:${servers[nth]!.port}\n      }`;
    const { port } = await startBalancer(
      t,
      layer4(`      matching_timeout 200ms
      @ssh ssh
      @web http host a.example
      route @ssh ${to(0)}
      route @web ${to(1)}
      route ${to(2)}`),
    );
    const answers: string[] = [];
    for (const bytes of [
      'SSH-2.0-test\r\n',
      'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: b.example\r\n\r\n',
      '',
    ]) {
      const client = await openClient(port);
      client.send(bytes);
      await client.until(() => client.received !== '');
      answers.push(client.received);
      client.close();
    }
    assert.deepEqual(answers, ['0', '1', '2', '2']);
  });

  test('without matchers that need bytes nobody waits for the client to speak', async (t) => {
    const [server] = await startNamed(t, 1);
    const { port } = await startBalancer(
      t,
      layer4(`      matching_timeout 1m
      @near remote_ip 127.0.0.0/8
      route @near {
        proxy 127.0.0.1:${server!.port}
      }`),
    );
    assert.equal(await serverOf(t, port), '0');
  });

  test('echo and close', async (t) => {
    const { port } = await startBalancer(
      t,
      layer4(`      @other remote_ip 127.0.0.2
      route @other {
        close
      }
      route {
        echo
      }`),
    );
    const client = await connectTo(t, port);
    client.send('hello');
    await client.until(() => client.received === 'hello');
    assert.equal(await serverOf(t, port, '127.0.0.2'), 'fin');
  });
});

describe('silence', OPTIONS, () => {
  test('idle_timeout resets a connection that says nothing, and not one of which a side speaks', async (t) => {
    const upstream = await startScripted(t, () => {});
    const balancer = await startBalancer(t, layer4(`      idle_timeout 1s\n${proxyRoute([upstream.port])}`));
    const [silent, talking] = [await connectTo(t, balancer.port), await connectTo(t, balancer.port)];
    const timer = setInterval(() => talking.send('.'), 100);
    t.after(() => clearInterval(timer));
    assert.equal(await silent.ended(), 'reset');
    assert.equal(talking.end, undefined);
    assert.match(await balancer.metrics(), /^holdfast_layer4_timeouts_total\{.*\} 1$/m);
  });
});

describe('limits', OPTIONS, () => {
  for (const workers of [1, 2]) {
    test(`connections hold over ${workers} workers, and are counted`, async (t) => {
      const { metrics, port } = await limited(t, 'connections 3', workers);
      const ends = await openMany(t, port, 12);
      assert.equal(ends.filter((end) => end === '0').length, 3);
      assert.match(await metrics(), /^holdfast_layer4_limit_hits_total\{.*limit="connections".*\} 9$/m);
    });
  }

  test('connections_per_source', async (t) => {
    const { metrics, port } = await limited(t, 'connections_per_source 2', 1);
    const ends = await openMany(t, port, 5);
    assert.equal(ends.filter((end) => end === '0').length, 2);
    assert.equal(await serverOf(t, port, '127.0.0.9'), '0');
    assert.match(await metrics(), /^holdfast_layer4_limit_hits_total\{.*limit="connections_per_source".*\} 3$/m);
  });

  test('new_per_second: of a burst most are reset, and counted', async (t) => {
    const { metrics, port } = await limited(t, 'new_per_second 5', 2);
    const ends = await openMany(t, port, 40);
    const served = ends.filter((end) => end === '0').length;
    // A burst this short touches two seconds at most.
    assert.ok(served >= 5 && served <= 10, `${served} were served`);
    const hits = /^holdfast_layer4_limit_hits_total\{.*limit="new_per_second".*\} (\d+)$/m.exec(await metrics())?.[1];
    assert.equal(Number(hits), 40 - served);
  });
});

async function limited(
  t: TestContext,
  limit: string,
  workers: number,
): Promise<{ port: number; metrics: () => Promise<string> }> {
  const [server] = await startNamed(t, 1);
  const balancer = await startBalancer(t, layer4(`      ${limit}\n${proxyRoute([server!.port])}`), { workers });
  return { port: balancer.port, metrics: () => balancer.metrics() };
}

/** What each of so many connections gets that are opened at once and stay open. */
async function openMany(t: TestContext, port: number, count: number): Promise<readonly string[]> {
  const clients = await Promise.all(Array.from({ length: count }, () => connectTo(t, port)));
  await Promise.all(clients.map((client) => client.until(() => client.received !== '' || client.end !== undefined)));
  return clients.map((client) => client.received || client.end!);
}
