/** Clients of HTTP/2 in front of the balancer: curl, nghttp2's, a browser. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { WebSocketServer } from 'ws';
import { eventually, startBackend } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { TestAuthority } from '../support/certificates.ts';
import { findProgram, runProgram, startProgram, temporaryFolder, unlessInstalled } from '../support/program.ts';

const CURL = findProgram('curl');
const NGHTTP = findProgram('nghttp');
const H2LOAD = findProgram('h2load');
const BROWSER = findProgram('chromium', 'chromium-browser', 'google-chrome');
const TIMEOUT_MS = 60_000;

interface Front {
  readonly port: number;
  /** `https://a.test:<port>`, or `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly rootFile: string;
  readonly lines: readonly Record<string, unknown>[];
}

async function startFront(t: TestContext, upstream: number, secure: boolean): Promise<Front> {
  const authority = await TestAuthority.create(t);
  const leaf = await authority.leaf('a', ['a.test', 'localhost']);
  const options = `admin off\n${secure ? 'auto_https disable_redirects' : 'auto_https off\nservers {\nprotocols h1 h2 h2c\n}'}`;
  const tls = secure ? `tls ${leaf.certificateFile} ${leaf.keyFile}` : '';
  const address = secure ? 'https://a.test:0, https://localhost:0' : 'http://:0';
  const config = `{\n${options}\n}\n${address} {\nbind 127.0.0.1\nlog\n${tls}\nreverse_proxy 127.0.0.1:${upstream}\n}\n`;
  const { port, accessLines } = await startBalancer(t, config, { workers: 2 });
  const url = secure ? `https://a.test:${port}` : `http://127.0.0.1:${port}`;
  return { port, url, rootFile: authority.rootFile, lines: accessLines };
}

async function startHashing(t: TestContext): Promise<number> {
  const backend = await startBackend(t, 'hashing', (request, response) => {
    const hash = createHash('sha256');
    request.on('data', (chunk: Buffer) => void hash.update(chunk));
    request.on('end', () => response.end(hash.digest('hex')));
  });
  return backend.port;
}

for (const secure of [true, false]) {
  const how = secure ? 'over TLS' : 'in the clear';
  describe(`clients ${how}`, { timeout: TIMEOUT_MS }, () => {
    test('curl uploads and downloads', { skip: unlessInstalled(CURL, 'curl') }, async (t) => {
      const front = await startFront(t, await startHashing(t), secure);
      const body = randomBytes(3_000_000);
      const file = join(await temporaryFolder(t), 'upload');
      await writeFile(file, body);
      const version = secure
        ? ['--http2', '--cacert', front.rootFile, '--resolve', `a.test:${front.port}:127.0.0.1`]
        : ['--http2-prior-knowledge'];
      const args = ['-q', '-sS', '--noproxy', '*', '--max-time', '20', ...version];
      const { code, stdout, stderr } = await runProgram(CURL!, [
        ...args,
        '-w',
        ' %{http_version}',
        '--data-binary',
        `@${file}`,
        front.url,
      ]);
      assert.equal(code, 0, stderr);
      assert.equal(stdout, `${createHash('sha256').update(body).digest('hex')} 2`);
      await eventually(() => front.lines.length === 1, 'an access line');
      assert.equal(front.lines[0]!['proto'], 'HTTP/2.0');
    });

    test('nghttp asks for several things at once', { skip: unlessInstalled(NGHTTP, 'nghttp') }, async (t) => {
      const front = await startFront(t, await startHashing(t), secure);
      const base = `${secure ? 'https://localhost' : 'http://127.0.0.1'}:${front.port}`;
      const paths = Array.from({ length: 20 }, (_, at) => `${base}/${at}`);
      const { code, stdout, stderr } = await runProgram(NGHTTP!, ['-nsy', ...paths]);
      assert.equal(code, 0, stderr);
      assert.equal(stdout.match(/ 200 /g)?.length, 20, stdout);
    });

    test('h2load: no request fails', { skip: unlessInstalled(H2LOAD, 'h2load') }, async (t) => {
      const front = await startFront(t, await startHashing(t), secure);
      const url = `${secure ? 'https://localhost' : 'http://127.0.0.1'}:${front.port}/`;
      const { code, stdout, stderr } = await runProgram(H2LOAD!, ['-n', '3000', '-c', '4', '-m', '20', url]);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /3000 succeeded, 0 failed, 0 errored, 0 timeout/);
      assert.match(stdout, /Application protocol: h2c?\b/);
    });
  });
}

/** The page says how it was fetched, and what a WebSocket beside it heard. */
const PAGE = `<script>
const report = (value) => fetch('/report', { method: 'POST', body: value });
const hop = performance.getEntriesByType('navigation')[0].nextHopProtocol;
const socket = new WebSocket('wss://' + location.host + '/socket');
socket.onopen = () => socket.send('hello');
socket.onmessage = ({ data }) => report(hop + ' ' + data);
socket.onerror = () => report(hop + ' failed');
</script>`;

test(
  'a browser speaks HTTP/2, and WebSocket on the same connection',
  { skip: unlessInstalled(BROWSER, 'chromium'), timeout: TIMEOUT_MS },
  async (t) => {
    const reports: string[] = [];
    const server = createServer((request, response) => {
      if (request.url !== '/report') return void response.setHeader('Content-Type', 'text/html').end(PAGE);
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        reports.push(text);
        response.end();
      });
    });
    const sockets = new WebSocketServer({ server });
    sockets.on('connection', (socket) =>
      socket.on('message', (data: Buffer) => socket.send(`echo ${data.toString()}`)),
    );
    server.listen(0, '127.0.0.1');
    await eventually(() => server.listening, 'the server');
    t.after(() => {
      sockets.close();
      for (const socket of sockets.clients) socket.terminate();
      server.close();
      server.closeAllConnections();
    });
    const front = await startFront(t, (server.address() as AddressInfo).port, true);
    const profile = await temporaryFolder(t);
    startProgram(
      t,
      BROWSER!,
      [
        ...['--headless=new', '--no-sandbox', '--disable-gpu', '--ignore-certificate-errors', '--disable-quic'],
        ...[`--user-data-dir=${profile}`, '--no-first-run', '--disable-background-networking', '--no-proxy-server'],
        `https://localhost:${front.port}/`,
      ],
      { endSignal: 'SIGTERM' },
    );
    await eventually(() => reports.length > 0, 'the report of the page', 40_000);
    assert.deepEqual(reports, ['h2 echo hello']);
    const tunnel = (): Record<string, unknown> | undefined => front.lines.find(({ target }) => target === '/socket');
    for (const socket of sockets.clients) socket.close();
    await eventually(() => tunnel() !== undefined, 'the access line of the WebSocket');
    assert.equal(tunnel()!['proto'], 'HTTP/2.0');
  },
);
