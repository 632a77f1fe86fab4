/** Clients that people use, in front of the balancer: curl, Python, Node, wrk. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startBackend, type Backend } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { findProgram, runProgram, temporaryFolder, unlessInstalled } from '../support/program.ts';
import { assertNoRestarts } from '../support/recorder.ts';

const CURL = findProgram('curl');
const PYTHON = findProgram('python3');
const WRK = findProgram('wrk');
const CURL_TEST = { skip: unlessInstalled(CURL, 'curl') };

/** Differs in every 16 bytes. */
const UPLOAD = Buffer.from(
  Array.from({ length: 1 << 17 }, (_, line) => `${String(line).padStart(15, '-')}\n`).join(''),
);

/** Says what it was sent: method, target, version, and length and hash of the body. */
async function startTelling(t: TestContext): Promise<{ backend: Backend; balancer: TestBalancer; url: string }> {
  const backend = await startBackend(t, 'telling', (request, response) => {
    const hash = createHash('sha256');
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      hash.update(chunk);
      length += chunk.length;
    });
    request.on('end', () => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ method: request.method, target: request.url, length, hash: hash.digest('hex') }));
    });
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${backend.port}`));
  return { backend, balancer, url: `http://127.0.0.1:${balancer.port}` };
}

function hashOf(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex');
}

/** curl without its user's config, its answer to stdout. */
async function curl(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(CURL!, [
    '-q',
    '-sS',
    '--noproxy',
    '*',
    '--max-time',
    '20',
    ...args,
  ]);
  assert.equal(code, 0, stderr);
  return stdout;
}

test('curl: HTTP/1.1, several requests on one connection', CURL_TEST, async (t) => {
  const { backend, url } = await startTelling(t);
  const output = await curl(
    '-w',
    ' %{http_code} %{http_version} %{num_connects}\n',
    `${url}/a`,
    `${url}/b?c=d`,
    `${url}/e`,
  );
  const lines = output.trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => line.split(' ').slice(1)),
    [
      ['200', '1.1', '1'],
      ['200', '1.1', '0'],
      ['200', '1.1', '0'],
    ],
  );
  assert.deepEqual(
    backend.requests.map((request) => request.url),
    ['/a', '/b?c=d', '/e'],
  );
});

test('curl: HTTP/1.0 gets an answer it can read, and the connection ends', CURL_TEST, async (t) => {
  const { url } = await startTelling(t);
  const output = await curl('--http1.0', '-i', `${url}/old`);
  const [head = '', body = ''] = output.split('\r\n\r\n');
  assert.match(head, /^HTTP\/1\.[01] 200 /);
  assert.doesNotMatch(head, /^transfer-encoding/im);
  assert.equal((JSON.parse(body) as { target: string }).target, '/old');
});

test('curl: HEAD, and a path that is sent as it is written', CURL_TEST, async (t) => {
  const { backend, url } = await startTelling(t);
  assert.match(await curl('-I', `${url}/head`), /^HTTP\/1\.1 200 /);
  await curl('--path-as-is', '-g', `${url}/a/../b//c%2Fd?[x]=%zz`);
  assert.deepEqual(
    backend.requests.map(({ method, url: target }) => `${method} ${target}`),
    ['HEAD /head', 'GET /a/../b//c%2Fd?[x]=%zz'],
  );
});

for (const [name, args] of [
  ['with a length', []],
  ['that waits for 100 Continue', ['-H', 'Expect: 100-continue', '--expect100-timeout', '15']],
  ['in chunks', ['-H', 'Transfer-Encoding: chunked']],
  ['without Expect', ['-H', 'Expect:']],
] as const) {
  test(`curl: an upload of 2 MiB ${name} arrives whole`, CURL_TEST, async (t) => {
    const { url } = await startTelling(t);
    const file = join(await temporaryFolder(t), 'upload');
    await writeFile(file, UPLOAD);
    const told = JSON.parse(await curl(...args, '-T', file, `${url}/put`)) as Record<string, unknown>;
    assert.deepEqual(told, { method: 'PUT', target: '/put', length: UPLOAD.length, hash: hashOf(UPLOAD) });
  });
}

test('curl: its cookie jar keeps it on one server of three', CURL_TEST, async (t) => {
  const backends = await Promise.all(['a', 'b', 'c'].map((name) => startBackend(t, name)));
  const upstreams = backends.map(({ port }) => `127.0.0.1:${port}`).join(' ');
  const policy = 'lb_policy cookie {\nfallback round_robin\n}';
  const balancer = await startBalancer(t, site(`reverse_proxy ${upstreams} {\n${policy}\n}`));
  const jar = join(await temporaryFolder(t), 'jar');
  const url = `http://127.0.0.1:${balancer.port}/`;
  const homes: string[] = [];
  for (let visit = 0; visit < 6; visit += 1) homes.push(await curl('-c', jar, '-b', jar, url));
  assert.equal(new Set(homes).size, 1, homes.join());
  assert.equal(new Set([await curl(url), await curl(url), await curl(url)]).size, 3, 'without the jar it goes round');
});

const PYTHON_CLIENT = `
import http.client, json, sys

connection = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=20)
seen = []

def ask(method, target, body=None, headers={}, **options):
    connection.request(method, target, body=body, headers=headers, **options)
    response = connection.getresponse()
    seen.append([response.status, response.version, json.loads(response.read())])

for number in range(20):
    ask('GET', '/get/%d' % number)
first = connection.sock
ask('POST', '/fixed', body=b'x' * 100000)
ask('POST', '/chunked', body=(b'%05d' % number for number in range(1000)), encode_chunked=True)
ask('DELETE', '/last', headers={'X-Latin': 'caf\\xe9'})
print(json.dumps({'seen': seen, 'one connection': connection.sock is first}))
`;

test(
  'Python http.client: keeps one connection over GETs, a fixed upload and a chunked one',
  { skip: unlessInstalled(PYTHON, 'python3') },
  async (t) => {
    const { backend, balancer } = await startTelling(t);
    const { code, stdout, stderr } = await runProgram(PYTHON!, ['-c', PYTHON_CLIENT, String(balancer.port)]);
    assert.equal(code, 0, stderr);
    const told = JSON.parse(stdout) as {
      seen: [status: number, version: number, { target: string; length: number; hash: string }][];
      'one connection': boolean;
    };
    assert.equal(told['one connection'], true);
    assert.ok(told.seen.every(([status, version]) => status === 200 && version === 11));
    const chunked = Buffer.from(Array.from({ length: 1000 }, (_, number) => String(number).padStart(5, '0')).join(''));
    const uploads = told.seen.slice(20, 22).map(([, , { target, hash }]) => [target, hash]);
    assert.deepEqual(uploads, [
      ['/fixed', hashOf(Buffer.alloc(100_000, 'x'))],
      ['/chunked', hashOf(chunked)],
    ]);
    assert.equal(backend.requests.at(-1)!.headers['x-latin'], 'caf\xe9');
  },
);

test("Node's fetch: streams an upload, unpacks what the server packed, follows a redirect of the server", async (t) => {
  const page = gzipSync('packed by the server');
  const backend = await startBackend(t, 'fetched', (request, response) => {
    if (request.url === '/moved') response.writeHead(302, { Location: '/packed' }).end();
    else if (request.url === '/packed') response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(page);
    else request.pipe(response);
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${backend.port}`));
  const url = `http://127.0.0.1:${balancer.port}`;
  const signal = AbortSignal.timeout(20_000);
  const moved = await fetch(`${url}/moved`, { signal });
  assert.equal(moved.url, `${url}/packed`);
  assert.equal(await moved.text(), 'packed by the server');
  const file = join(await temporaryFolder(t), 'upload');
  await writeFile(file, UPLOAD);
  const body = Readable.toWeb(createReadStream(file)) as RequestInit['body'];
  const echoed = await fetch(`${url}/echo`, { method: 'POST', body: body!, duplex: 'half', signal });
  assert.equal(hashOf(Buffer.from(await echoed.arrayBuffer())), hashOf(UPLOAD));
  const gone = new AbortController();
  const cut = fetch(`${url}/echo`, { method: 'POST', body: new ReadableStream(), duplex: 'half', signal: gone.signal });
  gone.abort();
  await assert.rejects(cut, { name: 'AbortError' });
  assert.equal((await fetch(`${url}/packed`, { signal })).status, 200);
});

test('wrk: a second of load over three servers has no error', { skip: unlessInstalled(WRK, 'wrk') }, async (t) => {
  const backends = await Promise.all(['a', 'b', 'c'].map((name) => startBackend(t, name)));
  const upstreams = backends.map(({ port }) => `127.0.0.1:${port}`).join(' ');
  const balancer = await startBalancer(t, site(`reverse_proxy ${upstreams} {\nlb_policy round_robin\n}`));
  const url = `http://127.0.0.1:${balancer.port}/`;
  const { code, stdout, stderr } = await runProgram(WRK!, ['-t1', '-c32', '-d1s', url]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /\d+ requests in/);
  assert.doesNotMatch(stdout, /Non-2xx|Socket errors/, stdout);
  const counts = backends.map(({ requests }) => requests.length);
  assert.ok(Math.min(...counts) > 0 && Math.max(...counts) - Math.min(...counts) <= 32, counts.join());
  assertNoRestarts(await balancer.metrics());
});
