/** HTTP/2 connections of clients: floods, limits, deadlines, reloads and drains. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test, type TestContext } from 'node:test';
import { LIMIT_NAMES, SERVER_HTTP2_SESSION_ERRORS, SERVER_LIMITS } from '../../src/shared/state-table/layout.ts';
import { eventually, startBackend, startScripted } from '../support/backend.ts';
import { answerOf, askH2, openH2 } from '../support/http2-client.ts';
import {
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  FrameClient,
  GET,
  GOAWAY,
  HEADERS,
  hpack,
  PING,
  POST,
  RST_STREAM,
  setting,
  SETTINGS,
  uint32,
} from '../support/http2-frames.ts';
import { startPlane, type TestPlane } from '../support/plane.ts';
import { site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };

function h2c(body: string, servers = ''): string {
  return site(body, { servers: `protocols h1 h2 h2c\n${servers}` });
}

function total({ plane }: TestPlane, word: number): number {
  const [row] = plane.serverRows().values();
  let sum = 0;
  for (let lane = 0; lane < plane.table.laneCount; lane += 1) {
    const rows = plane.table.servers(lane);
    if (rows.capacity > row!) sum += rows.total(row!, word);
  }
  return sum;
}

function hits(plane: TestPlane, limit: string): number {
  return total(plane, SERVER_LIMITS + LIMIT_NAMES.indexOf(limit));
}

async function hanging(t: TestContext): Promise<number> {
  return (await startScripted(t, () => {})).port;
}

describe('floods', OPTIONS, () => {
  test('streams that are opened and reset at once end the connection, and it is counted', async (t) => {
    const plane = await startPlane(t, h2c(`reverse_proxy 127.0.0.1:${await hanging(t)}`));
    const client = await FrameClient.open(t, plane.port);
    for (let round = 0; round < 20 && !client.closed; round += 1) {
      const frames: Buffer[] = [];
      for (let at = 0; at < 50; at += 1) {
        const id = (round * 50 + at) * 2 + 1;
        frames.push(frame(HEADERS, END_HEADERS | END_STREAM, id, hpack(GET)), frame(RST_STREAM, 0, id, uint32(8)));
      }
      client.raw(Buffer.concat(frames));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    // What it sends meanwhile may turn the end into a RST that eats the GOAWAY.
    assert.match(await client.outcome(-1), /^(goaway ENHANCE_YOUR_CALM|closed)$/);
    await client.untilClosed();
    assert.equal(hits(plane, 'http2_flood'), 1);
  });

  test('requests that make us reset their streams are the same flood', async (t) => {
    const plane = await startPlane(t, h2c(`reverse_proxy 127.0.0.1:${await hanging(t)}`));
    const client = await FrameClient.open(t, plane.port);
    for (let at = 0; at < 1000 && !client.closed; at += 1) {
      // A window that overflows, or a body that does not fit: a reset of ours for a mistake of the client's.
      client.headers(at * 2 + 1, [...POST, ['content-length', '3']], END_HEADERS);
      client.send(DATA, END_STREAM, at * 2 + 1, 'x');
      if (at % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assert.match(await client.next(({ type }) => type === GOAWAY).then(() => client.outcome(-1)), /^goaway/);
    await client.untilClosed();
  });

  for (const [name, flood] of [
    ['PING', frame(PING, 0, 0, Buffer.alloc(8))],
    ['SETTINGS', frame(SETTINGS, 0, 0, setting(4, 65_535))],
  ] as const) {
    test(`${name} frames without end end the connection, and it is counted`, async (t) => {
      const plane = await startPlane(t, h2c('respond ok'));
      const client = await FrameClient.open(t, plane.port);
      client.raw(Buffer.concat(Array.from({ length: 700 }, () => flood)));
      assert.match(await client.outcome(-1), /^(goaway ENHANCE_YOUR_CALM|closed)$/);
      await client.untilClosed();
      assert.equal(hits(plane, 'http2_flood'), 1);
    });
  }

  test('a client may ask with a PING between its requests for as long as it likes', async (t) => {
    const plane = await startPlane(t, h2c('respond ok'));
    const session = await openH2(t, plane.port);
    for (let at = 0; at < 800; at += 1) {
      const answer = askH2(session);
      await new Promise<void>((resolve, reject) => void session.ping((error) => (error ? reject(error) : resolve())));
      assert.equal((await answer).status, 200);
    }
    assert.equal(hits(plane, 'http2_flood'), 0);
  });

  test('empty DATA frames without end end the connection', async (t) => {
    const plane = await startPlane(t, h2c(`reverse_proxy 127.0.0.1:${await hanging(t)}`));
    const client = await FrameClient.open(t, plane.port);
    client.headers(1, POST, END_HEADERS).raw(Buffer.concat(Array.from({ length: 300 }, () => frame(DATA, 0, 1))));
    await client.untilClosed();
    await eventually(() => total(plane, SERVER_HTTP2_SESSION_ERRORS) === 1, 'the error to be counted');
  });

  test('CONTINUATION frames without end end the connection', async (t) => {
    const plane = await startPlane(t, h2c('respond ok'));
    const client = await FrameClient.open(t, plane.port);
    client.send(HEADERS, END_STREAM, 1, hpack(GET));
    client.raw(
      Buffer.concat(Array.from({ length: 50 }, (_, at) => frame(CONTINUATION, 0, 1, hpack([[`x-${at}`, '1']])))),
    );
    assert.match(await client.outcome(1), /^goaway/);
    await client.untilClosed();
  });

  test('a client that floods and reads nothing is cut off', async (t) => {
    const plane = await startPlane(t, h2c('respond ok'));
    const client = await FrameClient.open(t, plane.port);
    client.stopReading();
    client.raw(Buffer.concat(Array.from({ length: 20_000 }, () => frame(PING, 0, 0, Buffer.alloc(8)))));
    await eventually(
      () => hits(plane, 'http2_flood') + total(plane, SERVER_HTTP2_SESSION_ERRORS) > 0,
      'the flood counted',
    );
  });
});

describe('limits', OPTIONS, () => {
  test('streams_per_connection is told, and one more is refused', async (t) => {
    const upstream = await startScripted(t, () => {});
    const plane = await startPlane(
      t,
      h2c(`reverse_proxy 127.0.0.1:${upstream.port}`, 'limits {\nstreams_per_connection 3\n}'),
    );
    const client = await FrameClient.open(t, plane.port);
    const settings = await client.next(({ type, payload }) => type === SETTINGS && payload.length > 0);
    const values = new Map<number, number>();
    for (let at = 0; at < settings.payload.length; at += 6) {
      values.set(settings.payload.readUInt16BE(at), settings.payload.readUInt32BE(at + 2));
    }
    assert.equal(values.get(3), 3);
    assert.equal(values.get(8), 1);
    client.send(SETTINGS, 1, 0);
    for (const id of [1, 3, 5, 7]) client.headers(id, GET);
    assert.match(await client.outcome(7), /^reset (REFUSED_STREAM|PROTOCOL_ERROR)|goaway PROTOCOL_ERROR/);
    assert.ok(upstream.sockets.length <= 3);
  });

  test('requests_per_connection: the last one is answered, and a GOAWAY names it', async (t) => {
    const plane = await startPlane(t, h2c('respond ok', 'limits {\nrequests_per_connection 2\n}'));
    const client = await FrameClient.open(t, plane.port);
    client.headers(1, GET);
    assert.equal(await client.outcome(1), 'status 200');
    client.headers(3, GET);
    assert.equal(await client.outcome(3), 'status 200');
    const { payload } = await client.next(({ type }) => type === GOAWAY);
    assert.deepEqual([payload.readUInt32BE(0), payload.readUInt32BE(4)], [3, 0]);
    await client.untilClosed();
    assert.equal(hits(plane, 'requests_per_connection'), 1);
  });

  test('respond with close ends the connection behind its answer', async (t) => {
    const plane = await startPlane(t, h2c('respond ok {\nclose\n}'));
    const client = await FrameClient.open(t, plane.port);
    assert.equal(await client.headers(1, GET).outcome(1), 'status 200');
    await client.next(({ type }) => type === GOAWAY);
    await client.untilClosed();
  });

  test('connections that another thread accepted are served alike', async (t) => {
    const { port } = await startPlane(t, h2c('respond ok', 'accept shared'));
    for (let at = 0; at < 4; at += 1) {
      const client = await FrameClient.open(t, port);
      assert.equal(await client.headers(1, GET).outcome(1), 'status 200');
    }
  });

  test('connections: one more than are allowed gets no HTTP/2', async (t) => {
    const plane = await startPlane(t, h2c('respond ok', 'limits {\nconnections 1\n}'), { workers: 1 });
    const first = await FrameClient.open(t, plane.port);
    assert.equal(await first.headers(1, GET).outcome(1), 'status 200');
    const second = await FrameClient.open(t, plane.port);
    await second.untilClosed();
    assert.equal(hits(plane, 'connections'), 1);
    first.destroy();
    await eventually(async () => {
      const third = await FrameClient.open(t, plane.port);
      return (await third.headers(1, GET).outcome(1)) === 'status 200';
    }, 'the place to be free');
  });

  test('abort resets the stream', async (t) => {
    const plane = await startPlane(t, h2c('abort'));
    const client = await FrameClient.open(t, plane.port);
    assert.equal(await client.headers(1, GET).outcome(1), 'reset INTERNAL_ERROR');
    assert.equal(await client.headers(3, GET).outcome(3), 'reset INTERNAL_ERROR');
  });
});

describe('deadlines', OPTIONS, () => {
  test('read_header: a client that asks nothing is told to go', async (t) => {
    const plane = await startPlane(t, h2c('respond ok', 'timeouts {\nread_header 200ms\n}'));
    const client = await FrameClient.open(t, plane.port);
    client.send(HEADERS, END_STREAM, 1, hpack(GET));
    const { payload } = await client.next(({ type }) => type === GOAWAY);
    assert.equal(payload.readUInt32BE(4), 0);
    await client.untilClosed();
  });

  test('idle: a connection without requests ends with a GOAWAY', async (t) => {
    const plane = await startPlane(t, h2c('respond ok', 'timeouts {\nidle 300ms\n}'));
    const client = await FrameClient.open(t, plane.port);
    assert.equal(await client.headers(1, GET).outcome(1), 'status 200');
    await client.next(({ type }) => type === GOAWAY);
    await client.untilClosed();
  });

  test('read_body: a body that does not come is 408, and the connection goes on', async (t) => {
    const plane = await startPlane(
      t,
      h2c(`reverse_proxy 127.0.0.1:${await hanging(t)}`, 'timeouts {\nread_body 200ms\n}'),
    );
    const client = await FrameClient.open(t, plane.port);
    client.headers(1, POST, END_HEADERS).send(DATA, 0, 1, 'half');
    assert.equal(await client.outcome(1), 'status 408');
    client.headers(3, POST, END_HEADERS).send(DATA, 0, 3, 'half');
    assert.equal(await client.outcome(3), 'status 408');
  });

  test('write_idle: a stream whose window stays closed is reset', async (t) => {
    const backend = await startBackend(t, 'big', (_request, response) => response.end(Buffer.alloc(1_000_000)));
    const plane = await startPlane(
      t,
      h2c(`reverse_proxy 127.0.0.1:${backend.port}`, 'timeouts {\nwrite_idle 300ms\n}'),
    );
    const client = await FrameClient.open(t, plane.port);
    client.headers(1, GET);
    const { payload } = await client.next(({ type, stream }) => type === RST_STREAM && stream === 1);
    assert.ok([2, 8].includes(payload.readUInt32BE(0)));
  });
});

describe('reload and drain', OPTIONS, () => {
  test('reloads under load fail no request, and streams that run go on', async (t) => {
    const slow = await startBackend(t, 'slow', (request, response) => {
      response.write('begun ');
      setTimeout(() => response.end(request.url), request.url === '/long' ? 2500 : 5);
    });
    const config = (round: number): string => h2c(`header X-Round ${round}\nreverse_proxy 127.0.0.1:${slow.port}`);
    const { port, reload } = await startPlane(t, config(0));
    const session = await openH2(t, port);
    const long = askH2(session, { ':path': '/long' });
    const rounds: string[] = [];
    const stop = new AbortController();
    const load = Array.from({ length: 8 }, async () => {
      while (!stop.signal.aborted) {
        const answer = await askH2(session, { ':path': '/' });
        assert.equal(answer.body, 'begun /');
        rounds.push(String(answer.headers['x-round']));
      }
    });
    for (let round = 1; round <= 10; round += 1) await reload(config(round));
    await eventually(() => rounds.includes('10'), 'an answer of the last config');
    stop.abort();
    await Promise.all(load);
    assert.equal((await long).body, 'begun /long');
  });

  test('a listener that goes away says GOAWAY twice; what runs is finished and nothing is lost', async (t) => {
    const slow = await startBackend(t, 'slow', (_request, response) => {
      response.write('begun ');
      setTimeout(() => response.end('done'), 2000);
    });
    const body = `reverse_proxy 127.0.0.1:${slow.port}`;
    const { port, reload } = await startPlane(t, h2c(body));
    const client = await FrameClient.open(t, port);
    client.headers(1, GET);
    assert.equal(await client.outcome(1), 'status 200');
    await reload(site(body, { servers: 'protocols h1 h2 h2c', bind: '127.0.0.2' }));
    const first = await client.next(({ type }) => type === GOAWAY);
    assert.equal(first.payload.readUInt32BE(0), 2 ** 31 - 1);
    assert.equal(await client.body(1), 'begun done');
    await client.untilClosed();
    const last = client.frames.findLast(({ type }) => type === GOAWAY)!;
    assert.deepEqual([last.payload.readUInt32BE(0), last.payload.readUInt32BE(4)], [1, 0]);
  });

  test('a drain finishes what runs, answers what was on its way, and takes nothing more', async (t) => {
    const slow = await startBackend(t, 'slow', (_request, response) => setTimeout(() => response.end('done'), 500));
    const { plane, port } = await startPlane(t, h2c(`reverse_proxy 127.0.0.1:${slow.port}`), { workers: 1 });
    const session = await openH2(t, port);
    const running = askH2(session);
    await eventually(() => slow.requests.length === 1, 'the request upstream');
    const stopped = plane.stop(10_000);
    await once(session, 'goaway');
    assert.equal((await running).body, 'done');
    await stopped;
    await eventually(() => session.destroyed, 'the end of the session');
  });

  test('what is still there after the grace period is reset', async (t) => {
    const { plane, port } = await startPlane(t, h2c(`reverse_proxy 127.0.0.1:${await hanging(t)}`), { workers: 1 });
    const session = await openH2(t, port);
    const stream = session.request({ ':authority': 'a' });
    const answer = answerOf(stream);
    answer.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 100));
    await plane.stop(300);
    const { status } = await answer.catch(() => ({ status: 0 }));
    assert.equal(status, 0);
  });
});
