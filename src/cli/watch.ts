import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** Editors write a file in several steps. */
const SETTLE_MS = 200;

/**
 * Calls `changed` after the file was written, one call at a time. The folder is watched, because
 * editors replace the file by another one of that name. Returns what ends it.
 */
export function watchFile(filename: string, changed: () => Promise<void>): () => void {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const watcher = watch(dirname(filename), { persistent: false }, (_, name) => {
    if (name !== basename(filename)) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      running = running.then(changed);
    }, SETTLE_MS);
  });
  // The folder went away: there is nothing left to watch, and the config in force stays.
  watcher.on('error', () => watcher.close());
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}
