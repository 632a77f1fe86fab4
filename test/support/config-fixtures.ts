/** Small configs as a Caddyfile adapts to them, for tests. */
import type { ConfigPosition } from '../../src/shared/config-error.ts';
import { readConfig } from '../../src/control-plane/config/from-json.ts';
import { compileConfig } from '../../src/control-plane/compile/compile.ts';
import type { CompileResult } from '../../src/control-plane/compile/compile.ts';
import type { CompileContext } from '../../src/control-plane/compile/compilation.ts';

export type Json = Record<string, unknown>;

export const SECRET = '6b7fd0f2a3d14c5b9e8f01726354a9bc';

/** A server on :8080 with one catch-all route. */
export function configOf(handle: readonly Json[], server: Json = {}, rest: Json = {}): Json {
  const srv0 = { listen: [':8080'], routes: [{ handle }], ...server };
  return { ...rest, apps: { http: { servers: { srv0 } } } };
}

export function proxy(dials: readonly string[], rest: Json = {}): Json {
  return { handler: 'reverse_proxy', upstreams: dials.map((dial) => ({ dial })), ...rest };
}

export function policy(selection: Json): Json {
  return { load_balancing: { selection_policy: selection } };
}

export function at(line: number): ConfigPosition {
  return { file: 'Caddyfile', line };
}

export function compileJson(json: Json, overrides: Partial<CompileContext> = {}): CompileResult {
  const context: CompileContext = {
    positions: new Map(),
    generatedSecret: (key) => `generated for ${key}, long enough to be one`,
    platform: 'linux',
    ...overrides,
  };
  return compileConfig(readConfig(json, context.positions), context);
}
