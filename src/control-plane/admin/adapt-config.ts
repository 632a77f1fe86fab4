import { ConfigError, type ConfigPosition } from '../../shared/config-error.ts';
import { adaptCaddyfile } from '../caddyfile/adapt.ts';
import type { LoadRequest } from '../types.ts';
import type { Adapted } from './context.ts';

export interface AdaptedConfig extends Adapted {
  /** JSON path → where in the Caddyfile it came from; empty for JSON. */
  readonly positions: ReadonlyMap<string, ConfigPosition>;
}

/** Config text → JSON. `readFile` is how imports reach files. Throws a `ConfigError` that names the place. */
export function adaptConfig(
  { text, adapter, filename }: Pick<LoadRequest, 'text' | 'adapter' | 'filename'>,
  env: NodeJS.ProcessEnv,
  readFile?: (path: string) => string,
): AdaptedConfig {
  if (adapter === 'caddyfile')
    return adaptCaddyfile(text, { filename, env, ...(readFile === undefined ? {} : { readFile }) });
  return { config: parseConfigJson(text, filename), warnings: [], positions: new Map() };
}

function parseConfigJson(text: string, filename: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`${filename} is not JSON: ${reason}`, null, { cause: error });
  }
}
