/** The handlers that contain no routes. */
import { z } from 'zod';
import { fieldMap, headerOpsSchema, responseHeaderOpsSchema } from './header-ops.ts';
import type { HeaderOpsConfig, ResponseHeaderOpsConfig } from './header-ops.ts';
import { mapSchema } from './map-handler.ts';
import type { MapConfig } from './map-handler.ts';
import { fieldValue, hasPlaceholder, method, re2Pattern } from './patterns.ts';
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
  readonly path_regexp: readonly { readonly find: string; readonly replace: string }[];
}

export interface ErrorConfig {
  readonly handler: 'error';
  readonly error: string;
  /** A number or a template. */
  readonly status_code: string;
}

export interface RequestBodyConfig {
  readonly handler: 'request_body';
  /** Bytes, 0 = any number. */
  readonly max_size: number;
}

export interface InvokeConfig {
  readonly handler: 'invoke';
  readonly name: string;
}

export interface VarsConfig {
  readonly handler: 'vars';
  readonly vars: Readonly<Record<string, string>>;
}

export type LeafHandlerConfig =
  | StaticResponseConfig
  | HeadersConfig
  | RewriteConfig
  | VarsConfig
  | ErrorConfig
  | MapConfig
  | RequestBodyConfig
  | InvokeConfig
  | ReverseProxyConfig;

const statusCode = accept('a status code from 200 to 599, or a placeholder', (value) => {
  const word = typeof value === 'number' ? String(value) : value;
  if (typeof word !== 'string') return undefined;
  return /^[2-5]\d\d$/.test(word) || hasPlaceholder(word) ? word : undefined;
});

const staticResponse: z.ZodType<StaticResponseConfig> = object({
  handler: z.literal('static_response'),
  status_code: statusCode.default(''),
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

const pathRegexp = object({
  find: re2Pattern().refine((value) => value !== '', { error: 'expected an expression to find, found an empty one' }),
  replace: text().default(''),
});

const rewrite: z.ZodType<RewriteConfig> = object({
  handler: z.literal('rewrite'),
  method: method().default(''),
  uri: fieldValue().default(''),
  strip_path_prefix: text().default(''),
  strip_path_suffix: text().default(''),
  uri_substring: list(substring).default([]),
  path_regexp: list(pathRegexp).default([]),
  query: notYet('uri query'),
});

const value = accept('a text, a number or true/false', (found) => {
  return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean'
    ? String(found)
    : undefined;
});

/** Caddy puts the variables beside `handler`. `log_skip` silences the access log. */
const vars: z.ZodType<VarsConfig> = z
  .object({ handler: z.literal('vars') })
  .catchall(value)
  .transform(({ handler, ...rest }) => ({ handler, vars: rest }));

const error: z.ZodType<ErrorConfig> = object({
  handler: z.literal('error'),
  error: text().default(''),
  status_code: statusCode.default('500'),
});

const MAX_BODY_BYTES = 2 ** 50;

const requestBody: z.ZodType<RequestBodyConfig> = object({
  handler: z.literal('request_body'),
  max_size: wholeNumber(0, MAX_BODY_BYTES).default(0),
  read_timeout: notYet('request_body read_timeout'),
  write_timeout: notYet('request_body write_timeout'),
  set: notYet('request_body set'),
});

const invoke: z.ZodType<InvokeConfig> = object({
  handler: z.literal('invoke'),
  name: text('the name of a named route'),
});

/** Caddy's standard handlers without a counterpart here. */
export const NOT_YET_HANDLERS: readonly string[] = Object.freeze([
  'acme_server',
  'authentication',
  'copy_response',
  'copy_response_headers',
  'encode',
  'file_server',
  'intercept',
  'log_append',
  'metrics',
  'push',
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
    error,
    map: mapSchema,
    request_body: requestBody,
    invoke,
    reverse_proxy: reverseProxySchema,
  },
);
