import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import fc from 'fast-check';
import {
  FACT_BYTES_RECEIVED,
  FACT_BYTES_SENT,
  FACT_DIAL_FAILURES,
  LIMIT_CONNECTIONS,
  LIMIT_CONNECTIONS_PER_SOURCE,
  LIMIT_NEW_PER_SECOND,
  MEMBER_DOWN,
  SERVER_BAD_REQUESTS,
  SERVER_BYTES_IN,
  SERVER_BYTES_OUT,
  SERVER_LIMITS,
  SERVER_NO_UPSTREAM,
  SERVER_TIMEOUTS,
} from '../../shared/state-table/layout.ts';
import { eventually, startScripted, type ScriptedUpstream } from '../../../test/support/backend.ts';
import { closedPort, connectTo, forwardTo, TcpTestWorld } from '../../../test/support/tcp-world.ts';

const ROW = 1;

interface Rig {
  readonly world: TcpTestWorld;
  readonly upstream: ScriptedUpstream;
  readonly port: number;
}

/** One server behind one listener. */
async function rig(t: TestContext, script: (socket: Socket) => void = () => {}): Promise<Rig> {
  const world = new TcpTestWorld();
  const upstream = await startScripted(t, script);
  const pool = world.pool([{ port: upstream.port, row: ROW }]);
  return { world, upstream, port: await world.forward(t, pool) };
}

function echo(socket: Socket): void {
  socket.pipe(socket);
}

/** Nothing is left of any connection. */
async function settled(world: TcpTestWorld, row: number = ROW): Promise<void> {
  await eventually(() => world.sessions.size === 0, 'the end of all connections');
  assert.deepEqual(world.running(row), [0, 0]);
  assert.deepEqual([world.inFlight, world.connections, world.generation.active], [0, 0, 0]);
}

describe('relay', () => {
  test('bytes go both ways and are counted', async (t) => {
    const { world, port } = await rig(t, echo);
    const client = await connectTo(t, port);
    client.send('ping');
    await client.until(() => client.received === 'ping');
    assert.deepEqual(world.running(ROW), [1, 1]);
    client.socket.end();
    assert.equal(await client.ended(), 'fin');
    await settled(world);
    assert.deepEqual([world.total(SERVER_BYTES_IN), world.total(SERVER_BYTES_OUT)], [4, 4]);
    const facts = world.table.facts(0);
    assert.deepEqual([facts.total(ROW, FACT_BYTES_SENT), facts.total(ROW, FACT_BYTES_RECEIVED)], [4, 4]);
  });

  test('a server that speaks first is heard at once', async (t) => {
    const { port } = await rig(t, (socket) => socket.write('220 ready\r\n'));
    const client = await connectTo(t, port);
    await client.until(() => client.received === '220 ready\r\n');
  });

  test('a client that half-closed gets the rest of the answer', async (t) => {
    const answer = 'y'.repeat(1_000_000);
    const { world, port } = await rig(t, (socket) => socket.on('end', () => setTimeout(() => socket.end(answer), 50)));
    const client = await connectTo(t, port);
    client.send('x').socket.end();
    assert.equal(await client.ended(), 'fin');
    assert.equal(client.received.length, answer.length);
    await settled(world);
  });

  test('a server that half-closed gets the rest of the request', async (t) => {
    const { world, upstream, port } = await rig(t, (socket) => socket.end('bye'));
    const client = await connectTo(t, port);
    await client.until(() => client.end === 'fin');
    assert.equal(client.received, 'bye');
    client.send('late');
    await eventually(() => upstream.received[0] === 'late', 'the bytes behind the FIN of the server');
    client.socket.end();
    await settled(world);
  });

  test('a reset by the server is a reset for the client', async (t) => {
    const { world, port } = await rig(t, (socket) => socket.on('data', () => socket.resetAndDestroy()));
    const client = await connectTo(t, port);
    client.send('x');
    assert.equal(await client.ended(), 'reset');
    await settled(world);
  });

  test('the last words of a server that has heard enough come through, then the reset', async (t) => {
    const { world, port } = await rig(t, (socket) =>
      socket.once('data', () => socket.write('enough', () => socket.resetAndDestroy())),
    );
    for (let round = 0; round < 50; round += 1) {
      const client = await connectTo(t, port);
      client.send('this');
      for (let turn = 0; turn < round % 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      client.send('and that');
      while (client.end === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        await world.clock.advance(50);
      }
      assert.deepEqual([client.received, client.end], ['enough', 'reset'], `round ${round}`);
    }
    await settled(world);
  });

  test('a reset by the client is a reset for the server', async (t) => {
    let end = '';
    const { world, upstream, port } = await rig(t, (socket) => socket.on('close', (broken) => (end = String(broken))));
    const client = await connectTo(t, port);
    client.send('x');
    await eventually(() => upstream.received[0] === 'x', 'the byte');
    client.socket.resetAndDestroy();
    await eventually(() => end !== '', 'the end');
    assert.equal(end, 'true');
    await settled(world);
  });

  test('a client that does not read stops the server, and misses nothing later', { timeout: 60_000 }, async (t) => {
    const total = 50 * 1_048_576;
    const chunk = Buffer.alloc(65_536, 'z');
    let written = 0;
    const { world, port } = await rig(t, (socket) => {
      const pump = (): void => {
        while (written < total) {
          written += chunk.length;
          if (!socket.write(chunk)) return;
        }
        socket.end();
      };
      socket.on('drain', pump);
      pump();
    });
    const client = await connectTo(t, port);
    client.socket.pause();
    client.socket.removeAllListeners('data');
    let last = -1;
    await eventually(async () => {
      const still = written === last;
      last = written;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return still && written > 0;
    }, 'the server to be stopped');
    assert.ok(written < total, `${written} bytes were taken for a client that reads none`);
    let received = 0;
    client.socket.on('data', (data: Buffer) => (received += data.length));
    client.socket.resume();
    await client.ended(30_000);
    assert.equal(received, total);
    client.socket.end();
    await settled(world);
  });

  test('silence in both directions ends it, traffic in one does not', async (t) => {
    const world = new TcpTestWorld();
    const upstream = await startScripted(t, () => {});
    const pool = world.pool([{ port: upstream.port, row: ROW }]);
    const port = await world.forward(t, pool, { idleTimeoutMs: 10_000 });
    const client = await connectTo(t, port);
    for (let round = 1; round <= 3; round += 1) {
      client.send('x');
      await eventually(() => upstream.received[0]?.length === round, 'the byte');
      await world.clock.advance(8000);
    }
    assert.equal(client.end, undefined);
    await world.clock.advance(2500);
    assert.equal(await client.ended(), 'reset');
    assert.equal(world.total(SERVER_TIMEOUTS), 1);
    await settled(world);
  });
});

describe('a server that cannot be reached', () => {
  test('a refused dial goes to the next one, with what the client said', async (t) => {
    const world = new TcpTestWorld();
    const upstream = await startScripted(t, echo);
    const pool = world.pool([
      { port: await closedPort(), row: 0 },
      { port: upstream.port, row: ROW },
    ]);
    const client = await connectTo(t, await world.forward(t, pool));
    client.send('hello');
    await client.until(() => client.received === 'hello');
    assert.equal(world.table.facts(0).total(0, FACT_DIAL_FAILURES), 1);
    assert.deepEqual(world.failedDials, [0]);
    assert.deepEqual(world.running(0), [0, 0]);
  });

  test('all refuse: each is dialled once, and the client is reset', async (t) => {
    const world = new TcpTestWorld();
    const refused = await closedPort();
    const pool = world.pool([
      { port: refused, row: 0 },
      { port: refused, row: ROW },
    ]);
    const client = await connectTo(t, await world.forward(t, pool));
    assert.equal(await client.ended(), 'reset');
    assert.deepEqual(world.failedDials, [0, ROW]);
    await settled(world);
  });

  test('nobody is eligible: the client is reset at once, and counted', async (t) => {
    const world = new TcpTestWorld();
    const pool = world.pool([{ port: await closedPort(), row: ROW }]);
    world.setMember(ROW, MEMBER_DOWN);
    const client = await connectTo(t, await world.forward(t, pool));
    assert.equal(await client.ended(), 'reset');
    assert.equal(world.total(SERVER_NO_UPSTREAM), 1);
    await settled(world);
  });

  test('passive checks hear of dials that fail and of those that succeed', async (t) => {
    const world = new TcpTestWorld();
    const passive = {
      failDurationMs: 30_000,
      maxFails: 1,
      unhealthyStatus: [],
      unhealthyLatencyMs: 0,
      failRatio: 0,
      minRequests: 0,
    };
    const pool = world.pool([{ port: await closedPort(), row: ROW }], { passive });
    const client = await connectTo(t, await world.forward(t, pool));
    await client.ended();
    assert.deepEqual(world.passive, [`p ${ROW} failed`]);
  });

  test('a client that goes while it waits leaves nothing behind', async (t) => {
    const { world, port } = await rig(t);
    for (let round = 0; round < 20; round += 1) {
      const client = await connectTo(t, port);
      client.socket.resetAndDestroy();
    }
    await settled(world);
  });
});

describe('what comes first', () => {
  test('the first byte decides which route takes the connection', async (t) => {
    const world = new TcpTestWorld();
    const ssh = await startScripted(t, (socket) => socket.end('ssh'));
    const other = await startScripted(t, (socket) => socket.end('other'));
    const pools = [
      world.pool([{ port: ssh.port, row: 0 }], { hash: 'ssh' }),
      world.pool([{ port: other.port, row: 1 }], { hash: 'other' }),
    ];
    const port = await world.serve(
      t,
      [
        { match: [[{ kind: 'ssh' }]], handle: [forwardTo(pools[0]!)] },
        { match: [], handle: [forwardTo(pools[1]!)] },
      ],
      pools,
    );
    const answers: string[] = [];
    for (const bytes of ['SSH-2.0-x\r\n', 'GET / HTTP/1.0\r\n\r\n']) {
      const client = await connectTo(t, port);
      client.send(bytes);
      await client.ended();
      answers.push(client.received);
    }
    assert.deepEqual(answers, ['ssh', 'other']);
    assert.equal(ssh.received[0], 'SSH-2.0-x\r\n');
  });

  test('a client that stays silent takes the route without matchers when the matching time is over', async (t) => {
    const world = new TcpTestWorld();
    const upstream = await startScripted(t, (socket) => socket.end('welcome'));
    const pool = world.pool([{ port: upstream.port, row: ROW }]);
    const port = await world.serve(
      t,
      [
        { match: [[{ kind: 'ssh' }]], handle: [{ handler: 'close' }] },
        { match: [], handle: [forwardTo(pool)] },
      ],
      [pool],
    );
    const client = await connectTo(t, port);
    await eventually(() => world.sessions.size === 1, 'the connection');
    await world.clock.advance(2900);
    assert.equal(upstream.sockets.length, 0);
    await world.clock.advance(300);
    await client.ended();
    assert.equal(client.received, 'welcome');
  });

  test('without such a route it is reset, and counted as a timeout', async (t) => {
    const world = new TcpTestWorld();
    const port = await world.serve(t, [{ match: [[{ kind: 'ssh' }]], handle: [{ handler: 'echo' }] }]);
    const client = await connectTo(t, port);
    client.send('SS');
    await eventually(() => world.total(SERVER_BYTES_IN) === 2, 'the bytes');
    await world.clock.advance(3100);
    assert.equal(await client.ended(), 'reset');
    assert.equal(world.total(SERVER_TIMEOUTS), 1);
    await settled(world);
  });

  test('no route takes it: it is closed', async (t) => {
    const world = new TcpTestWorld();
    const port = await world.serve(t, [{ match: [[{ kind: 'remote_ip', ranges: ['10.0.0.0/8'] }]], handle: [] }]);
    const client = await connectTo(t, port);
    assert.equal(await client.ended(), 'fin');
    await settled(world);
  });

  test('echo sends back what it gets, to the end', async (t) => {
    const world = new TcpTestWorld();
    const port = await world.route(t, [{ handler: 'echo' }], null);
    const client = await connectTo(t, port);
    client.send('abc');
    await client.until(() => client.received === 'abc');
    client.socket.end('def');
    await client.ended();
    assert.equal(client.received, 'abcdef');
    await settled(world);
  });

  test('close closes', async (t) => {
    const world = new TcpTestWorld();
    const client = await connectTo(t, await world.route(t, [{ handler: 'close' }], null));
    assert.equal(await client.ended(), 'fin');
    await settled(world);
  });
});

describe('PROXY header', () => {
  const receive = (allow: readonly string[] = []) => ({ handler: 'proxy_protocol' as const, allow, timeoutMs: 5000 });

  test('received in pieces and passed on; what follows it in the same read is payload', async (t) => {
    const world = new TcpTestWorld();
    const upstream = await startScripted(t, () => {});
    const pool = world.pool([{ port: upstream.port, row: ROW }], { transport: { proxyProtocol: 'v1' } });
    const client = await connectTo(t, await world.route(t, [receive(), forwardTo(pool)], pool));
    client.send('PROXY TCP4 203.0.113.5');
    await eventually(() => world.total(SERVER_BYTES_IN) === 22, 'the first piece');
    assert.equal(upstream.sockets.length, 0);
    client.send(' 198.51.100.1 4711 3306\r\npayload');
    const expected = 'PROXY TCP4 203.0.113.5 198.51.100.1 4711 3306\r\npayload';
    await eventually(() => upstream.received[0] === expected, 'header and payload');
  });

  test('a broken one resets the connection before anything is dialled', async (t) => {
    const world = new TcpTestWorld();
    const upstream = await startScripted(t, () => {});
    const pool = world.pool([{ port: upstream.port, row: ROW }]);
    const port = await world.route(t, [receive(), forwardTo(pool)], pool);
    for (const bytes of ['GET / HTTP/1.1\r\n\r\n', 'PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n', 'PROXY\r\n']) {
      const client = await connectTo(t, port);
      client.send(bytes);
      assert.equal(await client.ended(), 'reset', bytes);
    }
    assert.equal(world.total(SERVER_BAD_REQUESTS), 3);
    assert.equal(upstream.sockets.length, 0);
    await settled(world);
  });

  test('one that does not come in time resets the connection', async (t) => {
    const world = new TcpTestWorld();
    const port = await world.route(t, [receive(), { handler: 'echo' }], null);
    const client = await connectTo(t, port);
    await eventually(() => world.sessions.size === 1, 'the connection');
    await world.clock.advance(5100);
    assert.equal(await client.ended(), 'reset');
    assert.equal(world.total(SERVER_TIMEOUTS), 1);
  });

  test('peers outside of `allow` send none: their bytes are payload', async (t) => {
    const world = new TcpTestWorld();
    const port = await world.route(t, [receive(['10.0.0.0/8']), { handler: 'echo' }], null);
    const client = await connectTo(t, port);
    client.send('PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n');
    await client.until(() => client.received === 'PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n');
  });

  test('UNKNOWN keeps the ends of the connection', async (t) => {
    const world = new TcpTestWorld();
    const upstream = await startScripted(t, () => {});
    const pool = world.pool([{ port: upstream.port, row: ROW }], { transport: { proxyProtocol: 'v1' } });
    const port = await world.route(t, [receive(), forwardTo(pool)], pool);
    const client = await connectTo(t, port);
    client.send('PROXY UNKNOWN\r\n');
    const expected = `PROXY TCP4 127.0.0.1 127.0.0.1 ${client.socket.localPort} ${port}\r\n`;
    await eventually(() => upstream.received[0] === expected, 'the own ends');
  });

  test('the matchers behind it see the client it names', async (t) => {
    const world = new TcpTestWorld();
    const inside = [
      { match: [[{ kind: 'remote_ip' as const, ranges: ['203.0.113.0/24'] }]], handle: [{ handler: 'echo' as const }] },
    ];
    const port = await world.route(t, [receive(), { handler: 'subroute', routes: inside }], null);
    const client = await connectTo(t, port);
    client.send('PROXY TCP4 203.0.113.5 198.51.100.1 4711 3306\r\nhi');
    await client.until(() => client.received === 'hi');
  });
});

describe('limits', () => {
  const hits = (world: TcpTestWorld, limit: number): number => world.total(SERVER_LIMITS + limit);

  test('connections: the one too many is reset, and counted; a place is free again when one ends', async (t) => {
    const world = new TcpTestWorld();
    const port = await world.route(t, [{ handler: 'echo' }], null, { limits: { total: 1, perSource: 0 } });
    const first = await connectTo(t, port);
    first.send('x');
    await first.until(() => first.received === 'x');
    assert.equal(await (await connectTo(t, port)).ended(), 'reset');
    assert.equal(hits(world, LIMIT_CONNECTIONS), 1);
    first.close();
    await settled(world);
    const next = await connectTo(t, port);
    next.send('y');
    await next.until(() => next.received === 'y');
  });

  test('connections of one source', async (t) => {
    const world = new TcpTestWorld();
    const port = await world.route(t, [{ handler: 'echo' }], null, { limits: { total: 0, perSource: 1 } });
    const first = await connectTo(t, port, '127.0.0.1');
    assert.equal(await (await connectTo(t, port, '127.0.0.1')).ended(), 'reset');
    const other = await connectTo(t, port, '127.0.0.2');
    other.send('x');
    await other.until(() => other.received === 'x');
    assert.equal(first.end, undefined);
    assert.equal(hits(world, LIMIT_CONNECTIONS_PER_SOURCE), 1);
  });

  test('new connections of a second', async (t) => {
    const world = new TcpTestWorld();
    const port = await world.route(t, [{ handler: 'echo' }], null, { newPerSecond: 2 });
    const ends: (string | undefined)[] = [];
    for (let nth = 0; nth < 3; nth += 1) {
      const client = await connectTo(t, port);
      client.send('x');
      await client.until(() => client.received === 'x' || client.end !== undefined);
      ends.push(client.end);
    }
    assert.deepEqual(ends, [undefined, undefined, 'reset']);
    assert.equal(hits(world, LIMIT_NEW_PER_SECOND), 1);
    await world.clock.advance(1000);
    const client = await connectTo(t, port);
    client.send('x');
    await client.until(() => client.received === 'x');
  });
});

test('whatever clients and servers do, nothing is thrown and nothing is left', { timeout: 60_000 }, async (t) => {
  const world = new TcpTestWorld();
  const acts = ['send', 'send', 'send', 'large', 'end', 'reset', 'pause', 'resume', 'wait'] as const;
  const act = (socket: Socket, what: (typeof acts)[number]): void => {
    if (what === 'send') socket.write('x');
    else if (what === 'large') socket.write(Buffer.alloc(300_000));
    else if (what === 'end') socket.end();
    else if (what === 'reset') socket.resetAndDestroy();
    else if (what === 'pause') socket.pause();
    else if (what === 'resume') socket.resume();
  };
  const play = async (socket: Socket, script: readonly (typeof acts)[number][]): Promise<void> => {
    for (const what of script) {
      if (socket.destroyed) return;
      act(socket, what);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    socket.destroy();
  };
  const scripts = fc.sample(fc.array(fc.constantFrom(...acts), { maxLength: 12 }), 400);
  const upstream = await startScripted(t, (socket, index) => void play(socket, scripts[index % scripts.length]!));
  const pool = world.pool([
    { port: await closedPort(), row: 0 },
    { port: upstream.port, row: ROW },
  ]);
  const port = await world.serve(
    t,
    [
      { match: [[{ kind: 'ssh' }]], handle: [{ handler: 'echo' }] },
      { match: [], handle: [forwardTo(pool)] },
    ],
    [pool],
  );
  for (let batch = 0; batch < 10; batch += 1) {
    const clients = scripts.slice(batch * 20, batch * 20 + 20).map(async (script) => {
      const { socket } = await connectTo(t, port);
      await play(socket, script);
    });
    await Promise.all(clients);
    await world.clock.advance(3100);
  }
  // Those who stopped reading do not see the other side go.
  await world.clock.advance(900_100);
  await settled(world);
  assert.deepEqual(world.running(0), [0, 0]);
});

describe('a server that is left', () => {
  test('finish: both sides see a FIN, and a reset a second later if they stay', async (t) => {
    const { world, upstream, port } = await rig(t);
    const client = await connectTo(t, port);
    client.send('x');
    await eventually(() => upstream.received[0] === 'x', 'the byte');
    assert.equal(world.sessions.cut([ROW], 'finish', 'another pool'), 0);
    assert.equal(world.sessions.cut([ROW], 'finish'), 1);
    await client.until(() => client.end === 'fin');
    assert.equal(world.sessions.size, 1);
    await world.clock.advance(1100);
    client.send('anybody there?');
    await client.until(() => client.end === 'reset');
    await settled(world);
  });

  test('reset: at once', async (t) => {
    const { world, upstream, port } = await rig(t);
    const client = await connectTo(t, port);
    client.send('x');
    await eventually(() => upstream.received[0] === 'x', 'the byte');
    assert.equal(world.sessions.cut([ROW], 'reset', 'p'), 1);
    assert.equal(await client.ended(), 'reset');
    await settled(world);
  });
});
