/** Rotation of a log file at times of the day, beside that by its size. */
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { LogFileSpec, RotationSpec } from '../compile/compiled.ts';
import { pruneRotated, rotatedName } from './rotated-files.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;

/** From now to the next of `minutes` (counted from midnight, sorted), at least one millisecond. */
export function msToNext(wallMs: number, minutes: readonly number[], localTime: boolean): number {
  const offsetMs = localTime ? new Date(wallMs).getTimezoneOffset() * MINUTE_MS : 0;
  const sinceMidnightMs = (wallMs - offsetMs) % (DAY_MINUTES * MINUTE_MS);
  const next = minutes.find((minute) => minute * MINUTE_MS > sinceMidnightMs) ?? minutes[0]! + DAY_MINUTES;
  return next * MINUTE_MS - sinceMidnightMs;
}

/**
 * Moves the file away under the name of a rotated one; null when there is nothing in it. Whoever has it open goes on
 * writing into it under its new name.
 */
export async function moveAway(spec: LogFileSpec, rotation: RotationSpec, wallMs: number): Promise<string | null> {
  const found = await stat(spec.path).catch(() => null);
  if (found === null || found.size === 0) return null;
  for (let index = 1; ; index += 1) {
    const name = rotatedName(spec.path, new Date(wallMs), index, { ...rotation, gzip: false });
    const moved = join(dirname(spec.path), name);
    if (await isTaken(moved)) continue;
    await rename(spec.path, moved);
    return moved;
  }
}

async function isTaken(path: string): Promise<boolean> {
  const found = await Promise.all([path, `${path}.gz`].map((name) => stat(name).catch(() => null)));
  return found.some((entry) => entry !== null);
}

/** Nobody writes into the file any more: packs it, and removes what is too much or too old. */
export async function finishRotated(path: string, moved: string, rotation: RotationSpec): Promise<void> {
  if (rotation.gzip) {
    const { mode } = await stat(moved);
    await pipeline(createReadStream(moved), createGzip(), createWriteStream(`${moved}.gz`, { mode }));
    await unlink(moved);
  }
  await pruneRotated(path, rotation);
}
