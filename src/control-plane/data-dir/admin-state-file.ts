import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Logger } from '../../shared/log.ts';
import type { AdminSnapshot } from '../upstreams/admin-states.ts';

const FILE = 'admin-states.json';

const snapshotSchema = z.array(
  z.object({
    key: z.string(),
    state: z.enum(['ready', 'drain', 'maint']).nullable(),
    deadline: z.number(),
    stateOrder: z.number(),
    weight: z.number().nullable(),
    weightOrder: z.number(),
  }),
);

/** What operators said about servers, kept over restarts when there is a data directory. */
export class AdminStateFile {
  readonly #dataDir: string | undefined;
  readonly #log: Logger;

  constructor(dataDir: string | undefined, log: Logger) {
    this.#dataDir = dataDir;
    this.#log = log;
  }

  /** Empty when nothing was kept. A damaged file is reported and left alone: it must not stop a start. */
  read(): AdminSnapshot {
    if (this.#dataDir === undefined) return [];
    try {
      return snapshotSchema.parse(JSON.parse(readFileSync(join(this.#dataDir, FILE), 'utf8')));
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
      this.#log.warn(`${join(this.#dataDir, FILE)} cannot be read: all servers start as ready`, {
        error: String(error),
      });
      return [];
    }
  }

  /** Written beside and renamed, so that a crash leaves the old or the new file. */
  write(snapshot: AdminSnapshot): void {
    if (this.#dataDir === undefined) return;
    const path = join(this.#dataDir, FILE);
    try {
      mkdirSync(this.#dataDir, { recursive: true, mode: 0o700 });
      writeFileSync(`${path}.new`, JSON.stringify(snapshot), { mode: 0o600 });
      renameSync(`${path}.new`, path);
    } catch (error) {
      this.#log.error('admin states could not be kept: a restart will forget them', { path, error: String(error) });
    }
  }
}
