/** Rotated log files: their names, and how many of them stay. */
import { readdir, stat, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { RotationSpec } from '../compile/compiled.ts';

const DAY_MS = 86_400_000;

/** `access-2026-11-30T09-48-41.557-1.log`, with `.gz` behind it. */
export function rotatedName(path: string, time: Date, index: number, { gzip, localTime }: RotationSpec): string {
  const shown = localTime ? new Date(time.getTime() - time.getTimezoneOffset() * 60_000) : time;
  const stamp = shown.toISOString().slice(0, -1).replaceAll(':', '-');
  return `${stemOf(path)}-${stamp}-${index}${extname(path)}${gzip ? '.gz' : ''}`;
}

function stemOf(path: string): string {
  return basename(path, extname(path));
}

/** Removes rotated files beyond `keep`, and those older than `keepDays`. Other files of the folder are left alone. */
export async function pruneRotated(path: string, { keep, keepDays }: RotationSpec): Promise<void> {
  const rotated = /^-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}-\d+$/;
  const stem = stemOf(path);
  const names = (await readdir(dirname(path))).filter((name) => {
    const rest = name.replace(/\.gz$/, '');
    return (
      rest.startsWith(stem) &&
      rest.endsWith(extname(path)) &&
      rotated.test(basename(rest, extname(path)).slice(stem.length))
    );
  });
  const newestFirst = names.toSorted().reverse();
  const surplus = newestFirst.slice(keep === 0 ? newestFirst.length : keep);
  const oldest = keepDays === 0 ? 0 : Date.now() - keepDays * DAY_MS;
  for (const name of newestFirst) {
    const file = join(dirname(path), name);
    if (surplus.includes(name) || (await stat(file)).mtimeMs < oldest) await unlink(file);
  }
}
