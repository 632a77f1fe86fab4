import { isObject } from './config-tree.ts';
import { AdminError } from './exchange.ts';

/** Paths of all objects that have an `@id` (text or number), by id. A second one with the same id is a 400. */
export function indexIds(root: unknown): ReadonlyMap<string, readonly string[]> {
  const index = new Map<string, readonly string[]>();
  // A stack of its own: how deep a config nests is its author's choice.
  const pending: { readonly value: unknown; readonly path: readonly string[] }[] = [{ value: root, path: [] }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, path } = next;
    if (isObject(value)) addId(index, value['@id'], path);
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, child] of Object.entries(value)) pending.push({ value: child, path: [...path, key] });
  }
  return index;
}

function addId(index: Map<string, readonly string[]>, id: unknown, path: readonly string[]): void {
  if (typeof id !== 'string' && typeof id !== 'number') return;
  const key = String(id);
  const other = index.get(key);
  if (other !== undefined) {
    throw new AdminError(400, `indexing config: duplicate ID '${key}' at /${path.join('/')} and /${other.join('/')}`);
  }
  index.set(key, path);
}
