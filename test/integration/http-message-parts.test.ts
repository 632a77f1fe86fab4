/** Interim answers, trailers, answers without a body, old versions, pipelining, bodies without a length, half-closed clients. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { eventually } from '../support/backend.ts';
import { ask, openClient } from '../support/raw-client.ts';
import { startRecorder, unchunk, type RecordedRequest, type Recorder } from '../support/recorder.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

interface Front {
  readonly upstream: Recorder;
  readonly balancer: TestBalancer;
}

/** `answer` gives the bytes for a request; parts are written 40 ms apart. */
async function startFront(
  t: TestContext,
  answer: (request: RecordedRequest) => string | readonly string[],
  end = false,
): Promise<Front> {
  const upstream = await startRecorder(t, (socket, request) => {
    const said = answer(request);
    const parts = typeof said === 'string' ? [said] : said;
    parts.forEach((part, index) => {
      setTimeout(() => {
        if (end && index === parts.length - 1) socket.end(part, 'latin1');
        else socket.write(part, 'latin1');
      }, 40 * index);
    });
  });
  return { upstream, balancer: await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`)) };
}

function names(fields: readonly (readonly [string, string])[]): string[] {
  return fields.map(([name]) => name.toLowerCase());
}

test('trailers of an answer follow the body, announced or not, and are never merged into the header', async (t) => {
  const { balancer } = await startFront(t, ({ line }) => {
    const announced = line.includes('/announced') ? 'Trailer: X-Sum\r\n' : '';
    return `HTTP/1.1 200 OK\r\n${announced}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n`;
  });
  for (const target of ['/announced', '/silent']) {
    const response = await ask(balancer.port, GET.replace(' / ', ` ${target} `));
    assert.equal(response.body, 'ok');
    assert.deepEqual(response.trailers, [['X-Sum', '1']]);
    assert.equal(response.header('X-Sum'), undefined);
    assert.equal(response.header('Trailer'), target === '/announced' ? 'X-Sum' : undefined);
  }
});

test('trailers of a request follow its body', async (t) => {
  const { upstream, balancer } = await startFront(t, () => 'HTTP/1.1 204 No Content\r\n\r\n');
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n';
  await ask(balancer.port, `${head}2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n`);
  const [request] = upstream.requests;
  assert.equal(unchunk(request!.rawBody), 'ok');
  assert.match(request!.rawBody, /0\r\nX-Sum: 1\r\n\r\n$/);
  assert.deepEqual([request!.values('X-Sum'), request!.values('Trailer')], [[], ['X-Sum']]);
});

test('trailers that frame, route or set cookies are dropped, the others stay', async (t) => {
  const bad = 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\nHost: b\r\nSet-Cookie: a=b\r\nX-Sum: 1\r\n';
  const { upstream, balancer } = await startFront(
    t,
    () => `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${bad}\r\n`,
  );
  const response = await ask(
    balancer.port,
    `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${bad}\r\n`,
  );
  assert.deepEqual(names(response.trailers), ['x-sum']);
  assert.match(upstream.requests[0]!.rawBody, /^0\r\nX-Sum: 1\r\n\r\n$/);
});

test('a client that accepts trailers is announced upstream as one', async (t) => {
  const { upstream, balancer } = await startFront(t, () => 'HTTP/1.1 204 No Content\r\n\r\n');
  await ask(balancer.port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: TE\r\nTE: trailers, deflate;q=0.5\r\n\r\n');
  await ask(balancer.port, GET);
  assert.deepEqual(
    upstream.requests.map((request) => request.values('TE')),
    [['trailers'], []],
  );
});

test('each 103 is passed on at once, and the final answer carries only its own fields', async (t) => {
  const early = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n';
  const { balancer } = await startFront(t, () => [early, early, 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok']);
  const client = await openClient(balancer.port);
  client.send(GET);
  for (let count = 0; count < 2; count += 1) {
    const interim = await client.response();
    assert.deepEqual([interim.status, interim.header('Link')], [103, '</a.css>; rel=preload']);
  }
  const final = await client.response();
  assert.deepEqual([final.status, final.header('Link'), final.body], [200, undefined, 'ok']);
  client.close();
});

test('a row of 102s and an unknown 199 end in the 200, also in one write', async (t) => {
  const many = Array.from({ length: 20 }, () => 'HTTP/1.1 102 Processing\r\n\r\n').join('');
  const { balancer } = await startFront(
    t,
    () => `${many}HTTP/1.1 199 What\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`,
  );
  const client = await openClient(balancer.port);
  client.send(GET);
  const statuses: number[] = [];
  while (statuses.at(-1) !== 200) statuses.push((await client.response()).status);
  assert.deepEqual([statuses.length, statuses.at(-2)], [22, 199]);
  client.close();
});

test('an interim answer does not use up the retry: the server dies after a 103, another one answers', async (t) => {
  const first = await startRecorder(t, (socket) => {
    socket.write('HTTP/1.1 103 Early Hints\r\n\r\n', () => setTimeout(() => socket.resetAndDestroy(), 50));
  });
  const second = await startRecorder(t);
  const upstreams = `127.0.0.1:${first.port} 127.0.0.1:${second.port}`;
  const balancer = await startBalancer(t, site(`reverse_proxy ${upstreams} {\n    lb_policy first\n  }`));
  const client = await openClient(balancer.port);
  assert.equal((await client.send(GET).response()).status, 103);
  assert.equal((await client.response()).status, 200);
  client.close();
});

test('an HTTP/1.0 client gets no 1xx, no chunks, and the end of the connection as the end of the body', async (t) => {
  const { upstream, balancer } = await startFront(t, () => [
    'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n',
  ]);
  const response = await ask(balancer.port, 'GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n');
  assert.equal(response.status, 200);
  assert.equal(response.header('Transfer-Encoding'), undefined);
  assert.equal(response.body, 'ok');
  assert.match(upstream.requests[0]!.line, /HTTP\/1\.1$/);
});

test('an HTTP/1.0 client keeps its connection when it asks to and the length is known, and only then', async (t) => {
  const { upstream, balancer } = await startFront(t, () => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  const client = await openClient(balancer.port);
  for (let round = 0; round < 2; round += 1) {
    const response = await client.send('GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n').response();
    assert.deepEqual([response.body, response.header('Connection')], ['ok', 'keep-alive']);
  }
  const last = await client.send('GET / HTTP/1.0\r\n\r\n').response();
  assert.equal(last.header('Connection'), 'close');
  assert.equal(await client.ended(), 'fin');
  // An HTTP/1.0 client may name no host; HTTP/1.1 upstream demands one.
  assert.deepEqual(
    upstream.requests.map((request) => request.values('Host').length),
    [1, 1, 1],
  );
  client.close();
});

test('HEAD, 204 and 304 have no body, whatever their fields say, and the connection goes on', async (t) => {
  const { balancer } = await startFront(t, ({ line }) => {
    if (line.startsWith('HEAD')) return 'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nX-A: 1\r\n\r\n';
    if (line.includes('/204')) return 'HTTP/1.1 204 No Content\r\n\r\n';
    if (line.includes('/304')) return 'HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\nETag: "x"\r\n\r\n';
    if (line.includes('/chunked')) return 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n';
    return 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
  });
  const client = await openClient(balancer.port);
  const head = await client.send(GET.replace('GET', 'HEAD')).response('HEAD');
  assert.deepEqual([head.header('Content-Length'), head.header('X-A')], ['1000', '1']);
  const none = await client.send(GET.replace(' / ', ' /204 ')).response();
  assert.deepEqual(
    [none.status, none.header('Content-Length'), none.header('Transfer-Encoding')],
    [204, undefined, undefined],
  );
  const same = await client.send(GET.replace(' / ', ' /304 ')).response();
  assert.deepEqual([same.status, same.header('ETag')], [304, '"x"']);
  assert.equal((await client.send(GET.replace(' / ', ' /chunked ')).response()).body, 'ok');
  const empty = await client.send(GET).response();
  assert.deepEqual([empty.status, empty.header('Content-Length'), empty.body], [200, '0', '']);
  client.close();
});

test('HEAD of an answer of our own has the length and no body', async (t) => {
  const balancer = await startBalancer(t, site('respond "hello" 200'));
  const client = await openClient(balancer.port);
  const head = await client.send(GET.replace('GET', 'HEAD')).response('HEAD');
  assert.deepEqual([head.status, head.header('Content-Length')], [200, '5']);
  assert.equal((await client.send(GET).response()).body, 'hello');
  client.close();
});

test('a body that ends with the connection arrives whole, framed for the client', async (t) => {
  const { balancer } = await startFront(t, () => ['HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\nfirst ', 'second ', 'third'], true);
  const client = await openClient(balancer.port);
  for (let round = 0; round < 2; round += 1) {
    const response = await client.send(GET).response();
    assert.equal(response.header('Transfer-Encoding'), 'chunked');
    assert.equal(response.body, 'first second third');
  }
  client.close();
});

test('an HTTP/1.0 server is understood, with and without keep-alive', async (t) => {
  const { upstream, balancer } = await startFront(
    t,
    ({ line }) =>
      `HTTP/1.0 200 OK\r\n${line.includes('/keep') ? 'Connection: keep-alive\r\n' : ''}Content-Length: 2\r\n\r\nok`,
  );
  const client = await openClient(balancer.port);
  for (const target of ['/keep', '/close', '/keep']) {
    const response = await client.send(GET.replace(' / ', ` ${target} `)).response();
    assert.deepEqual([response.body, response.header('Via')], ['ok', '1.0 holdfast']);
  }
  assert.deepEqual(
    upstream.requests.map(({ connection }) => connection),
    [0, 0, 1],
  );
  client.close();
});

test('pipelined requests are answered one by one, in order', async (t) => {
  const { upstream, balancer } = await startFront(t, ({ line, rawBody }) => {
    const body = `${line.split(' ')[1]}${rawBody}`;
    const text = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    return line.includes('/slow') ? ['', '', text] : text;
  });
  const client = await openClient(balancer.port);
  client.send(
    'GET /slow HTTP/1.1\r\nHost: a\r\n\r\nPOST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nxGET /c HTTP/1.1\r\nHost: a\r\n\r\nGET /d HT',
  );
  const bodies = [(await client.response()).body, (await client.response()).body, (await client.response()).body];
  assert.deepEqual(bodies, ['/slow', '/bx', '/c']);
  client.send('TP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /never HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.equal((await client.response()).body, '/d');
  assert.equal(await client.ended(), 'fin');
  assert.equal(upstream.requests.length, 4);
  client.close();
});

test('two hundred pipelined requests beyond what is kept are all answered', async (t) => {
  const { balancer } = await startFront(t, ({ line }) => {
    const body = line.split(' ')[1]!;
    return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  });
  const client = await openClient(balancer.port);
  const filler = 'x'.repeat(2000);
  for (let index = 0; index < 200; index += 1)
    client.send(`GET /${index} HTTP/1.1\r\nHost: a\r\nX-Filler: ${filler}\r\n\r\n`);
  for (let index = 0; index < 200; index += 1) assert.equal((await client.response()).body, `/${index}`);
  client.close();
});

test('a client that half-closes after its requests gets all its answers', async (t) => {
  const { balancer } = await startFront(t, ({ line }) => [
    '',
    '',
    '',
    `HTTP/1.1 200 OK\r\nX-L: ${line}\r\nContent-Length: 2\r\n\r\nok`,
  ]);
  const client = await openClient(balancer.port);
  client.socket.end(`${GET.replace(' / ', ' /1 ')}${GET.replace(' / ', ' /2 ')}`);
  const first = await client.response();
  const second = await client.response();
  assert.deepEqual([first.header('X-L'), second.header('X-L')], ['GET /1 HTTP/1.1', 'GET /2 HTTP/1.1']);
  assert.equal(second.header('Connection'), 'close');
  assert.equal(await client.ended(), 'fin');
});

test('a client that half-closes inside a body is given up, and so is the request upstream', async (t) => {
  const { upstream, balancer } = await startFront(t, () => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  const client = await openClient(balancer.port);
  client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf');
  await eventually(() => (upstream.received[0] ?? '').endsWith('half'), 'the first half');
  client.socket.end();
  await client.ended();
  await eventually(() => upstream.open() === 0, 'the request upstream to be cut');
  assert.equal(upstream.requests.length, 0);
});
