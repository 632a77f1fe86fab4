/** The processes a run starts. Each leads a group of its own, so that ending it ends its children, and nothing else. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

export interface Running {
  readonly pid: number;
  alive(): boolean;
  /** What it printed, the last part. */
  output(): string;
  /** Ends it and its children; resolves when it is gone. */
  end(): Promise<void>;
}

export interface SpawnPlan {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** List as taskset(1) takes it. */
  readonly cores: string;
}

const MAX_OUTPUT = 4_000;

/** Whether a command can be started here. */
export function installed(command: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${command}`], { env: withSystemFolders({}) }).status === 0;
}

export class Processes {
  readonly #children = new Set<ChildProcess>();

  start(plan: SpawnPlan): Running {
    const [command, args] = onCores(plan);
    const child = spawn(command, args, {
      detached: true,
      env: withSystemFolders(plan.env ?? {}),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keep = (data: Buffer): void => {
      output = (output + data.toString('latin1')).slice(-MAX_OUTPUT);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error) => keep(Buffer.from(error.message)));
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return { pid: child.pid ?? 0, alive: () => isAlive(child), output: () => output, end: () => this.#end(child) };
  }

  /** Runs a command to its end and returns what it printed. Throws when it fails. */
  async run(plan: SpawnPlan): Promise<string> {
    const [command, args] = onCores(plan);
    const child = spawn(command, args, {
      detached: true,
      env: withSystemFolders({}),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#children.add(child);
    let output = '';
    child.stdout.on('data', (data: Buffer) => (output += data.toString('latin1')));
    child.stderr.on('data', (data: Buffer) => (output += data.toString('latin1')));
    const [code] = (await once(child, 'close')) as [number | null];
    this.#children.delete(child);
    if (code !== 0) throw new Error(`${plan.command} ended with ${String(code)}: ${output.trim()}`);
    return output;
  }

  /** Ends everything that was started, at once and without waiting: also for an exit handler. */
  killAll(): void {
    for (const child of this.#children) kill(child);
    this.#children.clear();
  }

  async #end(child: ChildProcess): Promise<void> {
    if (!isAlive(child)) return;
    const gone = once(child, 'exit');
    kill(child);
    await gone;
  }
}

function isAlive(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

function kill(child: ChildProcess): void {
  if (!isAlive(child)) return;
  try {
    process.kill(-child.pid!, 'SIGKILL');
  } catch {
    // It ended a moment ago.
  }
}

/** taskset becomes the command it starts, so the process id is the command's. */
function onCores({ cores, command, args }: SpawnPlan): [string, string[]] {
  if (process.platform !== 'linux' || !installed('taskset')) return [command, [...args]];
  return ['taskset', ['-c', cores, command, ...args]];
}

/** Debian keeps nginx and haproxy in /usr/sbin, which is not in everyone's PATH. */
function withSystemFolders(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin`, ...env };
}
