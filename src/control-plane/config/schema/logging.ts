/**
 * `logging`. Application lines always go to stderr; access lines to one output. What would send lines
 * elsewhere, or drop some of them, is refused until it exists.
 */
import { z } from 'zod';
import { moduleOf } from './module.ts';
import { list, mapOf, notYet, object, oneOf, orNull, text } from './primitives.ts';

export type LogOutput = 'stderr' | 'stdout' | 'discard';

export interface LogConfig {
  /** null = not configured: stderr. */
  readonly writer: { readonly output: LogOutput } | null;
  readonly level: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR' | null;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

export interface LoggingConfig {
  /** By name; `default` is the one every line goes to that no other takes. */
  readonly logs: Readonly<Record<string, LogConfig>>;
}

const writer = moduleOf<{ output: LogOutput }>({
  key: 'output',
  noun: 'log output',
  modules: () => ({
    stderr: object({ output: z.literal('stderr') }),
    stdout: object({ output: z.literal('stdout') }),
    discard: object({ output: z.literal('discard') }),
  }),
  notYet: ['file', 'net'],
});

const encoder = moduleOf<{ format: 'json' }>({
  key: 'format',
  noun: 'log format',
  modules: () => ({ json: object({ format: z.literal('json') }) }),
  notYet: ['console', 'filter', 'append', 'journald'],
});

const log: z.ZodType<LogConfig> = object({
  writer: orNull(writer),
  encoder: encoder.optional(),
  level: orNull(oneOf(['DEBUG', 'INFO', 'WARN', 'ERROR'])),
  include: list(text('the name of a logger')).default([]),
  exclude: list(text('the name of a logger')).default([]),
  sampling: notYet('sampling'),
  core: notYet('core'),
  with_caller: notYet('with_caller'),
  with_stacktrace: notYet('with_stacktrace'),
});

export const loggingSchema: z.ZodType<LoggingConfig> = object({
  logs: mapOf(log).default({}),
  sink: notYet('logging.sink'),
});
