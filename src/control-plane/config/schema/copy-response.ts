/** Handlers that take parts of an upstream's response, inside `handle_response`. */
import { z } from 'zod';
import { fieldName, statusCode } from './patterns.ts';
import { list, object } from './primitives.ts';

export interface CopyResponseConfig {
  readonly handler: 'copy_response';
  /** A number or a template; '' = the status of the upstream. */
  readonly status_code: string;
}

export interface CopyResponseHeadersConfig {
  readonly handler: 'copy_response_headers';
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

export const copyResponseSchema: z.ZodType<CopyResponseConfig> = object({
  handler: z.literal('copy_response'),
  status_code: statusCode().default(''),
});

export const copyResponseHeadersSchema: z.ZodType<CopyResponseHeadersConfig> = object({
  handler: z.literal('copy_response_headers'),
  include: list(fieldName()).default([]),
  exclude: list(fieldName()).default([]),
}).refine(({ include, exclude }) => include.length === 0 || exclude.length === 0, {
  error: 'expected either include or exclude',
});
