/** `writer` of a log: where its lines go. */
import { z } from 'zod';
import { moduleOf } from './module.ts';
import { accept, duration, flag, notYet, object, oneOf, text, wholeNumber } from './primitives.ts';

export interface FileWriterConfig {
  readonly output: 'file';
  readonly filename: string;
  readonly mode: number;
  readonly dir_mode: number;
  readonly roll: boolean;
  /** 0 = no limit. */
  readonly roll_size_mb: number;
  readonly roll_gzip: boolean;
  readonly roll_compression: 'gzip' | 'none';
  readonly roll_local_time: boolean;
  readonly roll_keep: number;
  readonly roll_keep_days: number;
  /** Milliseconds, 0 = none. */
  readonly roll_interval: number;
}

export type WriterConfig = { readonly output: 'stderr' | 'stdout' | 'discard' } | FileWriterConfig;

const YEAR_MS = 365 * 86_400_000;

/** File mode bits, in octal text as Caddy writes them. */
function mode(): z.ZodType<number> {
  return accept('file mode bits such as 0640', (value) => {
    return typeof value === 'string' && /^0?[0-7]{3}$/.test(value) ? Number.parseInt(value, 8) : undefined;
  });
}

const file: z.ZodType<FileWriterConfig> = object({
  output: z.literal('file'),
  filename: text('a path such as /var/log/holdfast/access.log'),
  mode: mode().default(0o600),
  dir_mode: mode().default(0o700),
  roll: flag().default(true),
  roll_size_mb: wholeNumber(0, 1_048_576).default(100),
  roll_gzip: flag().default(true),
  roll_compression: oneOf(['gzip', 'none']).default('gzip'),
  roll_local_time: flag().default(false),
  roll_keep: wholeNumber(0, 100_000).default(10),
  roll_keep_days: wholeNumber(0, 36_500).default(90),
  roll_interval: duration(0, YEAR_MS).default(0),
  roll_minutes: notYet('roll_minutes'),
  roll_at: notYet('roll_at'),
  backup_time_format: notYet('backup_time_format'),
});

export const writerSchema: z.ZodType<WriterConfig> = moduleOf<WriterConfig>({
  key: 'output',
  noun: 'log output',
  modules: () => ({
    stderr: object({ output: z.literal('stderr') }),
    stdout: object({ output: z.literal('stdout') }),
    discard: object({ output: z.literal('discard') }),
    file,
  }),
  notYet: ['net'],
});
