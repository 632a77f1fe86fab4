const ROUNDS = 5;

/** Nanoseconds of CPU a call. Best of several rounds: on a busy machine the wall clock measures the neighbours. */
export function cpuNs(calls: number, run: () => void): number {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    for (let count = 0; count < calls; count += 1) run();
    best = Math.min(best, (process.cpuUsage(before).user * 1000) / calls);
  }
  return best;
}
