/** Clients that people use, over HTTPS: curl, openssl, Python, Node's fetch, wrk. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { TestAuthority } from '../support/certificates.ts';
import { findProgram, runProgram, unlessInstalled } from '../support/program.ts';
import { assertNoRestarts } from '../support/recorder.ts';

const CURL = findProgram('curl');
const OPENSSL = findProgram('openssl');
const PYTHON = findProgram('python3');
const WRK = findProgram('wrk');

const BODY = Buffer.alloc(300_000, 'secret ');

interface Secure {
  readonly balancer: TestBalancer;
  readonly authority: TestAuthority;
  readonly url: string;
}

/** `https://localhost` in front of a server that says what it was sent. */
async function start(t: TestContext, workers = 1): Promise<Secure> {
  const authority = await TestAuthority.create(t);
  const { certificateFile, keyFile } = await authority.leaf('localhost', ['localhost']);
  const backend = await startBackend(t, 'telling', (request, response) => {
    const hash = createHash('sha256');
    request.on('data', (chunk: Buffer) => hash.update(chunk));
    request.on('end', () => {
      const { host, 'x-forwarded-proto': proto } = request.headers;
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ target: request.url, host, proto, hash: hash.digest('hex') }));
    });
  });
  const balancer = await startBalancer(
    t,
    '{\n\tadmin off\n\tauto_https disable_redirects\n}\n' +
      `https://localhost:0 {\n\tbind 127.0.0.1\n\ttls ${certificateFile} ${keyFile}\n\treverse_proxy 127.0.0.1:${backend.port}\n}\n`,
    { workers },
  );
  return { balancer, authority, url: `https://localhost:${balancer.port}` };
}

function hashOf(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex');
}

function told(text: string): Record<string, string> {
  return JSON.parse(text) as Record<string, string>;
}

for (const [version, args] of [
  ['HTTP/1.1', ['--http1.1']],
  ['HTTP/2', ['--http2']],
] as const) {
  test(
    `curl: an upload and several requests on one connection over ${version}`,
    { skip: unlessInstalled(CURL, 'curl') },
    async (t) => {
      const { authority, url } = await start(t);
      const file = join(authority.folder, 'upload');
      await writeFile(file, BODY);
      const base = ['-q', '-sS', '-4', '--noproxy', '*', '--max-time', '20', '--cacert', authority.rootFile, ...args];
      const upload = await runProgram(CURL!, [...base, '-T', file, `${url}/put`]);
      assert.equal(upload.code, 0, upload.stderr);
      const { hash, proto, target } = told(upload.stdout);
      assert.deepEqual({ hash, proto, target }, { hash: hashOf(BODY), proto: 'https', target: '/put' });
      const many = await runProgram(CURL!, [...base, '-w', ' %{num_connects}\n', `${url}/a`, `${url}/b`, `${url}/c`]);
      assert.equal(many.code, 0, many.stderr);
      const connects = many.stdout.trimEnd().split('\n');
      assert.deepEqual(
        connects.map((line) => line.slice(-1)),
        ['1', '0', '0'],
      );
    },
  );
}

test(
  'curl: a site is not trusted by who does not know its authority',
  { skip: unlessInstalled(CURL, 'curl') },
  async (t) => {
    const { url } = await start(t);
    const { code, stderr } = await runProgram(CURL!, ['-q', '-sS', '-4', '--max-time', '20', url]);
    // 60: the certificate could not be verified.
    assert.equal(code, 60, stderr);
  },
);

test('openssl: chain and name are verified', { skip: unlessInstalled(OPENSSL, 'openssl') }, async (t) => {
  const { authority, balancer } = await start(t);
  const { stdout } = await runProgram(OPENSSL!, [
    ...[
      's_client',
      '-connect',
      `127.0.0.1:${balancer.port}`,
      '-servername',
      'localhost',
      '-verify_hostname',
      'localhost',
    ],
    ...['-CAfile', authority.rootFile, '-verify_return_error'],
  ]);
  assert.match(stdout, /Verify return code: 0 \(ok\)/);
  assert.match(stdout, /Verification: OK/);
});

const PYTHON_CLIENT = `
import http.client, json, ssl, sys

context = ssl.create_default_context(cafile=sys.argv[2])
connection = http.client.HTTPSConnection('localhost', int(sys.argv[1]), timeout=20, context=context)
seen = []
for number in range(20):
    connection.request('GET', '/get/%d' % number)
    seen.append(json.loads(connection.getresponse().read())['target'])
first = connection.sock
connection.request('POST', '/chunked', body=(b'%05d' % number for number in range(1000)), encode_chunked=True)
answer = json.loads(connection.getresponse().read())
print(json.dumps({'seen': seen, 'hash': answer['hash'], 'kept': connection.sock is first, 'version': first.version()}))
`;

test('Python http.client: keeps one connection', { skip: unlessInstalled(PYTHON, 'python3') }, async (t) => {
  const { balancer, authority } = await start(t);
  const args = ['-c', PYTHON_CLIENT, String(balancer.port), authority.rootFile];
  const { code, stdout, stderr } = await runProgram(PYTHON!, args);
  assert.equal(code, 0, stderr);
  const result = JSON.parse(stdout) as { seen: string[]; hash: string; kept: boolean; version: string };
  assert.deepEqual(
    result.seen,
    Array.from({ length: 20 }, (_, number) => `/get/${number}`),
  );
  const chunked = Buffer.from(Array.from({ length: 1000 }, (_, number) => String(number).padStart(5, '0')).join(''));
  assert.equal(result.hash, hashOf(chunked));
  assert.equal(result.kept, true);
  assert.equal(result.version, 'TLSv1.3');
});

const FETCH = `
const [url] = process.argv.slice(1);
const bodies = await Promise.all(Array.from({ length: 10 }, async (_, index) => (await fetch(url + '/' + index)).json()));
const body = new ReadableStream({
  start(controller) {
    for (let index = 0; index < 300; index += 1) controller.enqueue(Buffer.alloc(1000, 'x'));
    controller.close();
  },
});
const streamed = await (await fetch(url + '/post', { method: 'POST', body, duplex: 'half' })).json();
console.log(JSON.stringify({ targets: bodies.map(({ target }) => target), hash: streamed.hash }));
`;

test("Node's fetch: several at once, and an upload that is streamed", async (t) => {
  const { authority, url } = await start(t);
  // Authorities of a process are read when it starts, so it is one of its own.
  const { code, stdout, stderr } = await runProgram('/usr/bin/env', [
    `NODE_EXTRA_CA_CERTS=${authority.rootFile}`,
    ...[process.execPath, '--input-type=module', '-e', FETCH, url],
  ]);
  assert.equal(code, 0, stderr);
  const result = JSON.parse(stdout) as { targets: string[]; hash: string };
  assert.deepEqual(
    result.targets,
    Array.from({ length: 10 }, (_, index) => `/${index}`),
  );
  assert.equal(result.hash, hashOf(Buffer.alloc(300_000, 'x')));
});

test('wrk: a second of load over two workers has no error', { skip: unlessInstalled(WRK, 'wrk') }, async (t) => {
  const { balancer, url } = await start(t, 2);
  const { code, stdout, stderr } = await runProgram(WRK!, ['-t1', '-c16', '-d1s', `${url}/`]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /\d+ requests in/);
  assert.doesNotMatch(stdout, /Non-2xx|Socket errors/, stdout);
  const metrics = await balancer.metrics();
  assertNoRestarts(metrics);
  // wrk first looks whether somebody listens, and says nothing.
  assert.match(metrics, /holdfast_tls_handshakes_total\{server="srv0",result="failed"\} [01]\n/);
});
