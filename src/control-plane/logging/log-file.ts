/** A log file that grows, is rotated, and whose old pieces are removed. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { Writable } from 'node:stream';
import { createStream } from 'rotating-file-stream';
import type { LogFileSpec, RotationSpec } from '../compile/compiled.ts';
import { pruneRotated, rotatedName } from './rotated-files.ts';

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
  stream.on('rotated', () => void pruneRotated(path, rotation).catch(onTrouble));
  return stream;
}
