/** A log file that grows, is rotated, and whose old pieces are removed. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, stat, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { Writable } from 'node:stream';
import { createStream } from 'rotating-file-stream';
import type { LogFileSpec, RotationSpec } from '../compile/compiled.ts';

const DAY_MS = 86_400_000;

/** Opens the file for appending; missing folders are made. Rejects when it cannot be written. */
export async function openLogFile(spec: LogFileSpec, onTrouble: (error: unknown) => void): Promise<Writable> {
  await mkdir(dirname(spec.path), { recursive: true, mode: spec.dirMode });
  const stream = spec.rotation === null ? plainFile(spec) : rotatingFile(spec, spec.rotation, onTrouble);
  await once(stream, 'open');
  stream.on('error', onTrouble);
  return stream;
}

function plainFile({ path, mode }: LogFileSpec): Writable {
  return createWriteStream(path, { flags: 'a', mode });
}

function rotatingFile(
  { path, mode }: LogFileSpec,
  rotation: RotationSpec,
  onTrouble: (error: unknown) => void,
): Writable {
  const named = (time: number | Date | null, index = 1): string =>
    time === null ? basename(path) : rotatedName(path, new Date(time), index, rotation);
  const stream = createStream(named, {
    path: dirname(path),
    mode,
    ...(rotation.bytes === 0 ? {} : { size: `${rotation.bytes}B` }),
    ...(rotation.interval === '' ? {} : { interval: rotation.interval }),
    ...(rotation.gzip ? { compress: 'gzip' as const } : {}),
  });
  stream.on('warning', onTrouble);
  stream.on('rotated', () => void prune(path, rotation).catch(onTrouble));
  return stream;
}

/** `access-2026-11-30T09-48-41.557-1.log`, with `.gz` behind it. */
function rotatedName(path: string, time: Date, index: number, { gzip, localTime }: RotationSpec): string {
  const shown = localTime ? new Date(time.getTime() - time.getTimezoneOffset() * 60_000) : time;
  const stamp = shown.toISOString().slice(0, -1).replaceAll(':', '-');
  return `${stemOf(path)}-${stamp}-${index}${extname(path)}${gzip ? '.gz' : ''}`;
}

function stemOf(path: string): string {
  return basename(path, extname(path));
}

/** Removes rotated files beyond `keep`, and those older than `keepDays`. Other files of the folder are left alone. */
async function prune(path: string, { keep, keepDays }: RotationSpec): Promise<void> {
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
