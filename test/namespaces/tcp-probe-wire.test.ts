/** What the tcp probe looks like on the wire, seen by tcpdump in a network namespace of the test's own. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/backend.ts';
import { makeNamespace, type Namespace, unlessNamespaces } from '../support/namespace.ts';

const HOLDFAST = fileURLToPath(new URL('../../bin/holdfast.js', import.meta.url));
const PORT = 7007;

/** Answers nobody, and takes what comes. */
const SERVER = `
  require('node:net').createServer((socket) => {
    socket.on('error', () => {});
    socket.resume();
  }).listen(${PORT}, () => console.log('listening'));
`;

const OPTIONS = { timeout: 120_000, skip: await unlessNamespaces('tcpdump', 'nft') };

/** A namespace with a server on PORT. */
async function makeNamespaceWithServer(t: TestContext, label: string): Promise<Namespace> {
  const namespace = await makeNamespace(t, label);
  const server = namespace.start(process.execPath, '-e', SERVER);
  await eventually(() => server.output().includes('listening'), 'the server to listen', 30_000);
  return namespace;
}

/** Flags of the packets on PORT, in order, while `during` runs and until `enough` is there: `> S`, `< S.` … */
async function capture(namespace: Namespace, during: () => Promise<void>, enough: number): Promise<string[]> {
  const tcpdump = namespace.start('tcpdump', '-i', 'lo', '-n', '-l', '--immediate-mode', 'tcp', 'port', String(PORT));
  await eventually(() => tcpdump.output().includes('listening on'), 'tcpdump to listen', 30_000);
  const flags = (): string[] =>
    [...tcpdump.output().matchAll(/IP [\d.]+\.(\d+) > [\d.]+\.(\d+): Flags \[([^\]]+)\]/g)].map(
      ([, from, , flag]) => `${from === String(PORT) ? '<' : '>'} ${flag}`,
    );
  await during();
  await eventually(() => flags().length >= enough, `${enough} packets`, 30_000);
  tcpdump.child.kill('SIGTERM');
  await once(tcpdump.child, 'exit');
  return flags();
}

function check(namespace: Namespace, ...options: string[]): ReturnType<Namespace['run']> {
  return namespace.run(process.execPath, HOLDFAST, 'check', 'tcp', `127.0.0.1:${PORT}`, ...options);
}

test('a tcp probe is SYN, SYN-ACK, ACK, RST', OPTIONS, async (t) => {
  const namespace = await makeNamespaceWithServer(t, 'reset');
  const seen = await capture(
    namespace,
    async () => {
      const { code, stdout } = await check(namespace);
      assert.equal(code, 0, stdout);
    },
    4,
  );
  assert.deepEqual(seen, ['> S', '< S.', '> .', '> R.']);
});

test('with close fin it ends by FIN from both sides', OPTIONS, async (t) => {
  const namespace = await makeNamespaceWithServer(t, 'fin');
  const seen = await capture(
    namespace,
    async () => {
      const { code, stdout } = await check(namespace, '--close', 'fin');
      assert.equal(code, 0, stdout);
    },
    6,
  );
  assert.deepEqual(seen.slice(0, 4), ['> S', '< S.', '> .', '> F.']);
  assert.ok(seen.includes('< F.'));
  assert.equal(
    seen.some((packet) => packet.includes('R')),
    false,
    seen.join(),
  );
});

test('a firewall that drops makes it CONNECT_TIMEOUT, with the lines that let the probe in', OPTIONS, async (t) => {
  const namespace = await makeNamespaceWithServer(t, 'drop');
  const rules = ['add table ip t', 'add chain ip t in { type filter hook input priority 0 ; }'];
  for (const rule of [...rules, `add rule ip t in tcp dport ${PORT} drop`]) {
    await namespace.must('nft', rule);
  }
  const { code, stdout } = await check(namespace, '--timeout', '500ms');
  assert.equal(code, 1);
  assert.match(stdout, /^verdict {2}FAIL CONNECT_TIMEOUT: no connection from 127\.0\.0\.1 within 500 ms$/m);
  assert.match(stdout, /^from {5}127\.0\.0\.1:\d+$/m);
  const lines = [
    `iptables -I INPUT -p tcp -s 127.0.0.1 --dport ${PORT} -j ACCEPT`,
    `nft insert rule inet filter input ip saddr 127.0.0.1 tcp dport ${PORT} accept`,
  ];
  for (const line of lines) assert.ok(stdout.includes(line), stdout);
  assert.match(stdout, /security group/);
});

test('an answer that comes after the time-out is answered by RST', OPTIONS, async (t) => {
  const namespace = await makeNamespaceWithServer(t, 'late');
  // The first answer of the server is lost; the one it repeats a second later gets through.
  const rules = [
    'add table ip t',
    'add chain ip t in { type filter hook input priority 0 ; }',
    `add rule ip t in tcp sport ${PORT} limit rate 1/hour burst 1 packets drop`,
  ];
  for (const rule of rules) {
    await namespace.must('nft', rule);
  }
  const seen = await capture(
    namespace,
    async () => {
      const { code, stdout } = await check(namespace, '--timeout', '300ms');
      assert.equal(code, 1, stdout);
    },
    4,
  );
  assert.deepEqual(seen.slice(0, 2), ['> S', '< S.']);
  assert.equal(seen.at(-1), '> R');
});

test('a port that is refused by a firewall fails at once, whichever way it refuses', OPTIONS, async (t) => {
  const namespace = await makeNamespaceWithServer(t, 'reject');
  for (const rule of ['add table ip t', 'add chain ip t in { type filter hook input priority 0 ; }']) {
    await namespace.must('nft', rule);
  }
  for (const how of ['reject with icmp type admin-prohibited', 'reject with tcp reset']) {
    await namespace.must('nft', 'flush chain ip t in');
    await namespace.must('nft', `add rule ip t in tcp dport ${PORT} ${how}`);
    const { code, stdout } = await check(namespace, '--timeout', '60s');
    assert.equal(code, 1);
    assert.match(stdout, /^verdict {2}FAIL CONNECT_FAILED/m, how);
  }
});
