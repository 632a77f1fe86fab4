import { adaptConfig } from '../control-plane/admin/adapt-config.ts';
import { compileConfig } from '../control-plane/compile/compile.ts';
import type { CompiledConfig, ConfigWarning } from '../control-plane/compile/compiled.ts';
import { readConfig } from '../control-plane/config/from-json.ts';
import type { Positions } from '../control-plane/config/positions.ts';
import { hasProgram } from '../control-plane/health/echo.ts';
import type { LoadRequest } from '../control-plane/types.ts';

/** Stands in for the secret that `run` would make: as long, and never used. */
const PLACEHOLDER_SECRET = '0'.repeat(64);

export interface CheckedConfig {
  /** The adapted JSON. */
  readonly config: unknown;
  readonly compiled: CompiledConfig;
  readonly warnings: readonly ConfigWarning[];
  /** JSON path → where in the Caddyfile it came from; empty for JSON. */
  readonly positions: Positions;
}

/** Everything `run` checks before it binds. Throws a `ConfigError` that names file and line. */
export function checkConfig(request: LoadRequest, env: NodeJS.ProcessEnv): CheckedConfig {
  const { config, warnings, positions } = adaptConfig(request, env);
  const compiled = compileConfig(readConfig(config, positions), {
    positions,
    generatedSecret: () => PLACEHOLDER_SECRET,
    platform: process.platform,
    hasProgram: (name) => hasProgram(name, env['PATH'] ?? process.env['PATH']),
  });
  return { config, compiled: compiled.compiled, warnings: [...warnings, ...compiled.warnings], positions };
}
