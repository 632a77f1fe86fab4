/**
 * Secrets in a config that is read back. They leave as `***`; a `***` that comes in again stands for the
 * secret that is already there. Both functions change nothing; what they return shares the parts without secrets.
 */
import { ConfigError } from '../../shared/config-error.ts';

const REDACTED = '***';

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

/** Parts without secrets are shared with the tree that comes in: copying a config of 50,000 upstreams stalls the thread. */
function mapSecrets(value: unknown, path: string[], replace: Replace): unknown {
  if (!isRecord(value)) return value;
  let copy: object | null = null;
  for (const [key, item] of Object.entries(value)) {
    path.push(key);
    const mapped = isSecret(key, value) ? replaceTexts(item, path, replace) : mapSecrets(item, path, replace);
    path.pop();
    if (mapped === item) continue;
    copy ??= Array.isArray(value) ? [...(value as readonly unknown[])] : { ...value };
    // Not an assignment: `__proto__` is a key like any other in JSON.
    Object.defineProperty(copy, key, { value: mapped, writable: true, enumerable: true, configurable: true });
  }
  return copy ?? value;
}

/** Secrets of the cookie policy, password hashes of accounts, and credentials among header fields. */
function isSecret(key: string, owner: Readonly<Record<string, unknown>>): boolean {
  if (owner['policy'] === 'cookie') return key === 'secret' || key === 'secrets';
  if (key === 'key' && Object.hasOwn(owner, 'certificate')) return isKeyText(owner[key]);
  if (key === 'password' && Object.hasOwn(owner, 'username')) return true;
  return CREDENTIAL_FIELDS.includes(key.toLowerCase());
}

/** The key itself, not the file it is in. */
function isKeyText(value: unknown): boolean {
  return typeof value === 'string' && (value.includes('PRIVATE KEY') || value === REDACTED);
}

/** A text or a list of texts. Anything else is no secret and no valid config either. */
function replaceTexts(value: unknown, path: string[], replace: Replace): unknown {
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
