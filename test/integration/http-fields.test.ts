/** Header fields: bytes, order and count are kept; what belongs to one connection stays behind; what is broken is refused. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { ask } from '../support/raw-client.ts';
import { assertNoRestarts, sampleOf, startRecorder, type Recorder } from '../support/recorder.ts';

const CHINESE = 'attachment; filename="\xe4\xb8\xad.pdf"';
const LATIN1 = 'caf\xe9';
const GET = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

async function startFront(
  t: TestContext,
  fields: () => string,
  block = '',
): Promise<{ upstream: Recorder; balancer: TestBalancer }> {
  const upstream = await startRecorder(t, (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\n${fields()}Content-Length: 2\r\n\r\nok`, 'latin1');
  });
  return { upstream, balancer: await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port} ${block}`)) };
}

test('bytes from 0x80 up pass in both directions as they are', async (t) => {
  const { upstream, balancer } = await startFront(t, () => `Content-Disposition: ${CHINESE}\r\nX-Latin: ${LATIN1}\r\n`);
  const response = await ask(
    balancer.port,
    GET.replace('\r\n\r\n', `\r\nX-Name: ${CHINESE}\r\nX-Latin: ${LATIN1}\r\n\r\n`),
  );
  assert.equal(response.header('Content-Disposition'), CHINESE);
  assert.equal(response.header('X-Latin'), LATIN1);
  assert.deepEqual(
    [upstream.requests[0]!.values('X-Name'), upstream.requests[0]!.values('X-Latin')],
    [[CHINESE], [LATIN1]],
  );
});

test('the same bytes survive header operations on other fields', async (t) => {
  const block = '{\n    header_up X-Up {http.request.header.X-Name}\n    header_down X-Down yes\n  }';
  const { upstream, balancer } = await startFront(t, () => `Content-Disposition: ${CHINESE}\r\n`, block);
  const response = await ask(balancer.port, GET.replace('\r\n\r\n', `\r\nX-Name: ${CHINESE}\r\n\r\n`));
  assert.deepEqual([response.header('Content-Disposition'), response.header('X-Down')], [CHINESE, 'yes']);
  assert.deepEqual(upstream.requests[0]!.values('X-Up'), [CHINESE]);
});

test('lines keep order, count and case; Set-Cookie lines are never joined', async (t) => {
  const lines: readonly (readonly [string, string])[] = [
    ['Set-Cookie', 'a=1; Path=/'],
    ['VARY', 'x'],
    ['set-cookie', 'b=2'],
    ['Link', '</1>'],
    ['Link', '</2>'],
    ['SET-COOKIE', 'c=3'],
    ['WWW-Authenticate', 'Basic realm="a"'],
    ['WWW-Authenticate', 'Bearer'],
    ['X-Empty', ''],
    ['Via', '1.1 other'],
    ['Via', '1.0 old'],
  ];
  const { balancer } = await startFront(t, () => lines.map(([name, value]) => `${name}: ${value}\r\n`).join(''));
  const response = await ask(balancer.port, GET);
  const kept = response.fields.filter(([name]) => !['content-length', 'connection'].includes(name.toLowerCase()));
  assert.deepEqual(kept, [...lines, ['Via', '1.1 holdfast']]);
});

test('a request keeps order, count and case of its lines, Cookie lines and empty values too', async (t) => {
  const { upstream, balancer } = await startFront(t, () => '');
  const lines = ['accept: a', 'Accept: b', 'COOKIE: x=1', 'Cookie: y=2', 'X-Empty:', 'Via: 1.1 other'];
  await ask(balancer.port, GET.replace('\r\n\r\n', `\r\n${lines.join('\r\n')}\r\n\r\n`));
  const kept = upstream.requests[0]!.fields.filter((line) => !/^(host|x-forwarded-)/i.test(line));
  assert.deepEqual(kept, [...lines, 'Via: 1.1 holdfast']);
});

const BROKEN: Readonly<Record<string, string>> = {
  'a control byte in Set-Cookie': 'Set-Cookie: a=\x01\r\n',
  'a space before the colon': 'X-A : 1\r\n',
  'obs-fold': 'X-A: 1\r\n 2\r\n',
  'a CR inside a value': 'X-A: 1\r2\r\n',
  'a NUL': 'X-A: 1\0\r\n',
  'a name that is no token': 'X(A): 1\r\n',
  'a line without a colon': 'nonsense\r\n',
};

test('an answer with a broken field is 502, counted, and the worker lives', async (t) => {
  let fields = '';
  const { upstream, balancer } = await startFront(t, () => fields);
  for (const [what, line] of Object.entries(BROKEN)) {
    fields = line;
    const response = await ask(balancer.port, GET);
    assert.equal(response.status, 502, what);
    assert.equal(response.header('X-A'), undefined);
  }
  fields = '';
  assert.equal((await ask(balancer.port, GET)).status, 200);
  const page = await balancer.metrics();
  const invalid = `holdfast_upstream_failures_total{upstream="127.0.0.1:${upstream.port}",cause="invalid"}`;
  assert.equal(sampleOf(page, invalid), Object.keys(BROKEN).length);
  assertNoRestarts(page);
});

test('a placeholder never lets CR, LF or NUL of the query into a header, up or down', async (t) => {
  const block = '{\n    header_up X-Q {http.request.uri.query.q}\n    header_down X-Q {http.request.uri.query.q}\n  }';
  const { upstream, balancer } = await startFront(t, () => '', block);
  const evil = ['%0d%0aSet-Cookie:%20x=1', '%0aSet-Cookie:%20x=1', '%0dx', '%00', 'a%0D%0A%0D%0Abody'];
  for (const query of evil) {
    const response = await ask(balancer.port, GET.replace(' / ', ` /?q=${query} `));
    assert.equal(response.header('Set-Cookie'), undefined);
    assert.equal(response.status === 200 ? response.body : 'ok', 'ok');
  }
  // As many heads as requests: none of them was split in two.
  assert.equal(upstream.received.join('').split('\r\n\r\n').length - 1, evil.length);
  assert.equal(upstream.requests.length, evil.length);
  for (const request of upstream.requests) {
    assert.deepEqual(request.values('Set-Cookie'), []);
    assert.doesNotMatch(request.fields.join(''), /[\r\n\0]/);
  }
});

const HOP_BY_HOP = [
  'Keep-Alive: timeout=5',
  'Proxy-Connection: keep-alive',
  'Proxy-Authorization: Basic eDp5',
  'TE: gzip',
  'Upgrade: foo/2',
  'X-Private: 1',
  'x-other: 2',
];

test('what belongs to one connection stays behind, named by Connection or by the standard', async (t) => {
  const down =
    'Connection: X-Down, keep-alive\r\nX-Down: 1\r\nKeep-Alive: timeout=60\r\nProxy-Authenticate: Basic\r\nUpgrade: h2c\r\nX-Kept: 1\r\n';
  const { upstream, balancer } = await startFront(t, () => down);
  const up = GET.replace(
    'Connection: close\r\n',
    `Connection: x-private\r\nConnection: close, X-Other\r\n${HOP_BY_HOP.join('\r\n')}\r\nX-Kept: 1\r\n`,
  );
  const response = await ask(balancer.port, up);
  const seen = upstream.requests[0]!.fields.map((line) => line.split(':')[0]!.toLowerCase());
  assert.deepEqual(seen, ['host', 'x-kept', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'via']);
  const back = response.fields.map(([name]) => name.toLowerCase());
  assert.deepEqual(back.sort(), ['connection', 'content-length', 'via', 'x-kept']);
  assert.equal(response.header('Connection'), 'close');
});

test('Via names each hop and its version, behind what was there', async (t) => {
  const { upstream, balancer } = await startFront(t, () => 'Via: 1.1 inner\r\n');
  const response = await ask(balancer.port, 'GET / HTTP/1.0\r\nHost: a\r\nVia: 1.0 outer\r\n\r\n');
  assert.deepEqual(upstream.requests[0]!.values('Via'), ['1.0 outer', '1.0 holdfast']);
  assert.deepEqual(response.headers('Via'), ['1.1 inner', '1.1 holdfast']);
});

test('Host passes unchanged, in any spelling that is valid', async (t) => {
  const { upstream, balancer } = await startFront(t, () => '');
  const hosts = ['App.Example', 'app.example:8080', '[::1]:80', '127.0.0.1', 'xn--bcher-kva.example.'];
  for (const host of hosts) await ask(balancer.port, GET.replace('Host: a', `Host: ${host}`));
  assert.deepEqual(
    upstream.requests.map((request) => request.values('Host')[0]),
    hosts,
  );
});
