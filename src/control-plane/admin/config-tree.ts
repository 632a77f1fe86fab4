/** Paths into a config: `/apps/http/servers/srv0/routes/0`. */
import { AdminError } from './exchange.ts';

/** The parts of a path below `/config`; empty parts (a trailing slash) are dropped. */
export function splitPath(rest: string): string[] {
  return rest
    .split('/')
    .filter((part) => part !== '')
    .map(decodePart);
}

/** A path segment without its percent-encoding. */
export function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    throw new AdminError(400, `invalid percent-encoding in path: ${part}`, { cause: error });
  }
}

/** The value at a path. A missing leaf is null; a step through something that is no container is a 400. */
export function valueAt(root: unknown, path: readonly string[]): unknown {
  let value: unknown = root;
  for (const [at, part] of path.entries()) value = childOf(value, part, path, at);
  return value ?? null;
}

function childOf(value: unknown, part: string, path: readonly string[], at: number): unknown {
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return items[arrayIndex(part, items.length, path)];
  }
  if (isObject(value)) return Object.hasOwn(value, part) ? value[part] : undefined;
  throw new AdminError(400, `invalid traversal path at: /${path.slice(0, at + 1).join('/')}`);
}

/** Parses an index into an array of `length` items. */
export function arrayIndex(part: string, length: number, path: readonly string[]): number {
  const index = /^\d{1,9}$/.test(part) ? Number(part) : -1;
  if (index === -1) throw new AdminError(400, `[/${path.join('/')}] invalid array index '${part}'`);
  if (index >= length) throw new AdminError(404, `[/${path.join('/')}] array index out of bounds: ${part}`);
  return index;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
