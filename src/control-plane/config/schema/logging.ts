/**
 * `logging`. Application lines always go to stderr; access lines where the log of their site says. What would send lines
 * elsewhere, or drop some of the application's, is refused until it exists.
 */
import type { z } from 'zod';
import type { SamplingPlan } from '../../../shared/plan/types.ts';
import { encoderSchema, type EncoderConfig } from './log-encoder.ts';
import { writerSchema, type WriterConfig } from './log-writer.ts';
import { duration, list, mapOf, notYet, object, oneOf, orNull, text, wholeNumber } from './primitives.ts';

export interface LogConfig {
  /** null = not configured: stderr. */
  readonly writer: WriterConfig | null;
  /** null = JSON as it is. */
  readonly encoder: EncoderConfig | null;
  readonly level: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR' | null;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** null = every line. */
  readonly sampling: SamplingPlan | null;
}

export interface LoggingConfig {
  /** By name; `default` is the one every line goes to that no other takes. */
  readonly logs: Readonly<Record<string, LogConfig>>;
}

/** zap's defaults, which are Caddy's. */
const sampling: z.ZodType<SamplingPlan> = object({
  interval: duration(1, 86_400_000).default(1000),
  first: wholeNumber(0, 1_000_000).default(100),
  thereafter: wholeNumber(0, 1_000_000).default(100),
}).transform(({ interval, first, thereafter }) => ({ intervalMs: interval, first, thereafter }));

const log: z.ZodType<LogConfig> = object({
  writer: orNull(writerSchema),
  encoder: orNull(encoderSchema),
  level: orNull(oneOf(['DEBUG', 'INFO', 'WARN', 'ERROR'])),
  include: list(text('the name of a logger')).default([]),
  exclude: list(text('the name of a logger')).default([]),
  sampling: orNull(sampling),
  core: notYet('core'),
  with_caller: notYet('with_caller'),
  with_stacktrace: notYet('with_stacktrace'),
});

export const loggingSchema: z.ZodType<LoggingConfig> = object({
  logs: mapOf(log).default({}),
  sink: notYet('logging.sink'),
});
