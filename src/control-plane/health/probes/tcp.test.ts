import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import { makeAuthority } from '../../../../test/support/authority.ts';
import { eventually } from '../../../../test/support/backend.ts';
import { TlsContexts } from '../tls-contexts.ts';
import { systemClock } from '../../../shared/clock.ts';
import type { ProbeOptions, ProbeResult, ProbeStep } from '../probe.ts';
import type { ScriptStep, TcpProbeSpec } from '../probe-spec.ts';
import { plainOptions, startServer, tcpProbeContract, untilDecided } from '../tcp-probe.contract.ts';
import { tcpCheck } from './tcp.ts';

const PLAIN: TcpProbeSpec = { kind: 'tcp', close: 'reset', script: [], tls: null };
const PING: TcpProbeSpec = {
  ...PLAIN,
  script: [
    { step: 'send', bytes: 'PING\r\n' },
    { step: 'expect', bytes: 'PONG' },
  ],
};

function run(
  port: number,
  spec: TcpProbeSpec,
  given: Partial<ProbeOptions> = {},
  observe: (step: ProbeStep) => void = () => {},
): Promise<ProbeResult> {
  const deps = { clock: systemClock, signal: new AbortController().signal, observe };
  return tcpCheck(spec, new TlsContexts()).run({ host: '127.0.0.1', port }, { ...plainOptions(5000), ...given }, deps);
}

/** Probes a server that plays `serve`. */
async function probe(
  spec: TcpProbeSpec,
  serve: (socket: Socket) => void,
  given: Partial<ProbeOptions> = {},
): Promise<ProbeResult> {
  const server = await startServer(serve);
  const result = await untilDecided(() => run(server.port, spec, given));
  await server.close();
  return result;
}

tcpProbeContract({
  name: 'tcp probe with a script',
  probe: tcpCheck(PING, new TlsContexts()),
  options: plainOptions,
  serve: (socket) => socket.once('data', () => socket.write('+PONG\r\n')),
});

test('without a script the connection is the answer, and its end is a reset', async () => {
  const seen = Promise.withResolvers<string>();
  const server = await startServer((socket) => {
    socket.on('error', (error: NodeJS.ErrnoException) => seen.resolve(error.code ?? ''));
    socket.on('end', () => seen.resolve('FIN'));
    socket.resume();
  });
  const result = await run(server.port, PLAIN);
  assert.equal(result.outcome, 'pass');
  assert.match(result.localAddress, /^127\.0\.0\.1:\d+$/);
  assert.equal(await seen.promise, 'ECONNRESET');
  await server.close();
});

test('what is left of a greeting is not the answer to what is sent after it', async () => {
  const serve = (socket: Socket): void => {
    socket.write('220 hello 250\r\n');
    socket.once('data', () => socket.write('554 no\r\n'));
  };
  const ask = (expected: ScriptStep): TcpProbeSpec => ({
    ...PLAIN,
    script: [{ step: 'expect', bytes: '220' }, { step: 'send', bytes: 'EHLO a\r\n' }, expected],
  });
  assert.equal((await probe(ask({ step: 'expect', bytes: '250' }), serve, { timeoutMs: 300 })).outcome, 'fail');
  assert.equal((await probe(ask({ step: 'expect_regex', pattern: '^554 ' }), serve)).outcome, 'pass');
});

test('close fin ends with FIN and waits for the end of the server', async () => {
  const seen = Promise.withResolvers<string>();
  const server = await startServer((socket) => {
    socket.on('error', (error: NodeJS.ErrnoException) => seen.resolve(error.code ?? ''));
    socket.on('end', () => seen.resolve('FIN'));
    socket.write('a banner that nobody asked for');
    socket.resume();
  });
  const result = await run(server.port, { ...PLAIN, close: 'fin' });
  assert.equal(result.outcome, 'pass');
  assert.equal(await seen.promise, 'FIN');
  await server.close();
});

test('a closed port fails a probe without a script', async () => {
  const server = await startServer(() => {});
  await server.close();
  assert.equal((await run(server.port, PLAIN)).reason, 'CONNECT_FAILED');
});

test('a banner is waited for without a word', async () => {
  const banner: TcpProbeSpec = { ...PLAIN, script: [{ step: 'expect', bytes: '220' }] };
  const spoken: string[] = [];
  const result = await probe(banner, (socket) => {
    socket.on('data', (bytes) => spoken.push(String(bytes)));
    socket.write('22');
    setImmediate(() => socket.write('0 ready\r\n'));
  });
  assert.equal(result.outcome, 'pass', result.detail);
  assert.deepEqual(spoken, []);
});

test('steps run in order, and each expectation begins where the last one was met', async () => {
  const twice: TcpProbeSpec = {
    ...PLAIN,
    script: [
      { step: 'expect', bytes: 'a' },
      { step: 'send', bytes: '\x00\xff' },
      { step: 'expect_regex', pattern: '^b[0-9]+$' },
    ],
  };
  let sent = '';
  const serve = (socket: Socket): void => {
    socket.write('a');
    socket.on('data', (bytes) => {
      sent = bytes.toString('hex');
      socket.write('b12');
    });
  };
  const result = await probe(twice, serve);
  assert.equal(result.outcome, 'pass', result.detail);
  assert.equal(sent, '00ff');
});

test('another answer fails as RESPONSE_NOT_MATCH: at a closed connection, at the deadline, past the limit', async () => {
  const closed = await probe(PING, (socket) => socket.end('-ERR no\r\n'));
  assert.equal(closed.reason, 'RESPONSE_NOT_MATCH');
  assert.match(closed.detail, /-ERR no/);
  const open = await probe(PING, (socket) => socket.write('-ERR no\r\n'), { timeoutMs: 100 });
  assert.equal(open.reason, 'RESPONSE_NOT_MATCH');
  const long = await probe(PING, (socket) => socket.write('x'.repeat(40_000)), { timeoutMs: 60_000 });
  assert.equal(long.reason, 'RESPONSE_NOT_MATCH');
  assert.match(long.detail, /bytes/);
});

test('a PROXY header of version 1 names the two ends, one of version 2 names nobody', async () => {
  for (const version of ['v1', 'v2'] as const) {
    let received = Buffer.alloc(0);
    const server = await startServer((socket) => {
      socket.on('data', (bytes) => {
        received = Buffer.concat([received, bytes]);
        if (received.includes('PING')) socket.write('PONG');
      });
    });
    const result = await run(server.port, PING, { proxyProtocol: version });
    await server.close();
    assert.equal(result.outcome, 'pass', result.detail);
    const [, port = ''] = result.localAddress.split(':');
    const header =
      version === 'v1' ? `PROXY TCP4 127.0.0.1 127.0.0.1 ${port} ${server.port}\r\n` : '\r\n\r\n\0\r\nQUIT\n\x20\0\0\0';
    assert.equal(received.toString('latin1'), `${header}PING\r\n`);
  }
});

test('the probe is made from the source it is given', async () => {
  let peer: string | undefined;
  const server = await startServer((socket) => {
    peer = socket.remoteAddress;
    socket.write('PONG');
  });
  const result = await run(server.port, PING, { localAddress: '127.0.0.5' });
  await server.close();
  assert.equal(result.outcome, 'pass');
  assert.match(result.localAddress, /^127\.0\.0\.5:/);
  assert.equal(peer, '127.0.0.5');
  const away = await run(server.port, PLAIN, { localAddress: '192.0.2.1' });
  assert.equal(away.outcome, 'neutral', away.detail);
});

test('each step is told to an observer', async () => {
  const server = await startServer((socket) => socket.once('data', () => socket.write('PONG')));
  const steps: ProbeStep[] = [];
  await run(server.port, PING, {}, (step) => steps.push(step));
  await server.close();
  assert.deepEqual(
    steps.map(({ what, bytes }) => [what, bytes === undefined ? '' : Buffer.from(bytes).toString('latin1')]),
    [
      ['sent', ''],
      ['received', ''],
      ['sent', 'PING\r\n'],
      ['received', 'PONG'],
      ['sent', ''],
    ],
  );
  assert.ok(steps.every((step, at) => at === 0 || step.atMs >= steps[at - 1]!.atMs));
});

test('bytes that several expectations share are told to an observer once', async () => {
  const server = await startServer((socket) => socket.write('SSH-2.0-OpenSSH\r\n'));
  const script: ScriptStep[] = ['SSH', 'OpenSSH'].map((bytes) => ({ step: 'expect', bytes }));
  const steps: string[] = [];
  const result = await run(server.port, { ...PLAIN, script }, {}, ({ text }) => steps.push(text));
  await server.close();
  assert.equal(result.outcome, 'pass', result.detail);
  assert.deepEqual(
    steps.filter((text) => text.endsWith(' bytes')),
    ['17 bytes'],
  );
});

test('a server that floods is let go of at the limit', async () => {
  const closed = Promise.withResolvers<void>();
  const server = await startServer((socket) => {
    const pump = (): void => {
      while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
    };
    socket.on('drain', pump);
    socket.once('close', () => closed.resolve());
    pump();
  });
  const result = await run(server.port, PING);
  assert.equal(result.reason, 'RESPONSE_NOT_MATCH');
  await closed.promise;
  await server.close();
});

test('a Unix socket is probed like a port', async (t) => {
  const { mkdtemp, rm } = await import('node:fs/promises');
  const folder = await mkdtemp('/tmp/holdfast-probe-');
  t.after(() => rm(folder, { recursive: true }));
  const { createServer } = await import('node:net');
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write('PONG'));
  }).listen(`${folder}/s`);
  await once(server, 'listening');
  const deps = { clock: systemClock, signal: new AbortController().signal };
  for (const spec of [PING, PLAIN]) {
    const result = await tcpCheck(spec, new TlsContexts()).run(
      { host: `unix/${folder}/s`, port: 0 },
      plainOptions(5000),
      deps,
    );
    assert.equal(result.outcome, 'pass', result.detail);
  }
  server.close();
});

test('over TLS what was sent last arrives before a clean end, and the certificate counts', async (t) => {
  const leaf = await (await makeAuthority(t)).issue(['shop.test']);
  const ends: string[] = [];
  const server = tls.createServer({ cert: leaf.cert, key: leaf.key }, (socket) => {
    let heard = '';
    socket.on('error', (error) => void ends.push(error.message));
    socket.on('data', (bytes) => (heard += String(bytes)));
    socket.on('end', () => void ends.push(`${String(socket.servername)} ${heard}`));
    socket.write('220 hello');
  });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const script: TcpProbeSpec['script'] = [
    { step: 'expect', bytes: '220' },
    { step: 'send', bytes: 'QUIT' },
  ];
  const trusting = await run(port, { ...PLAIN, script, tls: { serverName: 'shop.test', insecure: true } });
  assert.equal(trusting.outcome, 'pass', trusting.detail);
  await eventually(() => ends.length > 0, 'the end of the connection');
  assert.deepEqual(ends, ['shop.test QUIT']);
  const strict = await run(port, { ...PLAIN, script, tls: { serverName: 'shop.test', insecure: false } });
  assert.equal(strict.reason, 'TLS_FAILED');
  assert.match(strict.detail, /not trusted/);
  server.close();
});

test('a server without TLS, and one that is silent in the handshake, fail', async () => {
  const secure: TcpProbeSpec = { ...PLAIN, tls: { serverName: '', insecure: true } };
  assert.equal((await probe(secure, (socket) => socket.write('220 hello\r\n'))).reason, 'TLS_FAILED');
  assert.equal((await probe(secure, (socket) => socket.end())).reason, 'TLS_FAILED');
  assert.equal((await probe(secure, (socket) => socket.resume(), { timeoutMs: 100 })).reason, 'RECV_RESPONSE_TIMEOUT');
});
