/** What the relay benchmarks of layer 4 have in common: one reference, one table, one way to end. */
import { closeBench, openBench, type Bench } from './bench.ts';
import { coreLists, readOptions, type BenchOptions } from './options.ts';
import { loadFigures } from './results.ts';
import { medianOf, medianRatio, type Sample, type Samples } from './rounds.ts';
import { table } from './table.ts';

export interface RelayBench {
  /** Name of the proxy that the others are compared with. */
  readonly reference: string;
  /** What a round trip may cost, in round trips of the reference. */
  readonly maxOverReference: number;
  measure(bench: Bench, options: BenchOptions): Promise<Samples>;
}

export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

const cpuUs = ({ userUs, systemUs }: Sample): number => userUs + systemUs;

function report({ reference, maxOverReference }: RelayBench, samples: Samples): string {
  const theirs = samples.get(reference);
  const rows = [...samples].map(([name, own]) => [
    name,
    medianOf(own, ({ requestsPerSecond }) => requestsPerSecond).toFixed(0),
    medianOf(own, cpuUs).toFixed(1),
    medianOf(own, ({ userUs }) => userUs).toFixed(1),
    medianOf(own, ({ systemUs }) => systemUs).toFixed(1),
    theirs === undefined ? '-' : medianRatio(own, theirs, cpuUs).toFixed(2),
    String(own.reduce((sum, { failures }) => sum + failures, 0)),
  ]);
  const header = ['', 'round trips/s', 'CPU µs', 'user', 'system', `CPU ×${reference}`, 'failed'];
  return `${table(header, rows)}\ntarget: at most ${maxOverReference} × ${reference}\n`;
}

/** Runs it with the options of the command line, and ends the process. */
export async function runRelayBench(relay: RelayBench): Promise<never> {
  const options = readOptions(process.argv.slice(2));
  const bench = openBench(coreLists());
  process.on('exit', () => closeBench(bench));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));
  try {
    const samples = await relay.measure(bench, options);
    const figures = { load: loadFigures(samples) };
    process.stdout.write(options.json ? `${JSON.stringify(figures, null, 2)}\n` : report(relay, samples));
  } catch (error) {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
  process.exit();
}
