import type { Command } from 'commander';
import { readConfigFile, type ConfigOptions } from '../config-file.ts';
import { printWarnings, type Terminal } from '../output.ts';
import { addConfigOptions } from '../shared-options.ts';

/** Stands in for the secret that `run` would make: as long, and never used. */
const PLACEHOLDER_SECRET = '0'.repeat(64);

/** `validate [--config F]`: everything `run` checks before it binds, and the warnings. */
export function addValidateCommand(program: Command, terminal: Terminal): void {
  addConfigOptions(program.command('validate'))
    .description('check a config without running it')
    .action(async (options: ConfigOptions) => {
      const request = await readConfigFile(options);
      const { adaptConfig } = await import('../../control-plane/admin/adapt-config.ts');
      const { compileConfig } = await import('../../control-plane/compile/compile.ts');
      const { readConfig } = await import('../../control-plane/config/from-json.ts');
      const { config, warnings, positions } = adaptConfig(request, terminal.env);
      const compiled = compileConfig(readConfig(config, positions), {
        positions,
        generatedSecret: () => PLACEHOLDER_SECRET,
        platform: process.platform,
      });
      printWarnings(terminal, [...warnings, ...compiled.warnings]);
      terminal.stdout.write(`${request.filename} is valid\n`);
    });
}
