/** `holdfast run` as a process of its own, with what it logs in reach. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { text } from 'node:stream/consumers';
import { spawnHoldfast } from '../cli/spawn.ts';
import { eventually } from './backend.ts';

export interface RunProcess {
  readonly child: ChildProcess;
  readonly folder: string;
  /** Port of the only listener. */
  readonly port: number;
  /** `host:port` of the admin API. */
  readonly admin: string;
  /** Everything on stderr so far. */
  readonly stderr: () => string;
  /** Exit code, null when a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Replaces the Caddyfile it was started with. */
  rewrite(caddyfile: string): Promise<void>;
}

/** A folder with this Caddyfile, removed when the test ends. */
export async function folderWith(t: TestContext, caddyfile: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-it-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'Caddyfile'), caddyfile);
  return folder;
}

/** Starts it with this Caddyfile and waits until it serves. */
export async function startRun(
  t: TestContext,
  caddyfile: string,
  args: readonly string[] = [],
  inherited: readonly number[] = [],
): Promise<RunProcess> {
  const folder = await folderWith(t, caddyfile);
  const options = { cwd: folder, env: { XDG_DATA_HOME: folder }, inherited };
  const child = spawnHoldfast(['run', '--workers', '1', ...args], options);
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  let stderr = '';
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const find = (message: string): Record<string, unknown> | undefined =>
    recordsOf(stderr).find(({ msg }) => String(msg).includes(message));
  await eventually(
    () => {
      if (child.exitCode !== null) throw new Error(`it ended with code ${child.exitCode}: ${stderr}`);
      return find('serving') !== undefined && find('admin endpoint started') !== undefined;
    },
    'holdfast run to serve',
    30_000,
  );
  const [listener = ''] = find('serving')!['listeners'] as string[];
  return {
    child,
    folder,
    port: Number(listener.slice(listener.lastIndexOf(':') + 1)),
    admin: String(find('admin endpoint started')!['address']),
    stderr: () => stderr,
    ended,
    rewrite: (changed) => writeFile(join(folder, 'Caddyfile'), changed),
  };
}

/** Starts it where it is expected to end by itself. */
export async function runUntilEnd(
  t: TestContext,
  caddyfile: string,
): Promise<{ readonly code: number | null; readonly stderr: string }> {
  const folder = await folderWith(t, caddyfile);
  const child = spawnHoldfast(['run', '--workers', '1'], { cwd: folder, env: { XDG_DATA_HOME: folder } });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const stderr = await text(child.stderr!);
  const [code] = (await ended) as [number | null];
  return { code, stderr };
}

/** Nobody accepts on this port of loopback. */
export function refuses(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(false)).once('error', () => resolve(true));
  }).finally(() => socket.destroy());
}

function recordsOf(stderr: string): Record<string, unknown>[] {
  const whole = stderr.slice(0, stderr.lastIndexOf('\n') + 1).split('\n');
  return whole.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Record<string, unknown>);
}
