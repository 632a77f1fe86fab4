import { arch, cpus, release, totalmem, loadavg } from 'node:os';
import type { Memory } from './memory.ts';
import type { BenchOptions } from './options.ts';
import { medianOf, medianRatio, type Sample, type Samples } from './rounds.ts';

export interface LoadFigures {
  readonly requestsPerSecond: number;
  readonly userUs: number;
  readonly systemUs: number;
  readonly cpuUs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failures: number;
  /** CPU per request over that of the other; null when the other did not run. */
  readonly cpuOverNginx: number | null;
  readonly cpuOverCaddy: number | null;
  readonly rateOverNginx: number | null;
  readonly rateOverCaddy: number | null;
}

export interface Results {
  readonly machine: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly loadAverage: readonly number[];
  readonly generator: string;
  readonly backends: string;
  readonly options: BenchOptions;
  readonly load: Readonly<Record<string, LoadFigures>>;
  readonly memory: Readonly<Record<string, Memory>>;
  readonly startMs: Readonly<Record<string, number>>;
  readonly bytesPerWorker: number | null;
  readonly skipped: readonly string[];
}

const cpuOf = (sample: Sample): number => sample.userUs + sample.systemUs;
const rateOf = (sample: Sample): number => sample.requestsPerSecond;

export function loadFigures(samples: Samples): Record<string, LoadFigures> {
  const figures: Record<string, LoadFigures> = {};
  for (const [name, own] of samples) {
    const ratio = (other: string, figure: (sample: Sample) => number): number | null => {
      const reference = samples.get(other);
      return reference === undefined ? null : medianRatio(own, reference, figure);
    };
    figures[name] = {
      requestsPerSecond: medianOf(own, rateOf),
      userUs: medianOf(own, (sample) => sample.userUs),
      systemUs: medianOf(own, (sample) => sample.systemUs),
      cpuUs: medianOf(own, cpuOf),
      p50Ms: medianOf(own, (sample) => sample.p50Ms),
      p99Ms: medianOf(own, (sample) => sample.p99Ms),
      failures: own.reduce((sum, sample) => sum + sample.failures, 0),
      cpuOverNginx: ratio('nginx', cpuOf),
      cpuOverCaddy: ratio('caddy', cpuOf),
      rateOverNginx: ratio('nginx', rateOf),
      rateOverCaddy: ratio('caddy', rateOf),
    };
  }
  return figures;
}

export function describeMachine(): string {
  const all = cpus();
  const gib = Math.round(totalmem() / 2 ** 30);
  return `${all.length} cores ${all[0]?.model ?? 'unknown'}, ${gib} GiB, Linux ${release()} ${arch()}`;
}

export function loadAverage(): number[] {
  return loadavg().map((value) => Math.round(value * 100) / 100);
}
