import type { Command } from 'commander';
import { readConfigFile, type ConfigOptions } from '../config-file.ts';
import { printWarnings, type Terminal } from '../output.ts';
import { addConfigOptions } from '../shared-options.ts';

interface AdaptOptions extends ConfigOptions {
  readonly pretty?: boolean;
}

/** `adapt [--config F] [--pretty]`: Caddy JSON on stdout. */
export function addAdaptCommand(program: Command, terminal: Terminal): void {
  addConfigOptions(program.command('adapt'))
    .description('print the JSON a config adapts to')
    .option('--pretty', 'indent the JSON')
    .action(async (options: AdaptOptions) => {
      const { adaptConfig } = await import('../../control-plane/admin/adapt-config.ts');
      const { config, warnings } = adaptConfig(await readConfigFile(options), terminal.env);
      printWarnings(terminal, warnings);
      terminal.stdout.write(`${JSON.stringify(config, null, options.pretty === true ? '\t' : undefined)}\n`);
    });
}
