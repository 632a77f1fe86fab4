/** Messages that two parsers could cut differently: refused, closed, and never more than one request upstream. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { loggerTo } from '../../src/shared/log.ts';
import { eventually } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { openClient } from '../support/raw-client.ts';
import { OK, sampleOf, startRecorder, unchunk, type Recorder } from '../support/recorder.ts';

const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n';

async function startFront(t: TestContext): Promise<{ upstream: Recorder; balancer: TestBalancer }> {
  const upstream = await startRecorder(t);
  return { upstream, balancer: await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`)) };
}

function post(fields: string, body: string, version = '1.1'): string {
  return `POST / HTTP/${version}\r\nHost: a\r\n${fields}\r\n\r\n${body}`;
}

const CHUNKED_NOTHING = `0\r\n\r\n${SMUGGLED}`;

/** What the head alone gives away: refused before anything goes upstream. */
const FAULTY_HEADS: Readonly<Record<string, readonly [request: string, status: number]>> = {
  'Content-Length with Transfer-Encoding': [
    post('Content-Length: 5\r\nTransfer-Encoding: chunked', CHUNKED_NOTHING),
    400,
  ],
  'Transfer-Encoding with Content-Length': [
    post('Transfer-Encoding: chunked\r\nContent-Length: 41', CHUNKED_NOTHING),
    400,
  ],
  'a tab behind chunked beside a length': [
    post('Transfer-Encoding: chunked\t\r\nContent-Length: 5', CHUNKED_NOTHING),
    400,
  ],
  'a tab behind chunked alone': [post('Transfer-Encoding: chunked\t', CHUNKED_NOTHING), 400],
  'a vertical tab before chunked': [post('Transfer-Encoding: \vchunked', CHUNKED_NOTHING), 400],
  xchunked: [post('Transfer-Encoding: xchunked', CHUNKED_NOTHING), 400],
  'chunked, identity': [post('Transfer-Encoding: chunked, identity', CHUNKED_NOTHING), 400],
  'chunked twice': [post('Transfer-Encoding: chunked, chunked', CHUNKED_NOTHING), 400],
  'two Transfer-Encoding lines': [
    post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', CHUNKED_NOTHING),
    400,
  ],
  'an empty Transfer-Encoding': [post('Transfer-Encoding:', CHUNKED_NOTHING), 400],
  'gzip, chunked': [post('Transfer-Encoding: gzip, chunked', CHUNKED_NOTHING), 501],
  'a space before the colon': [post('Content-Length : 4', `abcd${SMUGGLED}`), 400],
  'a space before the colon of Transfer-Encoding': [post('Transfer-Encoding : chunked', CHUNKED_NOTHING), 400],
  'two equal lengths': [post('Content-Length: 4\r\nContent-Length: 4', `abcd${SMUGGLED}`), 400],
  'two unequal lengths': [post('Content-Length: 4\r\nContent-Length: 0', `abcd${SMUGGLED}`), 400],
  'a signed length': [post('Content-Length: +2', `ab${SMUGGLED}`), 400],
  'a negative length': [post('Content-Length: -1', SMUGGLED), 400],
  'a list of lengths': [post('Content-Length: 2, 2', `ab${SMUGGLED}`), 400],
  'a hexadecimal length': [post('Content-Length: 0x2', `ab${SMUGGLED}`), 400],
  'an endless length': [post('Content-Length: 99999999999999999999', `ab${SMUGGLED}`), 400],
  'an empty length': [post('Content-Length:', SMUGGLED), 400],
  'obs-fold': [post('X-A: 1\r\n 2', SMUGGLED), 400],
  'obs-fold in a length': [post('Content-Length:\r\n 4', `abcd${SMUGGLED}`), 400],
  'a bare CR in a value': [post('X-A: 1\r2', SMUGGLED), 400],
  'a bare LF between fields': [post('X-A: 1\nX-B: 2', SMUGGLED), 400],
  'a NUL in a value': [post('X-A: 1\0', SMUGGLED), 400],
  'a field without a name': [post(': x', SMUGGLED), 400],
  'a line without a colon': [post('nonsense', SMUGGLED), 400],
  'a space before the first field': ['GET / HTTP/1.1\r\n X: 1\r\nHost: a\r\n\r\n', 400],
  'two Host lines': ['GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
  'no Host': ['GET / HTTP/1.1\r\n\r\n', 400],
  'userinfo in Host': ['GET / HTTP/1.1\r\nHost: user@a\r\n\r\n', 400],
  'HTTP/2.0': ['GET / HTTP/2.0\r\nHost: a\r\n\r\n', 505],
  'the HTTP/2 preface': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
  'HTTP/0.9': ['GET /\r\n\r\n', 400],
  CONNECT: ['CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n', 501],
  'two spaces in the request line': ['GET  / HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  'HTTP/1.0 with Transfer-Encoding and keep-alive': [
    post('Connection: keep-alive\r\nTransfer-Encoding: chunked', CHUNKED_NOTHING, '1.0'),
    400,
  ],
};

test('a head with doubtful framing is refused and the connection ends, with nothing sent upstream', async (t) => {
  const { upstream, balancer } = await startFront(t);
  for (const [what, [request, status]] of Object.entries(FAULTY_HEADS)) {
    const client = await openClient(balancer.port);
    const response = await client.send(request).response();
    assert.equal(response.status, status, what);
    assert.equal(response.header('Connection'), 'close', what);
    assert.equal(await client.ended(), 'fin', what);
    assert.equal(client.received, '', `a second answer: ${what}`);
    client.close();
  }
  assert.deepEqual(upstream.received.join(''), '');
  const bad = (await balancer.metrics()).match(/^holdfast_http_bad_requests_total\{.*\} (\d+)$/m);
  assert.equal(Number(bad?.[1]), Object.keys(FAULTY_HEADS).length);
});

const FAULTY_CHUNKS: Readonly<Record<string, string>> = {
  'a size with 0x': '0x2\r\nab\r\n0\r\n\r\n',
  'a size with junk': '2junk\r\nab\r\n0\r\n\r\n',
  'a negative size': '-1\r\nab\r\n0\r\n\r\n',
  'a signed size': '+2\r\nab\r\n0\r\n\r\n',
  'a size beyond 64 bits': 'ffffffffffffffff1\r\nab\r\n0\r\n\r\n',
  'an empty size': '\r\nab\r\n0\r\n\r\n',
  'a space before the size': ' 2\r\nab\r\n0\r\n\r\n',
  'data longer than its size': '2\r\nabc\r\n0\r\n\r\n',
  'an extension ended by LF': '2;a\nab\r\n0\r\n\r\n',
  'an extension with a CR': '2;a\rb\r\nab\r\n0\r\n\r\n',
  'a size ended by LF': '2\nab\n0\n\n',
  'junk behind the last chunk': '0\r\nXX',
  'a trailer with a space before the colon': '0\r\nX : 1\r\n\r\n',
  'a folded trailer': '0\r\nX: 1\r\n 2\r\n\r\n',
};

test('a broken chunk ends the request with 400, and what follows is never a request', async (t) => {
  const { upstream, balancer } = await startFront(t);
  for (const [what, body] of Object.entries(FAULTY_CHUNKS)) {
    const client = await openClient(balancer.port);
    const response = await client.send(post('Transfer-Encoding: chunked', `${body}${SMUGGLED}`)).response();
    assert.equal(response.status, 400, what);
    assert.equal(await client.ended(), 'fin', what);
    assert.equal(client.received, '', `a second answer: ${what}`);
    client.close();
  }
  // No upstream ever saw a whole request, smuggled or not: the first one was cut off.
  assert.deepEqual(
    upstream.requests.map(({ line }) => line),
    [],
  );
  assert.doesNotMatch(upstream.received.join(''), /smuggled/);
});

test('a chunked body is framed anew: sizes of our own, no extensions', async (t) => {
  const { upstream, balancer } = await startFront(t);
  const client = await openClient(balancer.port);
  client.send(post('Transfer-Encoding: CHUNKED', '2;name="value;\\"x"\r\nab\r\n0003\r\ncde\r\n000\r\n\r\n'));
  assert.equal((await client.response()).status, 200);
  const [request] = upstream.requests;
  assert.deepEqual(request!.values('Transfer-Encoding'), ['chunked']);
  assert.deepEqual(request!.values('Content-Length'), []);
  assert.equal(unchunk(request!.rawBody), 'abcde');
  assert.doesNotMatch(request!.rawBody, /;|000/);
  client.close();
});

for (const method of ['GET', 'DELETE', 'OPTIONS']) {
  test(`a chunked ${method} goes on as chunked, with its body`, async (t) => {
    const { upstream, balancer } = await startFront(t);
    const client = await openClient(balancer.port);
    client.send(
      `${method} /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`,
    );
    assert.equal((await client.response()).status, 200);
    client.send('GET /next HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.equal((await client.response()).status, 200);
    assert.deepEqual(
      upstream.requests.map(({ line }) => line),
      [`${method} /x HTTP/1.1`, 'GET /next HTTP/1.1'],
    );
    assert.deepEqual(upstream.requests[0]!.values('Content-Length'), []);
    assert.equal(unchunk(upstream.requests[0]!.rawBody), SMUGGLED);
    client.close();
  });
}

test('a body that looks like a request stays a body', async (t) => {
  const { upstream, balancer } = await startFront(t);
  const client = await openClient(balancer.port);
  client.send(post(`Content-Length: ${SMUGGLED.length}`, SMUGGLED) + post('Content-Length: 0', ''));
  assert.equal((await client.response()).status, 200);
  assert.equal((await client.response()).status, 200);
  assert.deepEqual(
    upstream.requests.map(({ rawBody }) => rawBody),
    [SMUGGLED, ''],
  );
  client.close();
});

test('Connection cannot take framing or Host away', async (t) => {
  const { upstream, balancer } = await startFront(t);
  const client = await openClient(balancer.port);
  client.send(
    post('Connection: Content-Length, Host, Transfer-Encoding, Cookie\r\nCookie: a=b\r\nContent-Length: 2', 'ab'),
  );
  assert.equal((await client.response()).status, 200);
  const [request] = upstream.requests;
  assert.deepEqual(
    ['Host', 'Content-Length', 'Cookie'].map((name) => request!.values(name)),
    [['a'], ['2'], ['a=b']],
  );
  assert.equal(request!.rawBody, 'ab');
  client.close();
});

test('header operations cannot break the framing of a request or an answer', async (t) => {
  const upstream = await startRecorder(t);
  const ops = ['header_up -Content-Length', 'header_up Transfer-Encoding chunked', 'header_up Connection close'];
  const down = ['header_down -Content-Length', 'header_down Transfer-Encoding chunked'];
  const lines = [...ops, ...down].map((line) => `    ${line}`).join('\n');
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port} {\n${lines}\n  }`));
  const client = await openClient(balancer.port);
  for (let round = 0; round < 2; round += 1) {
    const response = await client.send(post('Content-Length: 2', 'ab')).response();
    assert.equal(response.body, 'ok');
  }
  assert.deepEqual(
    upstream.requests.map(({ rawBody }) => rawBody),
    ['ab', 'ab'],
  );
  client.close();
});

const FAULTY_ANSWERS: Readonly<Record<string, string>> = {
  'no HTTP at all': 'SSH-2.0-OpenSSH_9.2p1\r\n\r\n',
  'HTTP/0.9': '<html>hello</html>\r\n\r\n',
  'length and chunked': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok',
  'gzip, chunked': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  'HTTP/1.0 with chunked': 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'a status of two digits': 'HTTP/1.1 20 OK\r\n\r\n',
  'a bare LF': 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok\r\n\r\n',
};

test('an answer that is not HTTP or whose framing is doubtful is 502, counted, and told in the log with its cause', async (t) => {
  let answer = '';
  const upstream = await startRecorder(t, (socket) => void socket.write(answer));
  const address = `127.0.0.1:${upstream.port}`;
  const told: unknown[] = [];
  const log = loggerTo((level, message, fields) => {
    if (level === 'warn') told.push(message, fields['upstream'], fields['detail']);
  });
  const balancer = await startBalancer(t, site(`reverse_proxy ${address}`), { log });
  for (const [what, text] of Object.entries(FAULTY_ANSWERS)) {
    answer = text;
    const client = await openClient(balancer.port);
    const response = await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n').response();
    assert.equal(response.status, 502, what);
    client.close();
  }
  const sample = `holdfast_upstream_failures_total{upstream="${address}",cause="invalid"}`;
  assert.equal(sampleOf(await balancer.metrics(), sample), Object.keys(FAULTY_ANSWERS).length);
  await eventually(() => told.length > 0, 'a line in the log');
  // One a second at most, however many there are.
  assert.deepEqual(told.slice(0, 2), ['upstream sent no valid HTTP', address]);
  assert.match(String(told[2]), /\w+ \w+/);
  answer = OK;
  const client = await openClient(balancer.port);
  assert.equal((await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n').response()).status, 200);
  client.close();
});

test('a chunked answer that breaks in its middle is a cut, never a complete shorter one', async (t) => {
  const upstream = await startRecorder(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n');
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.equal(await client.ended(), 'reset');
  assert.doesNotMatch(client.received, /0\r\n\r\n$/);
});
