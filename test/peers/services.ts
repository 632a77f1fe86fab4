/** Servers that people balance at layer 4, each with a config of the test's own, one probe that suits it and a client. */
import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { globSync } from 'node:fs';
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { runInProcess } from '../cli/in-process.ts';
import { makeAuthority } from '../support/authority.ts';
import { eventually } from '../support/backend.ts';
import {
  findProgram,
  type Program,
  runProgram,
  startProgram,
  startServer,
  temporaryFolder,
  unlessInstalled,
} from '../support/program.ts';

export interface Service {
  readonly name: string;
  readonly network: 'tcp' | 'udp';
  /** Why it cannot be tested here. */
  readonly skip: false | string;
  /** The block that checks it, without the options of all probes. */
  readonly probe: string;
  readonly options?: string;
  /** Reasons that its end may have. */
  readonly gone: readonly string[];
  /** Starts one and waits until it serves. */
  start(t: TestContext, port: number): Promise<Program>;
  /** Does with a client of its own what people do with it; fails the test when that fails. */
  use(port: number): Promise<void>;
}

const ROOT = process.getuid?.() === 0;

function missing(needs: Readonly<Record<string, readonly (string | undefined)[]>>): false | string {
  for (const [name, programs] of Object.entries(needs)) {
    for (const program of programs) if (program === undefined) return unlessInstalled(program, name);
  }
  return false;
}

async function succeeds(path: string, args: readonly string[], expected: RegExp, input = ''): Promise<void> {
  const { code, stdout, stderr } = await runProgram(path, args, input);
  assert.equal(code, 0, `${path}: ${stdout}${stderr}`);
  assert.match(stdout, expected);
}

/** A probe of ours as the client, where there is no other: it looks at the whole answer. */
async function probes(probe: string, port: number, ...options: readonly string[]): Promise<void> {
  const { code, stdout } = await runInProcess(['check', probe, `127.0.0.1:${port}`, ...options]);
  assert.equal(code, 0, stdout);
}

/** Waits for a server of datagrams, which has no TCP port to look at. */
async function untilProbed(
  program: Program,
  probe: string,
  port: number,
  ...options: readonly string[]
): Promise<void> {
  await eventually(
    async () => {
      if (program.child.exitCode !== null) throw new Error(`it ended: ${program.output()}`);
      return (await runInProcess(['check', probe, `127.0.0.1:${port}`, ...options])).code === 0;
    },
    `${probe} to pass`,
    30_000,
  );
}

const KNOT = findProgram('knotd');

export const knot: Service = {
  name: 'Knot DNS',
  network: 'udp',
  skip: missing({ knot: [KNOT] }),
  probe: 'dns',
  options: 'name example.test',
  gone: ['PORT_UNREACHABLE'],
  async start(t, port) {
    const folder = await temporaryFolder(t);
    await writeFile(
      join(folder, 'zone'),
      '$ORIGIN example.test.\n@ 60 SOA ns a 1 60 60 60 60\n@ 60 NS ns\n@ 60 TXT "served"\n@ 60 A 192.0.2.1\nns 60 A 192.0.2.2\n',
    );
    const config = join(folder, 'knot.conf');
    const domain = `zone:\n  - domain: example.test\n    storage: ${folder}\n    file: zone\n`;
    await writeFile(
      config,
      `server:\n  rundir: ${folder}\n  listen: 127.0.0.1@${port}\ndatabase:\n  storage: ${folder}\n${domain}`,
    );
    const program = startProgram(t, KNOT!, ['-c', config]);
    await untilProbed(program, 'dns', port, '--name', 'example.test');
    return program;
  },
  async use(port) {
    const resolver = new Resolver({ timeout: 5000 });
    resolver.setServers([`127.0.0.1:${port}`]);
    assert.deepEqual(await resolver.resolveTxt('example.test'), [['served']]);
  },
};

const POSTFIX = findProgram('postfix');
const POSTCONF = findProgram('postconf');
const SMTP_SOURCE = findProgram('smtp-source');

/** The parts of Postfix that take a mail and throw it away, in the folder. */
async function layOutPostfix(folder: string, port: number): Promise<void> {
  await chmod(folder, 0o755);
  for (const name of ['spool', 'data']) await mkdir(join(folder, name), { mode: 0o755 });
  const { stdout: uid } = await runProgram('/usr/bin/id', ['-u', 'postfix']);
  await chown(join(folder, 'data'), Number(uid), 0);
  await writeFile(
    join(folder, 'main.cf'),
    `compatibility_level = 3.6
queue_directory = ${folder}/spool
data_directory = ${folder}/data
maillog_file = ${folder}/log
maillog_file_prefixes = ${folder}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mail.test
mydestination =
local_recipient_maps =
relay_domains = example.test
default_transport = discard
relay_transport = discard
`,
  );
  await writeFile(
    join(folder, 'master.cf'),
    `127.0.0.1:${port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
discard unix - - n - - discard
error unix - - n - - error
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
`,
  );
}

export const postfix: Service = {
  name: 'Postfix',
  network: 'tcp',
  skip: missing({ postfix: [POSTFIX, POSTCONF, SMTP_SOURCE] }) || (!ROOT && 'Postfix starts for root only'),
  probe: 'smtp',
  options: 'ehlo lb.test',
  gone: ['CONNECT_FAILED'],
  async start(t, port) {
    const folder = await temporaryFolder(t);
    await layOutPostfix(folder, port);
    // Makes the folders of the queue. What starts the daemon is a script, which would not end it.
    await succeeds(POSTFIX!, ['-c', folder, 'check'], /^/);
    const { stdout } = await runProgram(POSTCONF!, ['-c', folder, '-h', 'daemon_directory']);
    const master = join(stdout.trim(), 'master');
    return startServer(t, master, ['-s', '-c', folder], port, { endSignal: 'SIGTERM' });
  },
  async use(port) {
    const addresses = ['-f', 'from@example.test', '-t', 'to@example.test'];
    await succeeds(SMTP_SOURCE!, ['-c', '-m', '1', ...addresses, `127.0.0.1:${port}`], /^/);
  },
};

const SSHD = findProgram('sshd');
const SSH_KEYGEN = findProgram('ssh-keygen');
const SSH_KEYSCAN = findProgram('ssh-keyscan');

export const openssh: Service = {
  name: 'OpenSSH',
  network: 'tcp',
  skip: missing({ 'openssh-server': [SSHD], 'openssh-client': [SSH_KEYGEN, SSH_KEYSCAN] }),
  probe: 'ssh',
  gone: ['CONNECT_FAILED'],
  async start(t, port) {
    const folder = await temporaryFolder(t);
    const key = join(folder, 'key');
    await runProgram(SSH_KEYGEN!, ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    // Where it gives up privileges; only root has to have it.
    if (ROOT) await mkdir('/run/sshd', { recursive: true });
    const args = ['-D', '-e', '-f', '/dev/null', '-h', key, '-p', String(port), '-o', 'ListenAddress=127.0.0.1'];
    return startServer(t, SSHD!, [...args, '-o', `PidFile=${folder}/pid`], port);
  },
  async use(port) {
    await succeeds(SSH_KEYSCAN!, ['-T', '20', '-t', 'ed25519', '-p', String(port), '127.0.0.1'], /ssh-ed25519 AAAA/);
  },
};

const REDIS = findProgram('redis-server');
const REDIS_CLIENT = findProgram('redis-cli');

export async function startRedis(t: TestContext, port: number, ...options: readonly string[]): Promise<Program> {
  const folder = await temporaryFolder(t);
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder];
  return startServer(t, REDIS!, [...args, ...options], port);
}

export const redis: Service = {
  name: 'Redis',
  network: 'tcp',
  skip: missing({ 'redis-server': [REDIS], 'redis-tools': [REDIS_CLIENT] }),
  probe: 'redis',
  options: 'strict',
  gone: ['CONNECT_FAILED', 'CONNECT_INTERRUPT'],
  start: (t, port) => startRedis(t, port),
  async use(port) {
    await succeeds(REDIS_CLIENT!, ['-h', '127.0.0.1', '-p', String(port), 'incr', 'n'], /^\d+\n$/);
  },
};

const MOSQUITTO = findProgram('mosquitto');
const MOSQUITTO_PUB = findProgram('mosquitto_pub');

export async function startMosquitto(t: TestContext, port: number, anonymous = true): Promise<Program> {
  const config = join(await temporaryFolder(t), 'mosquitto.conf');
  await writeFile(config, `listener ${port} 127.0.0.1\nallow_anonymous ${String(anonymous)}\n`);
  return startServer(t, MOSQUITTO!, ['-c', config], port);
}

export const mosquitto: Service = {
  name: 'Mosquitto',
  network: 'tcp',
  skip: missing({ mosquitto: [MOSQUITTO], 'mosquitto-clients': [MOSQUITTO_PUB] }),
  probe: 'mqtt',
  gone: ['CONNECT_FAILED', 'CONNECT_INTERRUPT'],
  start: (t, port) => startMosquitto(t, port),
  async use(port) {
    // At quality of service 1 it waits until the broker has the message.
    const args = ['-h', '127.0.0.1', '-p', String(port), '-q', '1', '-t', 'a/b', '-m', 'hello'];
    await succeeds(MOSQUITTO_PUB!, args, /^/);
  },
};

const SETPRIV = findProgram('setpriv');
const PSQL = findProgram('psql');
/** Debian keeps the programs of each version in a folder of their own, on nobody's PATH. */
const findOfPostgres = (name: string): string | undefined =>
  globSync(`/usr/lib/postgresql/*/bin/${name}`).toSorted().at(-1) ?? findProgram(name);
const POSTGRES = findOfPostgres('postgres');
const INITDB = findOfPostgres('initdb');

/** PostgreSQL refuses root. */
function asPostgres(command: readonly string[]): [string, readonly string[]] {
  const [program = '', ...args] = command;
  if (!ROOT) return [program, args];
  return [SETPRIV!, ['--reuid=postgres', '--regid=postgres', '--clear-groups', ...command]];
}

export const postgresql: Service = {
  name: 'PostgreSQL',
  network: 'tcp',
  skip: missing({ postgresql: [POSTGRES, INITDB, PSQL], 'util-linux': [SETPRIV] }),
  probe: 'tcp',
  gone: ['CONNECT_FAILED'],
  async start(t, port) {
    const folder = await temporaryFolder(t);
    const data = join(folder, 'data');
    if (ROOT) await succeeds('/bin/chown', ['postgres:postgres', folder], /^/);
    const init = [INITDB!, '-D', data, '-A', 'trust', '-U', 'postgres', '--no-sync', '--locale=C'];
    await succeeds(...asPostgres(init), /^/);
    const serve = [POSTGRES!, '-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', folder, '-F'];
    const [program, args] = asPostgres(serve);
    // It has children, which end with it when it is told to end at once.
    const options = { endSignal: 'SIGQUIT', cwd: folder } as const;
    const server = await startServer(t, program, args, port, options);
    await eventually(() => server.output().includes('ready to accept connections'), 'PostgreSQL to be ready', 30_000);
    return server;
  },
  async use(port) {
    const args = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', '-Atc', 'select 6 * 7'];
    await succeeds(PSQL!, args, /^42\n$/);
  },
};

const VSFTPD = findProgram('vsftpd');
const CURL = findProgram('curl');

export const vsftpd: Service = {
  name: 'vsftpd',
  network: 'tcp',
  skip: missing({ vsftpd: [VSFTPD], curl: [CURL] }),
  probe: 'tcp',
  options: 'expect 220',
  gone: ['CONNECT_FAILED'],
  async start(t, port) {
    const folder = await temporaryFolder(t);
    await chmod(folder, 0o755);
    await mkdir(join(folder, 'files'));
    await writeFile(join(folder, 'files', 'hello.txt'), 'hello\n');
    const config = join(folder, 'vsftpd.conf');
    await writeFile(
      config,
      ['listen=YES', 'listen_address=127.0.0.1', `listen_port=${port}`, 'background=NO', 'anonymous_enable=YES']
        .concat([`anon_root=${folder}/files`, `secure_chroot_dir=${folder}/files`, 'run_as_launching_user=YES'])
        .concat(['seccomp_sandbox=NO', 'xferlog_enable=NO'])
        .join('\n') + '\n',
    );
    return startServer(t, VSFTPD!, [config], port);
  },
  async use(port) {
    await succeeds(CURL!, ['-sS', '--max-time', '20', `ftp://127.0.0.1:${port}/hello.txt`], /^hello\n$/);
  },
};

const CADDY = findProgram('caddy');

export const caddy: Service = {
  name: 'Caddy (QUIC)',
  network: 'udp',
  skip: missing({ caddy: [CADDY] }),
  probe: 'quic',
  gone: ['PORT_UNREACHABLE'],
  async start(t, port) {
    const folder = await temporaryFolder(t);
    const leaf = await (await makeAuthority(t)).issue(['shop.test']);
    const config = join(folder, 'Caddyfile');
    const serves = `bind 127.0.0.1\ntls ${leaf.certFile} ${leaf.keyFile}\nrespond "fine"`;
    await writeFile(config, `{\nadmin off\nauto_https off\n}\nhttps://shop.test:${port} {\n${serves}\n}\n`);
    const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    const program = startProgram(t, CADDY!, ['run', '--config', config, '--adapter', 'caddyfile'], { env });
    await untilProbed(program, 'quic', port);
    return program;
  },
  use: (port) => probes('quic', port),
};

export const SERVICES: readonly Service[] = [knot, postfix, openssh, redis, mosquitto, postgresql, vsftpd, caddy];
