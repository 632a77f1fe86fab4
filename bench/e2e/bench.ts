import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Processes } from './processes.ts';

/** What every part of a run shares: its processes, its folder, its cores. */
export interface Bench {
  readonly processes: Processes;
  readonly folder: string;
  readonly proxyCores: string;
  readonly otherCores: string;
}

export function openBench(cores: { proxy: string; others: string }): Bench {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  return { processes: new Processes(), folder, proxyCores: cores.proxy, otherCores: cores.others };
}

export function closeBench(bench: Bench): void {
  bench.processes.killAll();
  rmSync(bench.folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Writes a config file into the run's folder and returns its path. */
export function writeConfig(bench: Bench, name: string, text: string): string {
  const path = join(bench.folder, name);
  writeFileSync(path, text);
  return path;
}

/** Path of a script beside the module that asks. */
export function beside(moduleUrl: string, name: string): string {
  return fileURLToPath(new URL(name, moduleUrl));
}
