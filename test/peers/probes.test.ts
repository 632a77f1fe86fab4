/** Health probes against servers that people run: alive they pass, stopped they fail. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { makeAuthority } from '../support/authority.ts';
import { eventually } from '../support/backend.ts';
import {
  findProgram,
  freePort,
  type Program,
  runProgram,
  startProgram,
  startServer,
  temporaryFolder,
  unlessInstalled,
} from '../support/program.ts';
import { runInProcess } from '../cli/in-process.ts';

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
  return { code, outcome, reason, detail };
}

async function passes(probe: string, port: number, ...options: readonly string[]): Promise<void> {
  const { code, outcome, detail } = await check(probe, port, ...options);
  assert.deepEqual([outcome, code], ['pass', 0], `${probe} ${options.join(' ')}: ${detail}`);
}

async function fails(reason: string, probe: string, port: number, ...options: readonly string[]): Promise<void> {
  const seen = await check(probe, port, ...options);
  assert.deepEqual([seen.reason, seen.code], [reason, 1], `${probe} ${options.join(' ')}: ${seen.detail}`);
}

/** Waits for a service that has no TCP port to look at. */
async function alive(probe: string, port: number, ...options: readonly string[]): Promise<void> {
  const up = async (): Promise<boolean> => (await check(probe, port, ...options)).outcome === 'pass';
  await eventually(up, `${probe} to pass`, 30_000);
}

const REDIS = findProgram('redis-server');

function startRedis(t: TestContext, port: number, ...options: readonly string[]): Promise<Program> {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--daemonize', 'no', ...options];
  return startServer(t, REDIS!, args, port);
}

test(
  'redis: PING by redis and by tcp, and a password',
  { ...OPTIONS, skip: unlessInstalled(REDIS, 'redis-server') },
  async (t) => {
    const port = await freePort();
    const redis = await startRedis(t, port);
    await passes('redis', port, '--strict');
    await passes('tcp', port, '--send', 'PING\\r\\n', '--expect', '+PONG');
    await passes('tcp', port, '--close', 'fin');
    await fails('RESPONSE_NOT_MATCH', 'tcp', port, '--send', 'PING\\r\\n', '--expect', '+NOPE', '--timeout', '300ms');
    await fails('HTTP_INVALID_HEADER', 'http', port);
    await redis.end();
    await fails('CONNECT_FAILED', 'redis', port);
    const locked = await freePort();
    await startRedis(t, locked, '--requirepass', 'secret');
    await passes('redis', locked);
    await fails('RESPONSE_NOT_MATCH', 'redis', locked, '--strict');
  },
);

const SSHD = findProgram('sshd');
const SSH_KEYGEN = findProgram('ssh-keygen');

test(
  'OpenSSH: by ssh, and by the banner',
  { ...OPTIONS, skip: unlessInstalled(SSHD && SSH_KEYGEN, 'sshd') },
  async (t) => {
    const folder = await temporaryFolder(t);
    const port = await freePort();
    const key = join(folder, 'key');
    await runProgram(SSH_KEYGEN!, ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    // Where it gives up privileges; only root has to have it.
    if (process.getuid?.() === 0) await mkdir('/run/sshd', { recursive: true });
    const args = ['-D', '-e', '-f', '/dev/null', '-h', key, '-p', String(port), '-o', 'ListenAddress=127.0.0.1'];
    const sshd = await startServer(t, SSHD!, [...args, '-o', `PidFile=${folder}/pid`], port);
    await passes('ssh', port);
    await passes('tcp', port, '--expect', 'SSH-2.0-');
    await fails('RESPONSE_NOT_MATCH', 'smtp', port);
    await sshd.end();
    await fails('CONNECT_FAILED', 'ssh', port);
  },
);

const CADDY = findProgram('caddy');

test('Caddy: QUIC, HTTP and TLS', { ...OPTIONS, skip: unlessInstalled(CADDY, 'caddy') }, async (t) => {
  const folder = await temporaryFolder(t);
  const port = await freePort();
  const leaf = await (await makeAuthority(t)).issue(['shop.test']);
  const config = join(folder, 'Caddyfile');
  await writeFile(
    config,
    `{\nadmin off\nauto_https off\n}\nhttps://shop.test:${port} {\nbind 127.0.0.1\ntls ${leaf.certFile} ${leaf.keyFile}\nrespond "fine"\n}\n`,
  );
  const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const caddy = await startServer(t, CADDY!, ['run', '--config', config, '--adapter', 'caddyfile'], port, { env });
  await alive('quic', port);
  const tls = ['--domain', 'shop.test', '--tls', '--insecure'];
  await passes('http', port, ...tls, '--version', '1.1', '--expect-body', '^fine$');
  await passes('http', port, ...tls, '--method', 'HEAD');
  await fails('TLS_FAILED', 'http', port, '--domain', 'shop.test', '--tls');
  await passes(
    'tcp',
    port,
    '--tls',
    'shop.test',
    '--insecure',
    '--send',
    'GET / HTTP/1.0\\r\\nHost: shop.test\\r\\n\\r\\n',
    '--expect',
    'fine',
  );
  await caddy.end();
  await fails('PORT_UNREACHABLE', 'quic', port);
});

const KNOT = findProgram('knotd');

test('Knot: dns, and udp with its own bytes', { ...OPTIONS, skip: unlessInstalled(KNOT, 'knotd') }, async (t) => {
  const folder = await temporaryFolder(t);
  const port = await freePort();
  const config = join(folder, 'knot.conf');
  await writeFile(
    join(folder, 'zone'),
    '$ORIGIN example.com.\n@ 60 SOA ns a 1 60 60 60 60\n@ 60 NS ns\n@ 60 A 192.0.2.1\nns 60 A 192.0.2.2\n',
  );
  await writeFile(
    config,
    `server:\n  rundir: ${folder}\n  listen: 127.0.0.1@${port}\ndatabase:\n  storage: ${folder}\nzone:\n  - domain: example.com\n    storage: ${folder}\n    file: zone\n`,
  );
  const knot = startProgram(t, KNOT!, ['-c', config]);
  await alive('dns', port, '--name', 'example.com');
  await passes('dns', port, '--name', 'absent.example.com', '--type', 'TXT');
  await fails('RESPONSE_NOT_MATCH', 'dns', port, '--name', 'elsewhere.test', '--timeout', '300ms');
  await passes('dns', port, '--name', 'elsewhere.test', '--alive');
  const question = '12340100000100000000000007' + Buffer.from('example').toString('hex') + '03636f6d0000010001';
  await passes('udp', port, '--send', `hex:${question}`, '--expect', 'hex:c0000201');
  await knot.end();
  await fails('PORT_UNREACHABLE', 'dns', port);
});

const MOSQUITTO = findProgram('mosquitto');

test(
  'Mosquitto: both versions, and a wanted login',
  { ...OPTIONS, skip: unlessInstalled(MOSQUITTO, 'mosquitto') },
  async (t) => {
    const folder = await temporaryFolder(t);
    for (const anonymous of [true, false]) {
      const port = await freePort();
      const config = join(folder, 'mosquitto.conf');
      await writeFile(config, `listener ${port} 127.0.0.1\nallow_anonymous ${String(anonymous)}\n`);
      const broker = await startServer(t, MOSQUITTO!, ['-c', config], port);
      await passes('mqtt', port);
      await passes('mqtt', port, '--version', '5');
      await broker.end();
      await fails('CONNECT_FAILED', 'mqtt', port);
    }
  },
);

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

const VSFTPD = findProgram('vsftpd');

test('vsftpd: its banner', { ...OPTIONS, skip: unlessInstalled(VSFTPD, 'vsftpd') }, async (t) => {
  const folder = await temporaryFolder(t);
  const port = await freePort();
  const config = join(folder, 'vsftpd.conf');
  await chmod(folder, 0o755);
  await mkdir(join(folder, 'empty'));
  await writeFile(
    config,
    ['listen=YES', 'listen_address=127.0.0.1', `listen_port=${port}`, 'background=NO', 'anonymous_enable=YES']
      .concat([`anon_root=${folder}/empty`, `secure_chroot_dir=${folder}/empty`, 'run_as_launching_user=YES'])
      .join('\n') + '\n',
  );
  const vsftpd = await startServer(t, VSFTPD!, [config], port);
  await passes('tcp', port, '--expect', '220', '--send', 'QUIT\\r\\n', '--expect', '221', '--close', 'fin');
  await fails('RESPONSE_NOT_MATCH', 'tcp', port, '--expect', '250', '--timeout', '300ms');
  await vsftpd.end();
  await fails('CONNECT_FAILED', 'tcp', port, '--expect', '220');
});

const HAPROXY = findProgram('haproxy');

/** [HAProxy's script, our script]. The peer greets with "220 hello", answers PING with "+PONG" and all else with "-ERR". */
const SCRIPTS: readonly (readonly [readonly string[], readonly string[]])[] = [
  [[], []],
  [['expect string 220'], ['--expect', '220']],
  [['expect string 250'], ['--expect', '250']],
  [
    ['send PING\\r\\n', 'expect string +PONG'],
    ['--send', 'PING\\r\\n', '--expect', '+PONG'],
  ],
  [
    ['send QUIT\\r\\n', 'expect string +PONG'],
    ['--send', 'QUIT\\r\\n', '--expect', '+PONG'],
  ],
  [
    ['expect rstring ^220\\ [a-z]+', 'send PING\\r\\n', 'expect string PONG'],
    ['--expect_regex', '^220 [a-z]+', '--send', 'PING\\r\\n', '--expect', 'PONG'],
  ],
  [
    ['send-binary 50494e470d0a', 'expect binary 2b504f4e47'],
    ['--send', 'hex:50494e470d0a', '--expect', 'hex:2b504f4e47'],
  ],
];

test(
  'HAProxy and the tcp probe give the same verdicts',
  { ...OPTIONS, skip: unlessInstalled(HAPROXY, 'haproxy') },
  async (t) => {
    const peer = await startLineServer(t);
    const folder = await temporaryFolder(t);
    const socket = join(folder, 'socket');
    const backends = SCRIPTS.map(([script], at) => {
      const rules = script.map((rule) => `  tcp-check ${rule}\n`).join('');
      return `backend b${at}\n  option tcp-check\n${rules}  server s 127.0.0.1:${peer} check inter 200 rise 1 fall 1\n`;
    });
    const config = join(folder, 'haproxy.cfg');
    const defaults = 'defaults\n  mode tcp\n  timeout connect 2s\n  timeout server 2s\n  timeout check 500\n';
    await writeFile(config, `global\n  stats socket ${socket}\n${defaults}${backends.join('')}`);
    startProgram(t, HAPROXY!, ['-db', '-f', config]);
    const statuses = async (): Promise<string[]> => {
      const table = await askSocket(socket, 'show stat -1 4 -1\n');
      const rows = table.split('\n').filter((line) => /^b\d+,s,/.test(line));
      return rows.map((row) => row.split(',')).map((cells) => `${cells[17]} ${cells[36]}`);
    };
    const judged = (cells: string): boolean => /^(UP|DOWN) L\d/.test(cells);
    await eventually(async () => {
      const seen = await statuses().catch(() => []);
      return seen.length === SCRIPTS.length && seen.every(judged);
    }, 'a verdict of HAProxy on every script');
    const theirs = (await statuses()).map((cells) => cells.startsWith('UP'));
    const ours: boolean[] = [];
    for (const [, script] of SCRIPTS) {
      ours.push((await check('tcp', peer, ...script, '--timeout', '500ms')).outcome === 'pass');
    }
    assert.deepEqual(ours, theirs);
    assert.deepEqual(ours, [true, true, false, true, false, true, true]);
  },
);

async function startLineServer(t: TestContext): Promise<number> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.write('220 hello\r\n');
    socket.on('data', (bytes) => void socket.write(String(bytes).startsWith('PING') ? '+PONG\r\n' : '-ERR\r\n'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function askSocket(path: string, question: string): Promise<string> {
  const socket = connect(path);
  socket.end(question);
  return text(socket);
}
