import type { Bench } from '../bench.ts';
import type { LoadGenerator, LoadResult } from './load.ts';

const UNIT_MS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1_000, m: 60_000 };

export const wrkLoad: LoadGenerator = {
  name: 'wrk, 1 thread',
  run: (bench, port, connections, seconds) => runWrk(bench, `http://127.0.0.1:${port}/`, connections, seconds),
};

export async function runWrk(
  bench: Bench,
  url: string,
  connections: number,
  seconds: number,
  extra: readonly string[] = [],
): Promise<LoadResult> {
  const output = await bench.processes.run({
    command: 'wrk',
    args: ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', ...extra, url],
    cores: bench.otherCores,
  });
  return {
    requests: Number(find(output, /(\d+) requests in/)),
    seconds: durationMs(find(output, /requests in ([\d.]+\w+)/)) / 1_000,
    failures: failures(output),
    p50Ms: durationMs(find(output, /^ +50% +(\S+)/m)),
    p99Ms: durationMs(find(output, /^ +99% +(\S+)/m)),
  };
}

/** Two lines that wrk prints only when there is something to tell. */
function failures(output: string): number {
  const socketErrors = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(output) ?? [];
  const badAnswers = /Non-2xx or 3xx responses: (\d+)/.exec(output)?.[1] ?? 0;
  return socketErrors.slice(1).reduce((sum, count) => sum + Number(count), Number(badAnswers));
}

function find(output: string, pattern: RegExp): string {
  const found = pattern.exec(output)?.[1];
  if (found === undefined) throw new Error(`wrk printed something unknown:\n${output}`);
  return found;
}

function durationMs(text: string): number {
  const [, amount = '', unit = ''] = /^([\d.]+)(us|ms|s|m)$/.exec(text) ?? [];
  return Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
}
