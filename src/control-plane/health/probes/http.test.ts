import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { RE2JS } from 're2js';
import { systemClock } from '../../../shared/clock.ts';
import { startServer, tcpProbeContract, untilDecided } from '../tcp-probe.contract.ts';
import type { ProbeResult } from '../probe.ts';
import type { HttpProbeOptions } from './http-options.ts';
import { httpProbe } from './http.ts';
import { isLocalTrouble } from './local-trouble.ts';

const DEFAULTS: HttpProbeOptions = {
  method: 'GET',
  uri: '/healthz',
  version: '1.1',
  authority: 'backend.test:3000',
  host: 'backend.test:3000',
  headers: [],
  body: '',
  statuses: [2],
  expectBody: null,
  maxBodyBytes: 1_048_576,
  followRedirects: false,
  tls: null,
  timeoutMs: 10_000,
};

function probe(port: number, options: Partial<HttpProbeOptions> = {}): Promise<ProbeResult> {
  const deps = { clock: systemClock, signal: new AbortController().signal };
  return httpProbe.run({ host: '127.0.0.1', port }, { ...DEFAULTS, ...options }, deps);
}

/** Probes a server that sends these bytes, whatever it is asked, and then does `after`. */
async function probeBytes(
  bytes: string,
  options: Partial<HttpProbeOptions> = {},
  after: (socket: Socket) => void = (socket) => socket.end(),
): Promise<ProbeResult> {
  const server = await startServer((socket) => {
    socket.once('data', () => {
      socket.write(Buffer.from(bytes, 'latin1'));
      after(socket);
    });
  });
  const result = await probe(server.port, options);
  await server.close();
  return result;
}

/** Probes a real node:http server. */
async function probeHttp(handler: http.RequestListener, options: Partial<HttpProbeOptions> = {}): Promise<ProbeResult> {
  const server = http.createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const result = await probe((server.address() as AddressInfo).port, options);
  server.closeAllConnections();
  server.close();
  return result;
}

const stay = (): void => {};

tcpProbeContract({
  name: 'http probe',
  probe: httpProbe,
  options: (timeoutMs) => ({ ...DEFAULTS, timeoutMs }),
  serve: (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')),
});

test('the request carries method, URI, the configured Host, given headers and body', async () => {
  let seen = '';
  const result = await probeHttp(
    (request, response) => {
      let body = '';
      request.on('data', (part) => (body += part));
      request.on('end', () => {
        seen = `${request.method} ${request.url} ${request.headers.host} ${String(request.headers['x-probe'])} ${body}`;
        response.end();
      });
    },
    { method: 'POST', uri: '/check?deep=1', headers: ['X-Probe', 'yes'], body: 'grüß' },
  );
  assert.equal(result.outcome, 'pass', result.detail);
  assert.equal(seen, 'POST /check?deep=1 backend.test:3000 yes grüß');
});

test('a Host header of the check replaces the configured one', async () => {
  let hosts: (string | undefined)[] = [];
  await probeHttp(
    (request, response) => {
      hosts = request.rawHeaders.filter((_, at, all) => at % 2 === 1 && all[at - 1]!.toLowerCase() === 'host');
      response.end();
    },
    { headers: ['host', 'shop.example'] },
  );
  assert.deepEqual(hosts, ['shop.example']);
});

test('chunked, length-delimited and close-delimited bodies are all read', async () => {
  const expectBody = RE2JS.compile('^hello world$');
  const heads = [
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6;x=1\r\nhello \r\n5\r\nworld\r\n0\r\nA: b\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world',
    'HTTP/1.0 200 OK\r\n\r\nhello world',
  ];
  for (const head of heads) {
    const result = await probeBytes(head, { expectBody });
    assert.equal(result.outcome, 'pass', `${result.detail}: ${head}`);
  }
});

test('a complete response passes although the server keeps the connection open', async () => {
  const result = await probeBytes('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', {}, stay);
  assert.equal(result.outcome, 'pass');
  const empty = await probeBytes('HTTP/1.1 204 No Content\r\n\r\n', {}, stay);
  assert.equal(empty.outcome, 'pass');
});

test('HEAD ends with the head', async () => {
  const result = await probeBytes('HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n', { method: 'HEAD' }, stay);
  assert.equal(result.outcome, 'pass', result.detail);
});

test('interim responses are passed over', async () => {
  const result = await probeBytes(
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n' +
      'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
  );
  assert.equal(result.outcome, 'pass', result.detail);
  assert.equal(result.status, 200);
});

test('a wrong status fails with the status and the first 256 bytes of the body', async () => {
  const result = await probeHttp((_, response) => response.writeHead(503).end('database gone '.repeat(1000)));
  assert.equal(result.outcome, 'fail');
  assert.equal(result.reason, 'HTTP_CODE_NOT_MATCH');
  assert.equal(result.status, 503);
  assert.equal(result.body, 'database gone '.repeat(1000).slice(0, 256));
  assert.match(result.detail, /503.*2xx/);
});

test('a wrong status is told even when the body behind it never ends', async () => {
  const head = 'HTTP/1.1 500 Oops\r\nContent-Length: 999\r\n\r\npartial';
  const result = await untilDecided(() => probeBytes(head, { timeoutMs: 100 }, stay));
  assert.equal(result.reason, 'HTTP_CODE_NOT_MATCH');
  assert.equal(result.body, 'partial');
});

test('the expected status is a class or a code, and several may be listed', async () => {
  const answer = (status: number): string => `HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`;
  const outcome = async (status: number, ...statuses: number[]): Promise<string> =>
    (await probeBytes(answer(status), { statuses })).outcome;
  assert.equal(await outcome(299, 2), 'pass');
  assert.equal(await outcome(302, 2), 'fail');
  assert.equal(await outcome(302, 2, 3), 'pass');
  assert.equal(await outcome(404, 4), 'pass');
  assert.equal(await outcome(200, 4), 'fail');
  assert.equal(await outcome(418, 418), 'pass');
  assert.equal(await outcome(417, 418), 'fail');
});

test('a body without a match fails as RESPONSE_NOT_MATCH and is shown', async () => {
  const result = await probeHttp((_, response) => response.end('status: degraded'), {
    expectBody: RE2JS.compile('status: ok'),
  });
  assert.equal(result.reason, 'RESPONSE_NOT_MATCH');
  assert.equal(result.body, 'status: degraded');
  assert.match(result.detail, /status: ok/);
});

test('half a response and then a reset fails as CONNECT_INTERRUPT', async () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf';
  const result = await probeBytes(head, {}, (socket) => setTimeout(() => socket.resetAndDestroy(), 20));
  assert.equal(result.outcome, 'fail');
  assert.equal(result.reason, 'CONNECT_INTERRUPT');
});

test('half a response and then an orderly end fails as CONNECT_INTERRUPT', async () => {
  for (const head of [
    'HTTP/1.1 200 OK\r\nContent-Le',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel',
  ]) {
    assert.equal((await probeBytes(head)).reason, 'CONNECT_INTERRUPT');
  }
});

test('what is no HTTP response fails as HTTP_INVALID_HEADER, at once', async () => {
  const garbage = [
    'SSH-2.0-OpenSSH_9.2\r\n',
    '\x15\x03\x01\x00\x02\x02\x46',
    'HTTP/2.0 200 OK\r\n\r\n',
    'HTTP/1.1 20 OK\r\n\r\n',
    'HTTP/1.1 200 OK\nContent-Length: 0\n\n',
    'HTTP/1.1 200 OK\r\nno colon here\r\n\r\n',
    'HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n',
    `HTTP/1.1 200 ${'a'.repeat(2000)}`,
    `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(70_000)}`,
  ];
  for (const bytes of garbage) {
    const result = await probeBytes(bytes, {}, stay);
    assert.equal(result.outcome, 'fail');
    assert.equal(result.reason, 'HTTP_INVALID_HEADER', `${result.detail}: ${JSON.stringify(bytes.slice(0, 50))}`);
  }
});

test('a response that drips past the timeout fails as RECV_RESPONSE_TIMEOUT', async () => {
  const server = await startServer((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nX: ');
    const drip = setInterval(() => socket.write('a'), 20);
    socket.once('close', () => clearInterval(drip));
  });
  const result = await untilDecided(() => probe(server.port, { timeoutMs: 150 }));
  await server.close();
  assert.equal(result.reason, 'RECV_RESPONSE_TIMEOUT');
});

test('of a big body only the bytes asked for are read', async () => {
  const endless = http.createServer((_, response) => {
    const pump = (): void => {
      while (response.write('x'.repeat(65_536)));
    };
    response.on('drain', pump);
    pump();
  });
  endless.listen(0, '127.0.0.1');
  await once(endless, 'listening');
  const { port } = endless.address() as AddressInfo;
  const passed = await probe(port, { maxBodyBytes: 100_000 });
  const failed = await probe(port, { maxBodyBytes: 100_000, expectBody: RE2JS.compile('needle') });
  endless.closeAllConnections();
  endless.close();
  assert.equal(passed.outcome, 'pass', passed.detail);
  assert.equal(failed.reason, 'RESPONSE_NOT_MATCH');
  assert.match(failed.detail, /100000 bytes/);
});

test('redirects to the same address are followed when the check says so, as GET unless 307 or 308', async () => {
  const seen: string[] = [];
  const handler: http.RequestListener = (request, response) => {
    seen.push(`${request.method} ${request.url}`);
    if (request.url === '/healthz') response.writeHead(307, { location: '/a?x=1' }).end();
    else if (request.url === '/a?x=1') response.writeHead(302, { location: 'http://backend.test:3000/b' }).end();
    else response.end('fine');
  };
  const result = await probeHttp(handler, { followRedirects: true, method: 'POST', body: 'x' });
  assert.equal(result.outcome, 'pass', result.detail);
  assert.deepEqual(seen, ['POST /healthz', 'POST /a?x=1', 'GET /b']);
  const unfollowed = await probeHttp(handler);
  assert.equal(unfollowed.reason, 'HTTP_CODE_NOT_MATCH');
  assert.equal(unfollowed.status, 307);
});

test('a redirect to another server is not followed', async () => {
  const result = await probeHttp((_, response) => response.writeHead(302, { location: 'http://127.0.0.2:1/' }).end(), {
    followRedirects: true,
  });
  assert.equal(result.reason, 'HTTP_CODE_NOT_MATCH');
  assert.match(result.detail, /127\.0\.0\.2/);
});

test('a circle of redirects ends', async () => {
  let count = 0;
  const result = await probeHttp(
    (_, response) => {
      count += 1;
      response.writeHead(302, { location: '/again' }).end();
    },
    { followRedirects: true },
  );
  assert.equal(result.reason, 'HTTP_CODE_NOT_MATCH');
  assert.equal(count, 11);
});

test('trouble of this machine is told from trouble of the server', () => {
  for (const code of ['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS']) assert.equal(isLocalTrouble(code), true, code);
  for (const code of ['ECONNREFUSED', 'EHOSTUNREACH', 'ECONNRESET']) assert.equal(isLocalTrouble(code), false, code);
});

const STARVED = `
  import { openSync } from 'node:fs';
  import { systemClock } from '${new URL('../../../shared/clock.ts', import.meta.url).href}';
  import { httpProbe } from '${new URL('./http.ts', import.meta.url).href}';
  const options = ${JSON.stringify(DEFAULTS)};
  const run = () => httpProbe.run({ host: '127.0.0.1', port: Number(process.argv[1]) }, options, {
    clock: systemClock, signal: new AbortController().signal,
  });
  // The first run loads whatever is loaded lazily, while there still are descriptors.
  const first = await run();
  try { for (;;) openSync('/dev/null'); } catch {}
  const second = await run();
  process.stdout.write(JSON.stringify([first, second]), () => process.exit());
`;

test('a probe without a file descriptor left is neutral', { timeout: 60_000 }, async () => {
  const server = await startServer((socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
  });
  const command = 'ulimit -n 64; exec "$0" --input-type=module -e "$1" "$2"';
  const child = spawn('sh', ['-c', command, process.execPath, STARVED, String(server.port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (part) => (output += part));
  await once(child, 'close');
  await server.close();
  const [first, second]: ProbeResult[] = JSON.parse(output);
  assert.equal(first!.outcome, 'pass');
  assert.equal(second!.outcome, 'neutral');
  assert.equal(second!.reason, 'LOCAL_TROUBLE');
  assert.match(second!.detail, /EMFILE/);
});

const ECHO = `
  require('node:net').createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n'));
  }).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
`;

test('a loop that stalls for longer than the timeout fails no healthy server', { timeout: 60_000 }, async () => {
  // The server lives in another process: it must not stall with us.
  const child = spawn(process.execPath, ['-e', ECHO], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = Number(String((await once(child.stdout, 'data'))[0]));
  const outcomes: string[] = [];
  for (let round = 0; round < 10; round += 1) {
    const running = probe(port, { timeoutMs: 100 });
    // Stalls at different stages: connecting (0), and once connected (1, 2).
    for (let turns = round % 3; turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
    const until = performance.now() + 150;
    while (performance.now() < until);
    outcomes.push((await running).outcome);
  }
  child.kill();
  await once(child, 'exit');
  assert.equal(outcomes.includes('fail'), false, outcomes.join());
  assert.equal(outcomes.includes('pass'), true, outcomes.join());
});

test('the timeout covers all redirects together', { timeout: 60_000 }, async () => {
  const slow: http.RequestListener = (request, response) => {
    const hop = Number(request.url!.slice(1)) || 0;
    setTimeout(() => response.writeHead(hop < 9 ? 302 : 200, { location: `/${hop + 1}` }).end(), 60);
  };
  const result = await untilDecided(() => probeHttp(slow, { followRedirects: true, timeoutMs: 200 }));
  assert.equal(result.reason, 'RECV_RESPONSE_TIMEOUT');
});

test('a deadline missed because this process was held up is neutral', { timeout: 60_000 }, async () => {
  // Time leaps while the probe waits, as it does for a process that was stopped.
  let leapMs = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + leapMs };
  const server = await startServer((socket) => {
    socket.resume();
    leapMs = 10_000;
  });
  const deps = { clock, signal: new AbortController().signal };
  const result = await httpProbe.run({ host: '127.0.0.1', port: server.port }, { ...DEFAULTS, timeoutMs: 1000 }, deps);
  await server.close();
  assert.equal(result.outcome, 'neutral');
  assert.match(result.detail, /held up/);
});
