/**
 * Secrets in a config that is read back. They leave as `***`; a `***` that comes in again stands for the
 * secret that is already there. Both functions return a new tree and change nothing.
 */
import { ConfigError } from '../../shared/config-error.ts';

export const REDACTED = '***';

/** Header fields whose values are credentials, lower case. */
const CREDENTIAL_FIELDS: readonly string[] = Object.freeze(['authorization', 'proxy-authorization', 'cookie']);

/** A config tree with every secret replaced by `***`. */
export function redactSecrets(json: unknown): unknown {
  return mapSecrets(json, [], () => REDACTED);
}

/**
 * `written` with every `***` at the place of a secret replaced by what `current` has at the same path:
 * whoever moves a handler writes its secret again. Throws a ConfigError that names the path when there
 * is nothing to keep, rather than hand one site the secret of another.
 */
export function restoreSecrets(written: unknown, current: unknown): unknown {
  return mapSecrets(written, [], (value, path) => {
    if (value !== REDACTED) return value;
    const kept = valueAt(current, path);
    if (typeof kept === 'string' && kept !== REDACTED) return kept;
    throw new ConfigError(
      `${path.join('.')}: '***' keeps the secret that is there, but there is none: write the secret itself`,
    );
  });
}

type Path = readonly string[];
type Replace = (secret: string, path: Path) => string;

function mapSecrets(value: unknown, path: Path, replace: Replace): unknown {
  if (Array.isArray(value)) return value.map((item, index) => mapSecrets(item, [...path, String(index)], replace));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => {
    const place = [...path, key];
    return [key, isSecret(key, value) ? replaceTexts(item, place, replace) : mapSecrets(item, place, replace)];
  });
  return Object.fromEntries(entries);
}

/** Secrets of the cookie policy, and credentials among header fields. */
function isSecret(key: string, owner: Readonly<Record<string, unknown>>): boolean {
  if (owner['policy'] === 'cookie') return key === 'secret' || key === 'secrets';
  return CREDENTIAL_FIELDS.includes(key.toLowerCase());
}

/** A text or a list of texts. Anything else is no secret and no valid config either. */
function replaceTexts(value: unknown, path: Path, replace: Replace): unknown {
  if (typeof value === 'string') return value === '' ? value : replace(value, path);
  if (Array.isArray(value)) return value.map((item, index) => replaceTexts(item, [...path, String(index)], replace));
  return mapSecrets(value, path, replace);
}

/** Keys stay apart: a host name may hold dots. */
function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const key of path) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object';
}
