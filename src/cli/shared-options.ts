import type { Command } from 'commander';
import { CliError } from './failure.ts';

/** More threads than any machine has cores. */
const MAX_WORKERS = 512;

/** The options that name a config file. */
export function addConfigOptions(command: Command): Command {
  return command
    .option('--config <file>', 'config file (default: Caddyfile in this folder)')
    .option('--adapter <name>', 'caddyfile or json (default: by the file name)');
}

/** The value of `--workers`. */
export function readWorkers(text: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= MAX_WORKERS) return count;
  throw new CliError(`--workers must be a whole number from 1 to ${MAX_WORKERS}, not '${text}'`, 2);
}

/** For options that may be repeated. */
export function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}
