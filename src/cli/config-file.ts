import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import type { LoadRequest } from '../control-plane/types.ts';
import { CliError } from './failure.ts';

/** Used when `--config` is absent, as Caddy does. */
const DEFAULT_CONFIG_FILE = 'Caddyfile';

export interface ConfigOptions {
  readonly config?: string;
  readonly adapter?: string;
}

/** Reads the config file a command names, or `Caddyfile` in the current folder. */
export async function readConfigFile(options: ConfigOptions): Promise<LoadRequest> {
  const filename = options.config ?? DEFAULT_CONFIG_FILE;
  const adapter = adapterFor(filename, options.adapter);
  try {
    return { text: await readFile(filename, 'utf8'), adapter, filename };
  } catch (error) {
    throw new CliError(readFailure(filename, options.config === undefined, error), 1, { cause: error });
  }
}

/** `--adapter` wins; otherwise `.json` files are JSON and all others Caddyfiles. */
function adapterFor(filename: string, adapter: string | undefined): LoadRequest['adapter'] {
  if (adapter === undefined) return extname(filename) === '.json' ? 'json' : 'caddyfile';
  if (adapter === 'json' || adapter === 'caddyfile') return adapter;
  throw new CliError(`unknown adapter '${adapter}': use caddyfile or json`, 2);
}

function readFailure(filename: string, isDefault: boolean, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT' && isDefault)
    return `no ${basename(filename)} in this folder: name a config file with --config`;
  if (code === 'ENOENT') return `config file ${filename} does not exist`;
  if (code === 'EISDIR') return `config file ${filename} is a folder`;
  return `cannot read config file ${filename}: ${error instanceof Error ? error.message : String(error)}`;
}
