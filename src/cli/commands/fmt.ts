import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { readConfigFile } from '../config-file.ts';
import { CliError } from '../failure.ts';
import type { Terminal } from '../output.ts';

interface FmtOptions {
  readonly overwrite?: boolean;
}

/** `fmt [FILE] [--overwrite]`: the standard layout of a Caddyfile. */
export function addFmtCommand(program: Command, terminal: Terminal): void {
  program
    .command('fmt')
    .description('print a Caddyfile in its standard layout')
    .argument('[file]', 'Caddyfile (default: Caddyfile in this folder)')
    .option('--overwrite', 'write the file instead of printing it')
    .action(async (file: string | undefined, options: FmtOptions) => {
      const { text, adapter, filename } = await readConfigFile(file === undefined ? {} : { config: file });
      if (adapter === 'json') throw new CliError(`${filename} is JSON: fmt formats Caddyfiles`, 2);
      const { formatCaddyfile } = await import('../../control-plane/caddyfile/format.ts');
      const formatted = formatCaddyfile(text, filename);
      if (options.overwrite !== true) terminal.stdout.write(formatted);
      // A file that is as it should be keeps its time of change: watchers reload on it.
      else if (formatted !== text) await overwrite(filename, formatted);
    });
}

async function overwrite(filename: string, text: string): Promise<void> {
  await writeFile(filename, text).catch((error: unknown) => {
    throw new CliError(`cannot write ${filename}: ${error instanceof Error ? error.message : String(error)}`, 1, {
      cause: error,
    });
  });
}
