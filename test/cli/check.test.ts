import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startDatagramServer } from '../../src/control-plane/health/udp-probe.contract.ts';
import { startServer } from '../../src/control-plane/health/tcp-probe.contract.ts';
import { resultText } from '../../src/cli/check/check-text.ts';
import type { ProbeResult } from '../../src/control-plane/health/probe.ts';
import { explainReason } from '../../src/control-plane/health/reasons.ts';
import { runInProcess } from './in-process.ts';

test('a pass shows every step with its time and bytes, and ends with 0', async () => {
  const server = await startServer((socket) => socket.once('data', () => socket.write('+PONG\r\n')));
  const { code, stdout, stderr } = await runInProcess(['check', 'redis', `127.0.0.1:${server.port}`]);
  await server.close();
  assert.equal(code, 0, stderr);
  const lines = stdout.trim().split('\n');
  assert.equal(lines[0], `redis of 127.0.0.1:${server.port}, timeout 5000 ms`);
  assert.match(lines[1] ?? '', /^ +\d+\.\d ms → connect to .* \(SYN\)$/);
  assert.match(lines[3] ?? '', /→ PING {2}"\*1\\r\\n\$4\\r\\nPING\\r\\n"$/);
  assert.match(lines[4] ?? '', /← 7 bytes {2}"\+PONG\\r\\n"$/);
  assert.match(stdout, /^verdict {2}PASS: answered \+PONG$/m);
  assert.match(stdout, /^from {5}127\.0\.0\.1:\d+$/m);
});

test('a failure shows reason, cause and remedy, and ends with 1', async () => {
  const server = await startServer(() => {});
  await server.close();
  const address = `127.0.0.1:${server.port}`;
  const { code, stdout, stderr } = await runInProcess(['check', 'tcp', address]);
  assert.equal(code, 1);
  assert.match(stdout, /^verdict {2}FAIL CONNECT_FAILED: .*ECONNREFUSED/m);
  const { cause, remedy } = explainReason('CONNECT_FAILED');
  assert.ok(stdout.includes(`cause    ${cause}\nremedy   ${remedy}\n`));
  assert.equal(stderr, `holdfast: tcp ${address}: the check failed\n`);
});

test('options are those of the block; --json is a line a probe with its steps', async () => {
  const server = await startServer((socket) => socket.once('data', () => socket.write('b')));
  const args = ['check', 'tcp', `127.0.0.1:${server.port}`, '--send', 'hex:00ff', '--expect=b', '--timeout', '5s'];
  const { code, stdout } = await runInProcess([...args, '--interval', '100ms', '--count', '2', '--json']);
  await server.close();
  assert.equal(code, 0);
  const [first, second, ...rest] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(rest, []);
  assert.equal(second.outcome, 'pass');
  assert.equal(first.steps.find((step: { bytes?: string }) => step.bytes !== undefined).bytes, '\x00\xff');
});

test('an option that holdfast has itself belongs to the probe: --version of http', async () => {
  const server = await startServer((socket) => {
    socket.once('data', (bytes) => socket.end(`HTTP/1.1 ${String(bytes).includes('HTTP/1.1') ? 200 : 500} X\r\n\r\n`));
  });
  const args = ['check', 'http', `127.0.0.1:${server.port}`, '--domain', 'a.test', '--version', '1.1'];
  const { code, stdout } = await runInProcess(args);
  await server.close();
  assert.equal(code, 0, stdout);
});

test('what cannot be is bad usage, by the name of the option', async () => {
  const wrong: readonly (readonly [string[], RegExp])[] = [
    [['tpc', '127.0.0.1:1'], /unknown probe 'tpc'/],
    [['tcp', '127.0.0.1'], /'127\.0\.0\.1' is not an address: write host:port/],
    [['http', 'https://127.0.0.1:1'], /'https:\/\/127\.0\.0\.1:1' is not an address: write host:port/],
    [['tcp', '127.0.0.1:1', '--send', '\\q'], /--send: expected 1 to 1024 bytes/],
    [['tcp', '127.0.0.1:1', '--interval', '1ms'], /--interval: expected a duration from 100ms to 5m/],
    [['tcp', '127.0.0.1:1', '--nothing', 'x'], /unknown option 'nothing' of health tcp/],
    [['tcp', '127.0.0.1:1', 'x'], /'x' stands alone/],
    [['tcp', '127.0.0.1:1', '--count', '0'], /--count must be a whole number/],
    [['http', '127.0.0.1:1', '--version', '1.1'], /needs a Host field/],
  ];
  for (const [args, message] of wrong) {
    const { code, stderr } = await runInProcess(['check', ...args]);
    assert.equal(code, 2, args.join(' '));
    assert.match(stderr, message);
    assert.doesNotMatch(stderr, /command line:1/);
  }
});

test('a port may be left out where the protocol has one of its own', async () => {
  const { code, stdout } = await runInProcess(['check', 'dns', '127.255.255.254', '--timeout', '100ms']);
  assert.equal(code, 1);
  assert.match(stdout, /^dns A \. of 127\.255\.255\.254:53/);
});

test('a datagram that goes unanswered names the address to let in', async () => {
  const server = await startDatagramServer(() => {});
  const args = ['check', 'udp', `udp/127.0.0.1:${server.port}`, '--send', 'x', '--expect', 'y', '--timeout', '300ms'];
  const { code, stdout } = await runInProcess(args);
  await server.close();
  assert.equal(code, 1);
  assert.match(stdout, /RECV_RESPONSE_TIMEOUT|held up/);
  if (stdout.includes('held up')) return;
  assert.ok(stdout.includes(`iptables -I INPUT -p udp -s 127.0.0.1 --dport ${server.port} -j ACCEPT`), stdout);
  assert.ok(stdout.includes(`ip saddr 127.0.0.1 udp dport ${server.port} accept`));
});

test('a connection that times out names iptables, nft and the security group, and no other failure does', () => {
  const result: ProbeResult = {
    outcome: 'fail',
    reason: 'CONNECT_TIMEOUT',
    detail: 'no connection within 5000 ms',
    roundTripMs: 5000,
    localAddress: '[2001:db8::9]:40000',
    status: 0,
    body: '',
  };
  const words = { cause: 'c', remedy: 'r' };
  const target = { host: '2001:db8::1', port: 25 };
  const shown = resultText('tcp', target, result, words);
  assert.ok(shown.includes('ip6tables -I INPUT -p tcp -s 2001:db8::9 --dport 25 -j ACCEPT'));
  assert.ok(shown.includes('ip6 saddr 2001:db8::9 tcp dport 25 accept'));
  assert.match(shown, /security group/);
  assert.doesNotMatch(resultText('tcp', target, { ...result, reason: 'RECV_RESPONSE_TIMEOUT' }, words), /iptables/);
});
