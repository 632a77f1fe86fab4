/** Programs of the system as peers of a test: found on PATH, started, waited for, ended with the test. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';
import { text } from 'node:stream/consumers';
import { eventually } from './backend.ts';

/** Where Debian keeps servers, which are not on the PATH of everybody. */
const SERVER_FOLDERS = ['/usr/sbin', '/sbin'];

/** Full path of the first of these programs that is installed. */
export function findProgram(...names: readonly string[]): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...SERVER_FOLDERS];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

/** The `skip` option of a test that needs a program: false when it is there, else why not. */
export function unlessInstalled(path: string | undefined, name: string): false | string {
  return path === undefined ? `${name} is not installed (test/peers/packages.txt lists what is needed)` : false;
}

export interface Program {
  readonly child: ChildProcess;
  /** stdout and stderr so far. */
  readonly output: () => string;
  /** Sends the signal and waits for the end. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

export interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** SIGKILL, unless it has children of its own that only it can end. */
  readonly endSignal?: NodeJS.Signals;
}

/** Starts a program that runs until the test ends. */
export function startProgram(
  t: TestContext,
  path: string,
  args: readonly string[],
  { cwd, env = {}, endSignal = 'SIGKILL' }: ProgramOptions = {},
): Program {
  const child = spawn(path, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  }
  const exited = once(child, 'exit').catch((error: unknown) => (output += String(error)));
  const end = async (signal: NodeJS.Signals = endSignal): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  t.after(() => end());
  return { child, output: () => output, end };
}

/** Starts a server and waits until somebody listens on `port` of loopback. */
export async function startServer(
  t: TestContext,
  path: string,
  args: readonly string[],
  port: number,
  options: ProgramOptions = {},
): Promise<Program> {
  const program = startProgram(t, path, args, options);
  const what = `${path} to listen on ${port}`;
  await eventually(
    () => {
      if (program.child.exitCode !== null) throw new Error(`${path} ended: ${program.output()}`);
      return listens(port);
    },
    what,
    30_000,
  );
  return program;
}

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, which must come within `timeoutMs`. */
export async function runProgram(
  path: string,
  args: readonly string[],
  input: string | Buffer = '',
  timeoutMs = 30_000,
): Promise<Outcome> {
  const child = spawn(path, args, { stdio: ['pipe', 'pipe', 'pipe'], timeout: timeoutMs, killSignal: 'SIGKILL' });
  // A program that reads no input closes the pipe: no fault of the test.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const closed = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
}

/**
 * A port of loopback that nobody listens on, for programs that cannot be asked which one they took. It is below
 * the range from which the kernel takes ports itself: one from there could be the near end of any connection
 * by the time the program listens.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 32_000);
    if (await canListen(port)) return port;
  }
}

/** A folder of the test's own, removed when it ends. */
export async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-peer-'));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  }).finally(() => socket.destroy());
}

function canListen(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
