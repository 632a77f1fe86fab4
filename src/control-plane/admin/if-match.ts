import { splitPath, valueAt } from './config-tree.ts';
import { etagOf } from './etag.ts';
import { AdminError } from './exchange.ts';

/**
 * Checks `If-Match` against the config as it is shown. The tag names the path it was made for, which
 * may be a parent of the one that is written. 412 when that part changed since.
 */
export async function checkIfMatch(header: string, shown: unknown): Promise<void> {
  if (header === '') return;
  const parts = /^"(\S+) (\S+)"$/.exec(header.trim());
  if (parts === null) throw new AdminError(400, 'malformed If-Match header: expected "<path> <hash>", quoted');
  const path = parts[1] ?? '';
  if (!/^\/config(\/|$)/.test(path)) throw new AdminError(400, `If-Match names no config path: ${path}`);
  const body = showValue(valueAt(shown, splitPath(path.slice('/config'.length))));
  if ((await etagOf(path, body)) !== header.trim())
    throw new AdminError(412, `the config at ${path} changed since it was read`);
}

/** A config value as `GET /config` sends it. */
export function showValue(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
