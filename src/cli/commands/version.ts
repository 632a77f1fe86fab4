import type { Command } from 'commander';
import type { Terminal } from '../output.ts';
import { packageVersion } from '../../version.ts';

/** `version`: `v0.1.0`. */
export function addVersionCommand(program: Command, terminal: Terminal): void {
  program
    .command('version')
    .description('print the version')
    .action(() => {
      terminal.stdout.write(`v${packageVersion()}\n`);
    });
}
