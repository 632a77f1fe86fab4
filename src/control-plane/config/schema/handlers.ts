/** The handlers that contain no routes. */
import { z } from 'zod';
import { fieldMap, headerOpsSchema, responseHeaderOpsSchema } from './header-ops.ts';
import type { HeaderOpsConfig, ResponseHeaderOpsConfig } from './header-ops.ts';
import { fieldValue, hasPlaceholder, method } from './patterns.ts';
import { accept, flag, list, notYet, object, orNull, text, wholeNumber } from './primitives.ts';
import { reverseProxySchema } from './reverse-proxy.ts';
import type { ReverseProxyConfig } from './reverse-proxy.ts';

export interface StaticResponseConfig {
  readonly handler: 'static_response';
  /** A number or a template. */
  readonly status_code: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: string;
  readonly close: boolean;
  readonly abort: boolean;
}

export interface HeadersConfig {
  readonly handler: 'headers';
  readonly request: HeaderOpsConfig | null;
  readonly response: ResponseHeaderOpsConfig | null;
}

export interface RewriteConfig {
  readonly handler: 'rewrite';
  readonly method: string;
  readonly uri: string;
  readonly strip_path_prefix: string;
  readonly strip_path_suffix: string;
  readonly uri_substring: readonly { readonly find: string; readonly replace: string; readonly limit: number }[];
}

export interface VarsConfig {
  readonly handler: 'vars';
  readonly vars: Readonly<Record<string, string>>;
}

export type LeafHandlerConfig = StaticResponseConfig | HeadersConfig | RewriteConfig | VarsConfig | ReverseProxyConfig;

const statusCode = accept('a status code from 200 to 599, or a placeholder', (value) => {
  const word = typeof value === 'number' ? String(value) : value;
  if (typeof word !== 'string') return undefined;
  return /^[2-5]\d\d$/.test(word) || hasPlaceholder(word) ? word : undefined;
});

const staticResponse: z.ZodType<StaticResponseConfig> = object({
  handler: z.literal('static_response'),
  status_code: statusCode.default('200'),
  headers: fieldMap(list(fieldValue())).default({}),
  body: text().default(''),
  close: flag().default(false),
  abort: flag().default(false),
});

const headers: z.ZodType<HeadersConfig> = object({
  handler: z.literal('headers'),
  request: orNull(headerOpsSchema),
  response: orNull(responseHeaderOpsSchema),
});

const substring = object({
  find: text().refine((value) => value !== '', { error: 'expected a text to find, found an empty one' }),
  replace: text().default(''),
  limit: wholeNumber(0, 1_000_000).default(0),
});

const rewrite: z.ZodType<RewriteConfig> = object({
  handler: z.literal('rewrite'),
  method: method().default(''),
  uri: fieldValue().default(''),
  strip_path_prefix: text().default(''),
  strip_path_suffix: text().default(''),
  uri_substring: list(substring).default([]),
  path_regexp: notYet('uri path_regexp'),
  query: notYet('uri query'),
});

const value = accept('a text, a number or true/false', (found) => {
  return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean'
    ? String(found)
    : undefined;
});

/** Caddy puts the variables beside `handler`. `log_skip` would have to silence the access log. */
const vars: z.ZodType<VarsConfig> = z
  .object({ handler: z.literal('vars'), log_skip: notYet('log_skip') })
  .catchall(value)
  .transform(({ handler, ...rest }) => ({ handler, vars: rest }));

/** Caddy's standard handlers without a counterpart here. */
export const NOT_YET_HANDLERS: readonly string[] = Object.freeze([
  'acme_server',
  'authentication',
  'copy_response',
  'copy_response_headers',
  'encode',
  'error',
  'file_server',
  'intercept',
  'invoke',
  'log_append',
  'map',
  'metrics',
  'push',
  'request_body',
  'templates',
  'timeouts',
  'tracing',
]);

export const leafHandlers: Readonly<Record<LeafHandlerConfig['handler'], z.ZodType<LeafHandlerConfig>>> = Object.freeze(
  {
    static_response: staticResponse,
    headers,
    rewrite,
    vars,
    reverse_proxy: reverseProxySchema,
  },
);
