/** Reads the JSON form of a config: validates it, fills in defaults, freezes it. */
import { ConfigError } from '../../shared/config-error.ts';
import { deepFreeze } from './deep-freeze.ts';
import { configErrorAt } from './positions.ts';
import type { Positions } from './positions.ts';
import { configSchema } from './schema/config.ts';
import type { Config } from './schema/config.ts';
import { NOT_YET } from './schema/primitives.ts';

/** Nesting that no sensible config reaches and that would overflow the stack of a recursive reader. */
const MAX_DEPTH = 200;

/**
 * Throws a ConfigError that names the first fault: its JSON path, what was expected, what was found,
 * and `, at file:line` when `positions` knows a part of the path. `@id` is accepted in any object.
 */
export function readConfig(json: unknown, positions: Positions = new Map()): Config {
  const result = configSchema.safeParse(withoutIds(json, 0));
  if (result.success) return deepFreeze(result.data);
  const [first, ...others] = result.error.issues;
  if (first === undefined) throw new ConfigError('the config is not valid');
  throw faultOf(first, others.length, positions);
}

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}

/** A word that does not exist yet stands for itself; everything else needs its path to be understood. */
function faultOf(issue: Issue, others: number, positions: Positions): ConfigError {
  const path = issue.path.map(String).join('.');
  const more = others === 0 ? '' : ` (and ${others} more)`;
  if (issue.params?.[NOT_YET] === true) return configErrorAt(positions, path, issue.message);
  const place = path === '' ? 'the config' : path;
  const fault = configErrorAt(positions, path, `${place}: ${issue.message}${more}`);
  return fault.position === null ? new ConfigError(`${place}: ${issue.message}${more}`) : fault;
}

/** A copy without Caddy's `@id` marks, which mean something to the admin API only. */
function withoutIds(value: unknown, depth: number): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (depth > MAX_DEPTH) throw new ConfigError(`the config is nested more than ${MAX_DEPTH} levels deep`);
  if (Array.isArray(value)) return value.map((item) => withoutIds(item, depth + 1));
  const entries = Object.entries(value).filter(([key]) => key !== '@id');
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutIds(item, depth + 1)]));
}
