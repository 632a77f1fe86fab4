import type { Command } from 'commander';

/** The options that name a config file. */
export function addConfigOptions(command: Command): Command {
  return command
    .option('--config <file>', 'config file (default: Caddyfile in this folder)')
    .option('--adapter <name>', 'caddyfile or json (default: by the file name)');
}
