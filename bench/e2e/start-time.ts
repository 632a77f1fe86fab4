import type { Bench } from './bench.ts';
import { startProxy, type ProxyKind } from './proxies/proxy.ts';
import { median } from './statistics.ts';

/** Milliseconds from starting the process to its first good answer through a backend: median of `starts`. */
export async function measureStart(
  bench: Bench,
  kind: ProxyKind,
  backends: readonly number[],
  starts: number,
): Promise<number> {
  const times: number[] = [];
  for (let start = 0; start < starts; start += 1) {
    const startedAt = performance.now();
    const proxy = await startProxy(bench, kind, backends);
    times.push(performance.now() - startedAt);
    await proxy.running.end();
  }
  return median(times);
}
