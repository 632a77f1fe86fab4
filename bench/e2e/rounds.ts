import type { Bench } from './bench.ts';
import type { LoadGenerator } from './load/load.ts';
import type { BenchOptions } from './options.ts';
import type { RunningProxy } from './proxies/proxy.ts';
import { median } from './statistics.ts';
import { cpuTimes } from './usage.ts';

/** One proxy in one round. */
export interface Sample {
  readonly requestsPerSecond: number;
  readonly userUs: number;
  readonly systemUs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failures: number;
}

/** Samples by name of the proxy, one a round. */
export type Samples = ReadonlyMap<string, readonly Sample[]>;

/**
 * Compilers need some thousand requests before the code has its usual speed: a number, not a time, because
 * on a busy machine a time means little. At most so many turns.
 */
const WARM_UP_REQUESTS = 60_000;
const WARM_UP_SECONDS = 2;
const MAX_WARM_UPS = 10;

/**
 * Every proxy in turn, round after round, so that what else the machine does hits all of them alike.
 * All run all the time; only one has load.
 */
export async function runRounds(
  bench: Bench,
  proxies: readonly RunningProxy[],
  generator: LoadGenerator,
  options: BenchOptions,
  progress: (line: string) => void,
): Promise<Samples> {
  const samples = new Map<string, Sample[]>(proxies.map(({ name }) => [name, []]));
  for (const proxy of proxies) await warmUp(bench, proxy, generator, options.connections);
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const proxy of proxies) {
      const sample = await sampleOf(bench, proxy, generator, options);
      samples.get(proxy.name)?.push(sample);
      const cpu = (sample.userUs + sample.systemUs).toFixed(1);
      progress(`round ${round}: ${proxy.name} ${sample.requestsPerSecond.toFixed(0)} requests/s, ${cpu} µs CPU each`);
    }
  }
  return samples;
}

async function warmUp(bench: Bench, proxy: RunningProxy, generator: LoadGenerator, connections: number): Promise<void> {
  const wanted = generator.warmUpRequests ?? WARM_UP_REQUESTS;
  let requests = 0;
  for (let turn = 0; turn < MAX_WARM_UPS && requests < wanted; turn += 1) {
    requests += (await generator.run(bench, proxy.port, connections, WARM_UP_SECONDS)).requests;
  }
}

async function sampleOf(
  bench: Bench,
  proxy: RunningProxy,
  generator: LoadGenerator,
  options: BenchOptions,
): Promise<Sample> {
  const before = cpuTimes(proxy.running.pid);
  const load = await generator.run(bench, proxy.port, options.connections, options.seconds);
  const after = cpuTimes(proxy.running.pid);
  if (load.requests === 0) throw new Error(`${proxy.name} answered nothing under load:\n${proxy.running.output()}`);
  return {
    requestsPerSecond: load.requests / load.seconds,
    userUs: (after.userUs - before.userUs) / load.requests,
    systemUs: (after.systemUs - before.systemUs) / load.requests,
    p50Ms: load.p50Ms,
    p99Ms: load.p99Ms,
    failures: load.failures,
  };
}

/** The median of one figure over the rounds. */
export function medianOf(samples: readonly Sample[], figure: (sample: Sample) => number): number {
  return median(samples.map(figure));
}

/** The median of the ratios within each round: what slowed a whole round cancels out. */
export function medianRatio(
  samples: readonly Sample[],
  reference: readonly Sample[],
  figure: (sample: Sample) => number,
): number {
  return median(samples.map((sample, round) => figure(sample) / figure(reference[round]!)));
}
