/** `writer` of a log: where its lines go. */
import { z } from 'zod';
import { moduleOf } from './module.ts';
import { accept, duration, flag, list, notYet, object, oneOf, text, wholeNumber } from './primitives.ts';

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
  /** Minutes of every hour. */
  readonly roll_minutes: readonly number[];
  /** Minutes from midnight. */
  readonly roll_at: readonly number[];
}

export interface NetWriterConfig {
  readonly output: 'net';
  readonly address: string;
  readonly dial_timeout: number;
  readonly soft_start: boolean;
}

export type WriterConfig =
  | { readonly output: 'stderr' | 'stdout' }
  | { readonly output: 'discard' }
  | FileWriterConfig
  | NetWriterConfig;

const YEAR_MS = 365 * 86_400_000;

/** File mode bits, in octal text as Caddy writes them. */
function mode(): z.ZodType<number> {
  return accept('file mode bits such as 0640', (value) => {
    return typeof value === 'string' && /^0?[0-7]{3}$/.test(value) ? Number.parseInt(value, 8) : undefined;
  });
}

/** Minutes from midnight. */
function timeOfDay(): z.ZodType<number> {
  return accept('a time of the day from 00:00 to 23:59', (value) => {
    const match = typeof value === 'string' ? /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(value) : null;
    return match === null ? undefined : Number(match[1]) * 60 + Number(match[2]);
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
  roll_minutes: list(wholeNumber(0, 59)).default([]),
  roll_at: list(timeOfDay()).default([]),
  backup_time_format: notYet('backup_time_format'),
});

const HOUR_MS = 3_600_000;

const net: z.ZodType<NetWriterConfig> = object({
  output: z.literal('net'),
  address: text('an address such as logs.internal:514, udp/10.0.0.5:514 or unix//run/log.sock'),
  dial_timeout: duration(1, HOUR_MS).default(10_000),
  soft_start: flag().default(false),
});

export const writerSchema: z.ZodType<WriterConfig> = moduleOf<WriterConfig>({
  key: 'output',
  noun: 'log output',
  modules: () => ({
    stderr: object({ output: z.literal('stderr') }),
    stdout: object({ output: z.literal('stdout') }),
    discard: object({ output: z.literal('discard') }),
    file,
    net,
  }),
  notYet: [],
});
