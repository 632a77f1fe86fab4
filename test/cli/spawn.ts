import { spawn, type ChildProcess } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const LAUNCHER = fileURLToPath(new URL('../../bin/holdfast.js', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SpawnOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Descriptors of this process that it gets as 3, 4, … */
  readonly inherited?: readonly number[];
}

/** The command line as a user starts it, with stdout and stderr piped. */
export function spawnHoldfast(
  args: readonly string[],
  { cwd, env = {}, inherited = [] }: SpawnOptions = {},
): ChildProcess {
  return spawn(process.execPath, [LAUNCHER, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', ...inherited],
    env: { ...process.env, HOLDFAST_DEBUG: '', ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
}

export async function runHoldfast(args: readonly string[], options?: SpawnOptions): Promise<Ended> {
  const child = spawnHoldfast(args, options);
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr] = await Promise.all([child.stdout, child.stderr].map((stream) => text(stream!)));
  return { code: await ended, stdout: stdout ?? '', stderr: stderr ?? '' };
}
