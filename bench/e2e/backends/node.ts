import { beside, type Bench } from '../bench.ts';
import type { SpawnPlan } from '../processes.ts';

export function nodeBackendPlan(bench: Bench, ports: readonly number[]): SpawnPlan {
  const script = beside(import.meta.url, 'node-server.ts');
  return { command: process.execPath, args: [script, ...ports.map(String)], cores: bench.otherCores };
}
