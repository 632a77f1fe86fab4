/** HAProxy's tcp-check and `health tcp`: the same scripts against the same servers give the same verdicts. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { runInProcess } from '../cli/in-process.ts';
import { eventually, startScripted } from '../support/backend.ts';
import { findProgram, freePort, startProgram, temporaryFolder, unlessInstalled } from '../support/program.ts';

const HAPROXY = findProgram('haproxy');
const OPTIONS = { timeout: 180_000, skip: unlessInstalled(HAPROXY, 'haproxy') };
/** Of one probe, in both. */
const TIMEOUT_MS = 700;
const PARALLEL = 15;

/** What each server does with a connection; '' is a port that nobody listens on. */
const SERVERS: Readonly<Record<string, ((socket: Socket) => void) | null>> = {
  'greets and answers': (socket) => {
    socket.write('220 hello\r\n');
    answer(socket);
  },
  'greets with another code': (socket) => {
    socket.write('554 go away\r\n');
    answer(socket);
  },
  'answers, does not greet': answer,
  'is silent': () => {},
  'sends half a banner': (socket) => void socket.write('220 he'),
  'speaks binary': (socket) => {
    socket.write(Buffer.from('2200ff0d0a', 'hex'));
    socket.on('data', () => void socket.write(Buffer.from('000102ff', 'hex')));
  },
  'greets and closes': (socket) => void socket.end('220 hello\r\n'),
  'closes at once': (socket) => void socket.end(),
  'greets a moment later': (socket) => {
    const timer = setTimeout(() => socket.write('220 hello\r\n'), 100);
    socket.once('close', () => clearTimeout(timer));
    answer(socket);
  },
  'is not there': null,
};

/** PING gets +PONG, anything else -ERR. */
function answer(socket: Socket): void {
  socket.on('data', (bytes) => void socket.write(String(bytes).startsWith('PING') ? '+PONG\r\n' : '-ERR\r\n'));
}

type Rule = readonly [theirs: string, option: string, ours: string];

const CONNECT: readonly Rule[] = [];
const say = (line: string): Rule => [`send ${line}\\r\\n`, 'send', `${line}\\r\\n`];
const sayBytes = (hex: string): Rule => [`send-binary ${hex}`, 'send', `hex:${hex}`];
const hear = (part: string): Rule => [`expect string ${part.replaceAll(' ', '\\ ')}`, 'expect', part];
const hearBytes = (hex: string): Rule => [`expect binary ${hex}`, 'expect', `hex:${hex}`];
const hearLike = (pattern: string): Rule => [
  `expect rstring ${pattern.replaceAll(' ', '\\ ')}`,
  'expect_regex',
  pattern,
];

const SCRIPTS: Readonly<Record<string, readonly Rule[]>> = {
  'connect alone': CONNECT,
  'a banner': [hear('220')],
  'a whole banner': [hear('220 hello')],
  'another banner': [hear('250')],
  'a pattern': [hearLike('^2[0-9][0-9] [a-z]+')],
  'a choice': [hearLike('^(220|554) ')],
  'a banner in bytes': [hearBytes('3232302068656c6c6f')],
  'bytes with a zero': [hearBytes('00ff0d0a')],
  'a question': [say('PING'), hear('+PONG')],
  'another question': [say('QUIT'), hear('+PONG')],
  'a question in bytes': [sayBytes('50494e470d0a'), hearBytes('2b504f4e47')],
  'a binary dialogue': [sayBytes('0001'), hearBytes('0102ff')],
  'a banner, then a question': [hear('220'), say('PING'), hear('PONG')],
  'a banner, then two questions': [hear('220'), say('PING'), hear('+PONG'), say('NOOP'), hear('-ERR')],
  'a banner, then a pattern': [hear('220'), say('PING'), hearLike('^\\+P[A-Z]+')],
};

interface Case {
  readonly name: string;
  readonly rules: readonly Rule[];
  readonly port: number;
}

async function startServers(t: TestContext): Promise<ReadonlyMap<string, number>> {
  const ports = new Map<string, number>();
  for (const [name, serve] of Object.entries(SERVERS)) {
    ports.set(name, serve === null ? await freePort() : (await startScripted(t, serve)).port);
  }
  return ports;
}

/** `UP` or `DOWN` of every case, by HAProxy. */
async function judgedByHaproxy(t: TestContext, cases: readonly Case[]): Promise<readonly string[]> {
  const folder = await temporaryFolder(t);
  const control = join(folder, 'socket');
  const backends = cases.map(({ rules, port }, at) => {
    const script = rules.map(([rule]) => `  tcp-check ${rule}\n`).join('');
    const server = `  server s 127.0.0.1:${port} check inter 2000 rise 1 fall 1\n`;
    return `backend b${at}\n  option tcp-check\n${script}${server}`;
  });
  const timeouts = ['connect', 'server', 'check'].map((name) => `  timeout ${name} ${TIMEOUT_MS}\n`).join('');
  const config = join(folder, 'haproxy.cfg');
  await writeFile(config, `global\n  stats socket ${control}\ndefaults\n  mode tcp\n${timeouts}${backends.join('')}`);
  const haproxy = startProgram(t, HAPROXY!, ['-db', '-f', config]);
  let verdicts: readonly string[] = [];
  await eventually(
    async () => {
      if (haproxy.child.exitCode !== null) throw new Error(`it ended: ${haproxy.output()}`);
      verdicts = await verdictsOf(control, cases.length).catch(() => []);
      return verdicts.length === cases.length && verdicts.every((verdict) => verdict !== '');
    },
    'a verdict of HAProxy on every script',
    60_000,
  );
  await haproxy.end();
  return verdicts;
}

/** Of the checks that have ended once; '' for the others. Columns 17 and 36 of the table are status and check_status. */
async function verdictsOf(control: string, count: number): Promise<readonly string[]> {
  const socket = connect(control);
  socket.end('show stat -1 4 -1\n');
  const rows = (await text(socket)).split('\n').map((line) => line.split(','));
  return Array.from({ length: count }, (_, at) => {
    const row = rows.find(([backend, server]) => backend === `b${at}` && server === 's');
    const [status = '', checked = ''] = [row?.[17], row?.[36]];
    return /^(\* )?L\d/.test(checked) && !checked.startsWith('*') ? status.split(' ')[0]! : '';
  });
}

async function judgedByUs(one: Case): Promise<string> {
  const options = one.rules.flatMap(([, option, value]) => [`--${option}`, value]);
  const args = ['check', 'tcp', `127.0.0.1:${one.port}`, '--timeout', `${TIMEOUT_MS}ms`, ...options, '--json'];
  const { stdout, stderr } = await runInProcess(args);
  assert.notEqual(stdout, '', stderr);
  const { outcome } = JSON.parse(stdout) as { outcome: string };
  // A machine that was too slow for the deadline has no verdict.
  if (outcome === 'neutral') return judgedByUs(one);
  return outcome === 'pass' ? 'UP' : 'DOWN';
}

test(`${Object.keys(SCRIPTS).length} scripts against ${Object.keys(SERVERS).length} servers`, OPTIONS, async (t) => {
  const ports = await startServers(t);
  const cases = Object.entries(SCRIPTS).flatMap(([script, rules]) =>
    [...ports].map(([server, port]): Case => ({ name: `${script}, of one that ${server}`, rules, port })),
  );
  const theirs = await judgedByHaproxy(t, cases);
  const ours: string[] = [];
  for (let at = 0; at < cases.length; at += PARALLEL) {
    ours.push(...(await Promise.all(cases.slice(at, at + PARALLEL).map(judgedByUs))));
  }
  const named = (verdicts: readonly string[]): readonly string[] =>
    cases.map(({ name }, at) => `${name}: ${verdicts[at]}`);
  assert.deepEqual(named(ours), named(theirs));
  assert.ok(ours.includes('UP') && ours.includes('DOWN'));
});
