/** Health probes against servers that people run: alive they pass, stopped they fail. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInProcess } from '../cli/in-process.ts';
import { findProgram, freePort, startServer, unlessInstalled } from '../support/program.ts';
import { caddy, knot, mosquitto, openssh, redis, startMosquitto, startRedis, vsftpd } from './services.ts';

const OPTIONS = { timeout: 120_000 };

interface Checked {
  readonly code: number | null;
  readonly outcome: string;
  readonly reason: string;
  readonly detail: string;
}

async function check(probe: string, port: number, ...options: readonly string[]): Promise<Checked> {
  const args = ['check', probe, `127.0.0.1:${port}`, ...options, '--json'];
  const { code, stdout, stderr } = await runInProcess(args);
  assert.notEqual(stdout, '', stderr);
  const { outcome, reason, detail } = JSON.parse(stdout);
  // A machine that was too slow for the deadline has no verdict.
  return outcome === 'neutral' ? check(probe, port, ...options) : { code, outcome, reason, detail };
}

async function passes(probe: string, port: number, ...options: readonly string[]): Promise<void> {
  const { code, outcome, detail } = await check(probe, port, ...options);
  assert.deepEqual([outcome, code], ['pass', 0], `${probe} ${options.join(' ')}: ${detail}`);
}

async function fails(reason: string, probe: string, port: number, ...options: readonly string[]): Promise<void> {
  const seen = await check(probe, port, ...options);
  assert.deepEqual([seen.reason, seen.code], [reason, 1], `${probe} ${options.join(' ')}: ${seen.detail}`);
}

test('redis: PING by redis and by tcp, and a password', { ...OPTIONS, skip: redis.skip }, async (t) => {
  const port = await freePort();
  const server = await startRedis(t, port);
  await passes('redis', port, '--strict');
  await passes('tcp', port, '--send', 'PING\\r\\n', '--expect', '+PONG');
  await passes('tcp', port, '--close', 'fin');
  await fails('RESPONSE_NOT_MATCH', 'tcp', port, '--send', 'PING\\r\\n', '--expect', '+NOPE', '--timeout', '300ms');
  await fails('HTTP_INVALID_HEADER', 'http', port);
  await server.end();
  await fails('CONNECT_FAILED', 'redis', port);
  const locked = await freePort();
  await startRedis(t, locked, '--requirepass', 'secret');
  await passes('redis', locked);
  await fails('RESPONSE_NOT_MATCH', 'redis', locked, '--strict');
});

test('OpenSSH: by ssh, and by the banner', { ...OPTIONS, skip: openssh.skip }, async (t) => {
  const port = await freePort();
  const server = await openssh.start(t, port);
  await passes('ssh', port);
  await passes('tcp', port, '--expect', 'SSH-2.0-');
  await fails('RESPONSE_NOT_MATCH', 'smtp', port);
  await server.end();
  await fails('CONNECT_FAILED', 'ssh', port);
});

test('Caddy: QUIC, HTTP and TLS', { ...OPTIONS, skip: caddy.skip }, async (t) => {
  const port = await freePort();
  const server = await caddy.start(t, port);
  const tls = ['--domain', 'shop.test', '--tls', '--insecure'];
  await passes('http', port, ...tls, '--version', '1.1', '--expect-body', '^fine$');
  await passes('http', port, ...tls, '--method', 'HEAD');
  await fails('TLS_FAILED', 'http', port, '--domain', 'shop.test', '--tls');
  const request = ['--send', 'GET / HTTP/1.0\\r\\nHost: shop.test\\r\\n\\r\\n', '--expect', 'fine'];
  await passes('tcp', port, '--tls', 'shop.test', '--insecure', ...request);
  await server.end();
  await fails('PORT_UNREACHABLE', 'quic', port);
});

test('Knot: dns, and udp with its own bytes', { ...OPTIONS, skip: knot.skip }, async (t) => {
  const port = await freePort();
  const server = await knot.start(t, port);
  await passes('dns', port, '--name', 'absent.example.test', '--type', 'TXT');
  await fails('RESPONSE_NOT_MATCH', 'dns', port, '--name', 'elsewhere.test', '--timeout', '300ms');
  await passes('dns', port, '--name', 'elsewhere.test', '--alive');
  const question = `12340100000100000000000007${hex('example')}04${hex('test')}0000010001`;
  await passes('udp', port, '--send', `hex:${question}`, '--expect', 'hex:c0000201');
  await server.end();
  await fails('PORT_UNREACHABLE', 'dns', port);
});

test('Mosquitto: both versions, and a wanted login', { ...OPTIONS, skip: mosquitto.skip }, async (t) => {
  for (const anonymous of [true, false]) {
    const port = await freePort();
    const broker = await startMosquitto(t, port, anonymous);
    await passes('mqtt', port);
    await passes('mqtt', port, '--version', '5');
    await broker.end();
    await fails('CONNECT_FAILED', 'mqtt', port);
  }
});

const hex = (text: string): string => Buffer.from(text).toString('hex');

const SMTP_SINK = findProgram('smtp-sink');

test(
  "Postfix's smtp-sink: the dialogue of smtp",
  { ...OPTIONS, skip: unlessInstalled(SMTP_SINK, 'postfix') },
  async (t) => {
    const port = await freePort();
    const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
    const sink = await startServer(t, SMTP_SINK!, [...user, `127.0.0.1:${port}`, '10'], port);
    await passes('smtp', port);
    await passes('smtp', port, '--ehlo', 'lb.test');
    await passes('tcp', port, '--expect', '220', '--send', 'QUIT\\r\\n', '--expect', '221', '--close', 'fin');
    await sink.end();
    await fails('CONNECT_FAILED', 'smtp', port);
  },
);

test('vsftpd: its banner', { ...OPTIONS, skip: vsftpd.skip }, async (t) => {
  const port = await freePort();
  const server = await vsftpd.start(t, port);
  await passes('tcp', port, '--expect', '220', '--send', 'QUIT\\r\\n', '--expect', '221', '--close', 'fin');
  await fails('RESPONSE_NOT_MATCH', 'tcp', port, '--expect', '250', '--timeout', '300ms');
  await server.end();
  await fails('CONNECT_FAILED', 'tcp', port, '--expect', '220');
});
