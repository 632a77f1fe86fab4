import type { Command } from 'commander';
import { readConfigFile, type ConfigOptions } from '../config-file.ts';
import { printWarnings, type Terminal } from '../output.ts';
import { addConfigOptions } from '../shared-options.ts';

/** `validate [--config F]`: everything `run` checks before it binds, and the warnings. */
export function addValidateCommand(program: Command, terminal: Terminal): void {
  addConfigOptions(program.command('validate'))
    .description('check a config without running it')
    .action(async (options: ConfigOptions) => {
      const request = await readConfigFile(options);
      const { checkConfig } = await import('../check-config.ts');
      const { warnings } = checkConfig(request, terminal.env);
      printWarnings(terminal, warnings);
      terminal.stdout.write(`${request.filename} is valid\n`);
    });
}
