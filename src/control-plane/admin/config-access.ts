import { setImmediate as nextTurn } from 'node:timers/promises';
import { redactSecrets, restoreSecrets } from '../config/redact.ts';
import { Mutex } from '../reload/mutex.ts';
import { parseJson, requireJson } from './body.ts';
import { indexIds } from './config-ids.ts';
import { splitPath, valueAt } from './config-tree.ts';
import { writeAt, type WriteMethod } from './config-write.ts';
import type { AdminContext } from './context.ts';
import { etagOf } from './etag.ts';
import { AdminError, emptyReply, type AdminReply, type AdminRequest } from './exchange.ts';
import { checkIfMatch, showValue } from './if-match.ts';
import { mustRevalidate, refusing } from './loading.ts';

/** Reads and writes parts of the config in force, for `/config` and `/id`. */
export class ConfigAccess {
  readonly #context: AdminContext;
  /** A write reads, changes and loads: two at a time would lose one of them. */
  readonly #writing = new Mutex();

  constructor(context: AdminContext) {
    this.#context = context;
  }

  /** The path below `/config` of an object with that `@id`; 404 when there is none. */
  pathOfId(id: string): string {
    const path = indexIds(this.#context.plane.config()).get(id);
    if (path === undefined) throw new AdminError(404, `unknown object ID '${id}'`);
    return path.map((part) => `/${encodeURIComponent(part)}`).join('');
  }

  /** `rest`: the path below `/config`. */
  async read(rest: string): Promise<AdminReply> {
    const body = showValue(valueAt(redactSecrets(this.#context.plane.config()), splitPath(rest)));
    const etag = await etagOf(`/config${rest}`, body);
    return { status: 200, headers: { 'Content-Type': 'application/json', ETag: etag }, body };
  }

  async write(method: WriteMethod, rest: string, request: AdminRequest): Promise<AdminReply> {
    const value = method === 'DELETE' ? undefined : await readValue(request);
    await this.#writing.run(() => this.#change(method, rest, value, request));
    return emptyReply();
  }

  async #change(method: WriteMethod, rest: string, value: unknown, request: AdminRequest): Promise<void> {
    const { plane, load } = this.#context;
    const current = plane.config();
    await nextTurn();
    await checkIfMatch(request.header('if-match'), redactSecrets(current));
    const written = writeAt(current, splitPath(rest), method, value);
    await nextTurn();
    indexIds(written.root);
    await nextTurn();
    await refusing('loading new config', () => {
      // A new place has no secret to keep, and its neighbour's must not slip in.
      const root = restoreSecrets(written.root, written.replaced ? current : null);
      return load({
        text: JSON.stringify(root ?? null),
        adapter: 'json',
        filename: 'config',
        force: mustRevalidate(request),
      });
    });
  }
}

async function readValue(request: AdminRequest): Promise<unknown> {
  requireJson(request.header('content-type'));
  return parseJson(await request.body());
}
