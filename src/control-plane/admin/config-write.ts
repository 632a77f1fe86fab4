/** Changes to a config tree, with the meaning Caddy gives POST, PUT, PATCH and DELETE. */
import { arrayIndex, isObject, valueAt } from './config-tree.ts';
import { AdminError } from './exchange.ts';

export type WriteMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Last part of a path that appends every item of an array. */
const SPREAD = '...';

/** The tree after a write, and whether the value took the place of another one. `root` is not changed. */
export interface Written {
  readonly root: unknown;
  readonly replaced: boolean;
}

export function writeAt(root: unknown, path: readonly string[], method: WriteMethod, value: unknown): Written {
  // The tree hangs on a property, so that the root is written like any other place.
  const holder: { root: unknown } = { root: structuredClone(root) };
  const places = ['root', ...path];
  const spread = places.at(-1) === SPREAD && method === 'POST';
  const target = spread ? places.slice(0, -1) : places;
  const parent = parentOf(holder, target, method === 'PUT');
  const key = target.at(-1) ?? '';
  if (spread) return appendAll(holder, valueAt(parent, [key]), value, path);
  return Array.isArray(parent)
    ? writeItem(holder, parent, key, path, method, value)
    : writeField(holder, parent, key, path, method, value);
}

type Container = unknown[] | Record<string, unknown>;

/** The container the last part of the path is looked up in. PUT makes the objects that are missing. */
function parentOf(holder: Container, path: readonly string[], create: boolean): Container {
  let at: Container = holder;
  for (const [index, part] of path.slice(0, -1).entries()) {
    let next = valueAt(at, [part]);
    if (next === null && create && !Array.isArray(at)) {
      next = {};
      setOwn(at, part, next);
    }
    if (!Array.isArray(next) && !isObject(next)) {
      throw new AdminError(400, `invalid traversal path at: /${path.slice(1, index + 1).join('/')}`);
    }
    at = next;
  }
  return at;
}

function appendAll(holder: { root: unknown }, target: unknown, value: unknown, path: readonly string[]): Written {
  if (!Array.isArray(target)) throw new AdminError(400, `[/${path.join('/')}] is not an array: nothing to append to`);
  if (!Array.isArray(value)) throw new AdminError(400, `a path that ends in /${SPREAD} takes an array`);
  target.push(...value);
  return { root: holder.root, replaced: false };
}

function writeItem(
  holder: { root: unknown },
  items: unknown[],
  key: string,
  path: readonly string[],
  method: WriteMethod,
  value: unknown,
): Written {
  // PUT may insert behind the last item.
  const index = arrayIndex(key, items.length + (method === 'PUT' ? 1 : 0), path);
  const target = items[index];
  if (method === 'PUT') items.splice(index, 0, value);
  else if (method === 'DELETE') items.splice(index, 1);
  else if (method === 'POST' && Array.isArray(target)) target.push(value);
  else items[index] = value;
  return { root: holder.root, replaced: method === 'PATCH' || (method === 'POST' && !Array.isArray(target)) };
}

function writeField(
  holder: { root: unknown },
  object: Record<string, unknown>,
  key: string,
  path: readonly string[],
  method: WriteMethod,
  value: unknown,
): Written {
  const target = Object.hasOwn(object, key) ? object[key] : undefined;
  const exists = target !== undefined && target !== null;
  if (method === 'PUT' && exists) throw new AdminError(409, `[/${path.join('/')}] key already exists: ${key}`);
  if ((method === 'PATCH' || method === 'DELETE') && !exists) missing(path);
  if (method === 'DELETE') delete object[key];
  else if (method === 'POST' && Array.isArray(target)) target.push(value);
  else setOwn(object, key, value);
  return { root: holder.root, replaced: method !== 'PUT' && !(method === 'POST' && Array.isArray(target)) };
}

/** `__proto__` in a path is a key like any other. */
function setOwn(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

function missing(path: readonly string[]): never {
  throw new AdminError(404, `[/${path.join('/')}] there is nothing at this path`);
}
