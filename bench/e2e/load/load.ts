import type { Bench } from '../bench.ts';
import { installed } from '../processes.ts';
import { nodeLoad } from './node.ts';
import { wrkLoad } from './wrk.ts';

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Answers other than 200, connections that broke, timeouts. */
  readonly failures: number;
  /** Latency, closed loop: a slow answer delays the next question, so these flatter everybody. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface LoadGenerator {
  readonly name: string;
  /** Until the code has its usual speed; absent = as many as cheap requests need. */
  readonly warmUpRequests?: number;
  run(bench: Bench, port: number, connections: number, seconds: number): Promise<LoadResult>;
}

export function chooseGenerator(): LoadGenerator {
  return installed('wrk') ? wrkLoad : nodeLoad;
}
