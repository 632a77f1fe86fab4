/** ICMP echo requests by the `ping` program: a process of ours has no privilege to send them itself. */
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Clock } from '../../shared/clock.ts';

/** `ping` processes at the same time; more wait for their turn. */
const MAX_PROCESSES = 64;
/** Exit status of a `ping` that could send and got nothing back. */
const NO_ANSWER = 1;

export type EchoAnswer =
  | { readonly outcome: 'reply'; readonly roundTripMs: number }
  | { readonly outcome: 'none' }
  /** This machine cannot ask. */
  | { readonly outcome: 'unavailable'; readonly detail: string };

export interface EchoQuestion {
  readonly host: string;
  readonly timeoutMs: number;
  /** An answer not older than this will do. */
  readonly maxAgeMs: number;
  readonly localAddress?: string;
}

export interface Echo {
  /** Never rejects. */
  ask(question: EchoQuestion): Promise<EchoAnswer>;
}

interface Asked {
  readonly answer: Promise<EchoAnswer>;
  /** When it was asked. */
  readonly at: number;
}

/** Servers on one address share their answers: they are about the host. */
export class PingEcho implements Echo {
  readonly #clock: Clock;
  readonly #program: string;
  readonly #asked: Map<string, Asked> = new Map();
  readonly #turns: (() => void)[] = [];
  #running = 0;

  constructor(clock: Clock, program = 'ping') {
    this.#clock = clock;
    this.#program = program;
  }

  ask(question: EchoQuestion): Promise<EchoAnswer> {
    const key = `${question.host} ${question.localAddress ?? ''}`;
    const now = this.#clock.now();
    const known = this.#asked.get(key);
    if (known !== undefined && now - known.at <= question.maxAgeMs) return known.answer;
    const asked = { answer: this.#ping(question), at: now };
    this.#asked.set(key, asked);
    // Addresses come and go with reloads and DNS: what is too old for everybody is dropped.
    this.#clock.after(question.maxAgeMs + question.timeoutMs, () => {
      if (this.#asked.get(key) === asked) this.#asked.delete(key);
    });
    return asked.answer;
  }

  async #ping(question: EchoQuestion): Promise<EchoAnswer> {
    if (this.#running >= MAX_PROCESSES) await new Promise<void>((resolve) => this.#turns.push(resolve));
    this.#running += 1;
    try {
      return await ping(this.#program, question);
    } finally {
      this.#running -= 1;
      this.#turns.shift()?.();
    }
  }
}

function ping(program: string, { host, timeoutMs, localAddress }: EchoQuestion): Promise<EchoAnswer> {
  // Of macOS, -W counts milliseconds.
  const wait = process.platform === 'darwin' ? Math.ceil(timeoutMs) : Math.max(1, Math.ceil(timeoutMs / 1000));
  const source = localAddress === undefined ? [] : ['-I', localAddress];
  const args = ['-n', '-c', '1', '-W', String(wait), ...source, host];
  const options = { timeout: timeoutMs + 1000, env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' } };
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) => resolve(readPing(error, stdout, stderr)));
  });
}

function readPing(error: Error | null, stdout: string, stderr: string): EchoAnswer {
  if (error === null) {
    const [, time = '0'] = /time[=<]([\d.]+) ?ms/.exec(stdout) ?? [];
    return { outcome: 'reply', roundTripMs: Number(time) };
  }
  const code: unknown = Reflect.get(error, 'code');
  const killed = Reflect.get(error, 'killed') === true;
  if (killed || code === NO_ANSWER) return { outcome: 'none' };
  if (code === 'ENOENT') return { outcome: 'unavailable', detail: 'there is no ping program here' };
  const said = stderr.trim().split('\n')[0] ?? '';
  return { outcome: 'unavailable', detail: `ping failed: ${said === '' ? String(code) : said}` };
}

/** Whether a program of that name is in the search path; without a path the system has one of its own. */
export function hasProgram(name: string, searchPath: string | undefined): boolean {
  if (searchPath === undefined) return true;
  return searchPath.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return folder !== '';
    } catch {
      return false;
    }
  });
}
