/** Files that access lines go to. */
import type { AccessSink } from '../../shared/plan/types.ts';
import type { LoggingConfig } from '../config/schema/logging.ts';
import type { FileWriterConfig } from '../config/schema/log-writer.ts';
import type { Compilation } from './compilation.ts';
import type { LogFileSpec, RotationSpec } from './compiled.ts';

const MEBIBYTE = 1_048_576;
const HOUR_MS = 3_600_000;
const UNITS = [
  { unit: 'd', ms: 24 * HOUR_MS, counts: null },
  { unit: 'h', ms: HOUR_MS, counts: [1, 2, 3, 4, 6, 8, 12] },
  { unit: 'm', ms: 60_000, counts: [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30] },
] as const;

export function sinkOf(filename: string): AccessSink {
  return `file/${filename}`;
}

/** One file may be named by several logs, if they agree on how it is rotated. */
export function compileLogFiles(run: Compilation, { logs }: LoggingConfig): LogFileSpec[] {
  const files = new Map<string, LogFileSpec>();
  for (const [name, { writer }] of Object.entries(logs)) {
    if (writer?.output !== 'file') continue;
    const path = `logging.logs.${name}.writer`;
    const spec = compileFile(run, path, writer);
    const other = files.get(spec.sink);
    if (other !== undefined && JSON.stringify(other) !== JSON.stringify(spec)) {
      run.fail(path, `two logs write ${spec.path} with different options: give both the same ones`);
    }
    files.set(spec.sink, spec);
  }
  return [...files.values()];
}

function compileFile(run: Compilation, path: string, writer: FileWriterConfig): LogFileSpec {
  const { filename } = writer;
  if (/[{}]/.test(filename)) run.notYet(`${path}.filename`, 'placeholders in names of log files');
  if (filename === '' || filename.endsWith('/')) run.fail(`${path}.filename`, `'${filename}' is no name of a log file`);
  return {
    sink: sinkOf(filename),
    path: filename,
    mode: writer.mode,
    dirMode: writer.dir_mode,
    rotation: writer.roll ? compileRotation(run, path, writer) : null,
  };
}

function compileRotation(run: Compilation, path: string, writer: FileWriterConfig): RotationSpec {
  return {
    bytes: writer.roll_size_mb * MEBIBYTE,
    interval: writer.roll_interval === 0 ? '' : intervalOf(run, `${path}.roll_interval`, writer.roll_interval),
    ...momentsOf(writer),
    keep: writer.roll_keep,
    keepDays: writer.roll_keep_days,
    gzip: writer.roll_gzip && writer.roll_compression === 'gzip',
    localTime: writer.roll_local_time,
  };
}

/** `roll_at`, and `roll_minutes` of every hour. */
function momentsOf({ roll_at: times, roll_minutes: minutes }: FileWriterConfig): Pick<RotationSpec, 'atMinutes'> {
  const hours = Array.from({ length: 24 }, (_, hour) => hour * 60);
  const moments = new Set([...times, ...hours.flatMap((hour) => minutes.map((minute) => hour + minute))]);
  return moments.size === 0 ? {} : { atMinutes: [...moments].toSorted((a, b) => a - b) };
}

/** Rotation happens at multiples of the interval, so it has to divide a day, or be days. */
function intervalOf(run: Compilation, path: string, intervalMs: number): string {
  for (const { unit, ms, counts } of UNITS) {
    const count = intervalMs / ms;
    if (Number.isInteger(count) && (counts === null || counts.some((allowed) => allowed === count)))
      return `${count}${unit}`;
  }
  return run.fail(path, 'roll_interval must divide a day, such as 15m, 1h or 6h, or be whole days, such as 24h');
}
