/** HTTP/2 upstreams that refuse, go away, break or fall silent: what the client gets, and who is asked next. */
import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { eventually, startBackend } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { ask, get, openClient } from '../support/raw-client.ts';
import { assertNoRestarts } from '../support/recorder.ts';
import { startH2 } from '../support/secure-backend.ts';

function front(t: TestContext, ports: readonly number[], transport = '', proxy = ''): Promise<TestBalancer> {
  const to = ports.map((port) => `h2c://127.0.0.1:${port}`).join(' ');
  return startBalancer(
    t,
    site(`reverse_proxy ${to} {\nlb_policy first\n${proxy}\ntransport http {\nkeepalive 2m\n${transport}\n}\n}`),
  );
}

const POST = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody';

test('a refused stream is sent again, whatever its method, when all of its body is kept', async (t) => {
  let count = 0;
  const upstream = await startH2(t, (stream) => {
    count += 1;
    if (count % 2 === 1) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    stream.respond({ ':status': 200 });
    stream.end('second');
  });
  const balancer = await front(t, [upstream.port], '', 'request_buffers 1KB');
  assert.equal((await get(balancer.port)).body, 'second');
  assert.equal((await ask(balancer.port, POST)).body, 'second');
});

test('who refuses twice is left for another', async (t) => {
  const refusing = await startH2(t, (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));
  const good = await startH2(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.end('good');
  });
  const balancer = await front(t, [refusing.port, good.port]);
  assert.equal((await get(balancer.port)).body, 'good');
  assert.equal(refusing.streams.length, 2);
});

test('a stream reset for another reason: a GET goes elsewhere, a POST is 502', async (t) => {
  const broken = await startH2(t, (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  const good = await startH2(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.end('good');
  });
  const balancer = await front(t, [broken.port, good.port]);
  assert.equal((await get(balancer.port)).body, 'good');
  assert.equal((await ask(balancer.port, POST)).status, 502);
});

test('a stream reset in the middle of a response cuts the client off', async (t) => {
  // SETTINGS; `:status: 200`; DATA `half`; and after that RST_STREAM with INTERNAL_ERROR, on stream 1.
  const answer = '0000000400000000000000010104000000018800000400000000000168616c66';
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(Buffer.from(answer.slice(0, 18), 'hex'));
    socket.once('data', () => {
      setTimeout(() => {
        socket.write(Buffer.from(answer.slice(18), 'hex'));
        setTimeout(() => socket.write(Buffer.from('00000403000000000100000002', 'hex')), 50);
      }, 100);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => void server.close());
  const balancer = await front(t, [(server.address() as AddressInfo).port]);
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.until(() => client.received.includes('half'));
  assert.equal(await client.ended(), 'reset');
  assert.ok(!client.received.endsWith('0\r\n\r\n'));
});

test('a server that allows one stream at a time gets as many connections as there are requests', async (t) => {
  let most = 0;
  const open = new Map<unknown, number>();
  const upstream = await startH2(
    t,
    (stream) => {
      const now = (open.get(stream.session) ?? 0) + 1;
      open.set(stream.session, now);
      most = Math.max(most, now);
      setTimeout(() => {
        stream.respond({ ':status': 200 });
        stream.end('one');
        open.set(stream.session, now - 1);
      }, 50);
    },
    { settings: { maxConcurrentStreams: 1 } },
  );
  const balancer = await front(t, [upstream.port]);
  const bodies = await Promise.all(Array.from({ length: 8 }, async () => (await get(balancer.port)).body));
  assert.deepEqual(
    bodies,
    Array.from({ length: 8 }, () => 'one'),
  );
  assert.equal(most, 1);
  assert.equal(upstream.sessions.length, 8);
});

test('requests that come together share one connection', async (t) => {
  const upstream = await startH2(t, (stream) => {
    setTimeout(() => {
      stream.respond({ ':status': 200 });
      stream.end('shared');
    }, 50);
  });
  const balancer = await front(t, [upstream.port]);
  const answers = await Promise.all(Array.from({ length: 40 }, () => get(balancer.port)));
  for (const { status, body } of answers) assert.equal(`${status} ${body}`, '200 shared');
  assert.equal(upstream.sessions.length, 1);
});

test('connections that are said goodbye to under load lose no request', async (t) => {
  let served = 0;
  const upstream = await startH2(t, (stream) => {
    served += 1;
    setTimeout(() => {
      if (stream.destroyed) return;
      stream.respond({ ':status': 200 });
      stream.end('fine');
    }, 5);
    // A graceful goodbye every few requests: what is open is finished, what comes later is refused.
    if (served % 10 === 0) stream.session?.goaway(constants.NGHTTP2_NO_ERROR, stream.id);
  });
  const balancer = await front(t, [upstream.port]);
  const clients = Array.from({ length: 10 }, async () => {
    const client = await openClient(balancer.port);
    for (let count = 0; count < 30; count += 1) {
      const { status, body } = await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n').response();
      assert.equal(`${status} ${body}`, '200 fine');
    }
    client.close();
  });
  await Promise.all(clients);
  assert.ok(upstream.sessions.length > 5, `${upstream.sessions.length} connections`);
});

test('a connection that breaks under requests: GETs are tried elsewhere, and the next request makes a new one', async (t) => {
  let breaking = true;
  const upstream = await startH2(t, (stream) => {
    if (breaking) return void stream.session?.socket.destroy();
    stream.respond({ ':status': 200 });
    stream.end('back');
  });
  const spare = await startH2(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.end('spare');
  });
  const balancer = await front(t, [upstream.port, spare.port]);
  const answers = await Promise.all(Array.from({ length: 5 }, () => get(balancer.port)));
  assert.deepEqual(
    answers.map(({ body }) => body),
    Array.from({ length: 5 }, () => 'spare'),
  );
  breaking = false;
  assert.equal((await get(balancer.port)).body, 'back');
});

test('an idle connection whose server went away costs no request', async (t) => {
  const upstream = await startH2(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.end('here');
  });
  const balancer = await front(t, [upstream.port]);
  assert.equal((await get(balancer.port)).body, 'here');
  upstream.sessions[0]!.destroy();
  assert.equal((await get(balancer.port)).body, 'here');
  assert.equal(upstream.sessions.length, 2);
});

test('no head in time is 504, and only its own stream ends', async (t) => {
  const upstream = await startH2(t, (stream, headers) => {
    if (headers[':path'] === '/silent') return;
    stream.respond({ ':status': 200 });
    stream.end('fine');
  });
  const balancer = await front(t, [upstream.port], 'response_header_timeout 200ms');
  const [silent, fine] = await Promise.all([get(balancer.port, '/silent'), get(balancer.port)]);
  assert.equal(silent.status, 504);
  assert.equal(fine.body, 'fine');
  assert.equal(upstream.sessions.length, 1);
});

test('a head larger than allowed is 502', async (t) => {
  const upstream = await startH2(t, (stream) => {
    stream.respond({ ':status': 200, 'x-large': 'x'.repeat(5000) });
    stream.end('fine');
  });
  const balancer = await front(t, [upstream.port], 'max_response_header 2KB');
  assert.equal((await get(balancer.port)).status, 502);
});

test('a server that speaks something else is 502 at once, not after the dial timeout', async (t) => {
  const plain = await startBackend(t, 'plain');
  const balancer = await front(t, [plain.port], 'dial_timeout 30s', 'lb_retries 0');
  assert.equal((await get(balancer.port)).status, 502);
});

test('a server that allows no streams at all is 502 and is not flooded with connections', async (t) => {
  const upstream = await startH2(t, (stream) => stream.end(), { settings: { maxConcurrentStreams: 0 } });
  const balancer = await front(t, [upstream.port], 'dial_timeout 500ms', 'lb_retries 0');
  const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await get(balancer.port)).status));
  assert.deepEqual(statuses, [502, 502, 502, 502, 502]);
  assert.ok(upstream.sessions.length <= 5, `${upstream.sessions.length} connections`);
  await eventually(() => upstream.sessions.every(({ closed }) => closed), 'the end of connections that are of no use');
});

test('whoever comes when a dial is given up makes one of their own', async (t) => {
  // The first connection hears nothing; the error route asks the same server in the same turn.
  let connections = 0;
  const answering = await startH2(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.end('fine');
  });
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    if (connections > 1) answering.server.emit('connection', socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => void server.close());
  const proxy = `reverse_proxy h2c://127.0.0.1:${(server.address() as AddressInfo).port} {
    transport http {
      dial_timeout 300ms
    }
  }`;
  const balancer = await startBalancer(t, site(`${proxy}\nhandle_errors {\n${proxy}\n}`));
  assert.equal((await get(balancer.port)).body, 'fine');
});

test('garbage instead of frames is 502 and takes nothing down', async (t) => {
  let first = true;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    // SETTINGS, so that it looks like HTTP/2, then a frame that is none.
    socket.write(Buffer.from('000000040000000000', 'hex'));
    if (first) socket.write(Buffer.from('ffffff00ff00000001', 'hex'));
    first = false;
    socket.on('data', (bytes: Buffer) => {
      if (bytes.includes('PRI *')) setTimeout(() => socket.write(Buffer.from('ffffff00ff00000001', 'hex')), 50);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => void server.close());
  const balancer = await front(t, [(server.address() as AddressInfo).port], '', 'lb_retries 0');
  for (let count = 0; count < 3; count += 1) assert.equal((await get(balancer.port)).status, 502);
  assertNoRestarts(await balancer.metrics());
});

test('whatever a client sends, no request of another is lost', async (t) => {
  const upstream = await startH2(t, (stream) => {
    stream.resume().on('end', () => {
      if (stream.destroyed) return;
      stream.respond({ ':status': 200 });
      stream.end('fine');
    });
  });
  const balancer = await startBalancer(
    t,
    `{\nadmin off\nauto_https off\nservers {\nmax_header_size 200KB\n}\n}\nhttp://:0 {\nbind 127.0.0.1\n` +
      `reverse_proxy h2c://127.0.0.1:${upstream.port}\n}\n`,
  );
  const chunked = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n';
  const requests = [
    `${chunked}User-Agent: a\r\nUser-Agent: b\r\n\r\n`,
    `${chunked}X-A: caf\xe9\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: a\r\nX-Large: ${'x'.repeat(100_000)}\r\n\r\n`,
    'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n',
    'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET / HTTP/1.0\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nContent-Type: a\r\nContent-Type: b\r\nReferer: a\r\nReferer: b\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  ];
  for (const request of requests) {
    const client = await openClient(balancer.port);
    client.send(request);
    await client.until(() => client.received.includes('HTTP/1.1 ') || client.end !== undefined);
    client.close();
    const { status, body } = await get(balancer.port);
    assert.equal(`${status} ${body}`, '200 fine', request.slice(0, 80));
  }
  assertNoRestarts(await balancer.metrics());
});

test('a pool that is gone from the config closes its connections after their streams', async (t) => {
  const upstream = await startH2(t, (stream) => {
    setTimeout(() => {
      stream.respond({ ':status': 200 });
      stream.end('last');
    }, 300);
  });
  const balancer = await front(t, [upstream.port]);
  const running = get(balancer.port);
  await eventually(() => upstream.streams.length === 1, 'the request');
  await balancer.reload(site('respond gone'));
  assert.equal((await running).body, 'last');
  await eventually(() => upstream.sessions.every((session) => session.destroyed), 'the connection to end');
});

test('stopping leaves no connection behind', async (t) => {
  const upstream = await startH2(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.write('never ends');
  });
  const balancer = await front(t, [upstream.port]);
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.until(() => client.received.includes('never ends'));
  await balancer.stop(100);
  await eventually(() => upstream.sessions.every((session) => session.destroyed), 'the connection to end');
  client.close();
});
