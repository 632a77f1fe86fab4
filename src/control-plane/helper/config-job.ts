/** Reading a config, from text to what the planes run: the work of a load that needs no state and no table. */
import { adaptConfig } from '../admin/adapt-config.ts';
import { localFiles } from '../caddyfile/files.ts';
import { compileConfig } from '../compile/compile.ts';
import type { CompiledConfig, ConfigWarning } from '../compile/compiled.ts';
import { readConfig } from '../config/from-json.ts';
import { hasProgram } from '../health/echo.ts';
import { GeneratedSecrets } from '../data-dir/secrets.ts';
import type { LoadRequest } from '../types.ts';
import { OversizeError } from './oversize-error.ts';

/** Plain data: it crosses to another thread. */
export interface ConfigJob {
  readonly request: Pick<LoadRequest, 'text' | 'adapter' | 'filename'>;
  readonly env: Readonly<Record<string, string>>;
  readonly platform: NodeJS.Platform;
  readonly dataDir: string | null;
  /** What generated secrets are derived from when there is no data directory. */
  readonly secretRoot: string | null;
  /** JSON text of the config in force: an equal one is not compiled again. null = compile it in any case. */
  readonly inForce: string | null;
  /** Only adapt: nothing is validated. */
  readonly adaptOnly: boolean;
}

export interface ConfigResult {
  /** The adapted config as JSON text. */
  readonly text: string;
  readonly warnings: readonly ConfigWarning[];
  /** null = it is the config in force, or was only adapted. */
  readonly compiled: CompiledConfig | null;
}

/**
 * Throws a `ConfigError` that names the place, or an `OversizeError` when the text and the files it imports
 * have more than `maxChars` together.
 */
export function runConfigJob(job: ConfigJob, maxChars: number = Infinity): ConfigResult {
  const { config, warnings, positions } = adaptConfig(job.request, job.env, meteredReader(job.request.text, maxChars));
  const text = JSON.stringify(config);
  if (job.adaptOnly || text === job.inForce) return { text, warnings, compiled: null };
  const secrets = new GeneratedSecrets(job.dataDir ?? undefined, job.secretRoot);
  const { compiled, warnings: later } = compileConfig(readConfig(config, positions), {
    positions,
    generatedSecret: (key) => secrets.secretFor(key),
    platform: job.platform,
    hasProgram: (name) => hasProgram(name, job.env['PATH'] ?? process.env['PATH']),
    ...(job.dataDir === null ? {} : { dataDir: job.dataDir }),
  });
  return { text, warnings: [...warnings, ...later], compiled };
}

/** Reads files for `import` while the sum of all text stays within `maxChars`. */
function meteredReader(text: string, maxChars: number): (path: string) => string {
  const { readFile } = localFiles();
  let chars = text.length;
  if (chars > maxChars) throw new OversizeError();
  return (path) => {
    const imported = readFile(path);
    chars += imported.length;
    if (chars > maxChars) throw new OversizeError();
    return imported;
  };
}
