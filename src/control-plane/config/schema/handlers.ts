/** The handlers that contain no routes. */
import { z } from 'zod';
import { authenticationSchema } from './authentication.ts';
import type { AuthenticationConfig } from './authentication.ts';
import { copyResponseHeadersSchema, copyResponseSchema } from './copy-response.ts';
import type { CopyResponseConfig, CopyResponseHeadersConfig } from './copy-response.ts';
import { encodeSchema } from './encode.ts';
import type { EncodeConfig } from './encode.ts';
import { fieldMap, headerOpsSchema, responseHeaderOpsSchema } from './header-ops.ts';
import type { HeaderOpsConfig, ResponseHeaderOpsConfig } from './header-ops.ts';
import { mapSchema } from './map-handler.ts';
import type { MapConfig } from './map-handler.ts';
import { fieldValue, statusCode } from './patterns.ts';
import { accept, duration, flag, list, object, orNull, text, wholeNumber } from './primitives.ts';
import { rewriteShape } from './rewrite.ts';
import type { RewriteFields } from './rewrite.ts';

interface StaticResponseConfig {
  readonly handler: 'static_response';
  /** A number or a template. */
  readonly status_code: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: string;
  readonly close: boolean;
  readonly abort: boolean;
}

interface HeadersConfig {
  readonly handler: 'headers';
  readonly request: HeaderOpsConfig | null;
  readonly response: ResponseHeaderOpsConfig | null;
}

interface RewriteConfig extends RewriteFields {
  readonly handler: 'rewrite';
}

interface ErrorConfig {
  readonly handler: 'error';
  readonly error: string;
  /** A number or a template. */
  readonly status_code: string;
}

export interface RequestBodyConfig {
  readonly handler: 'request_body';
  /** Bytes, 0 = any number. */
  readonly max_size: number;
  /** Milliseconds, 0 = as the server has it. */
  readonly read_timeout: number;
  readonly write_timeout: number;
  /** A template: the body that goes upstream; null = the client's. */
  readonly set: string | null;
}

export interface InvokeConfig {
  readonly handler: 'invoke';
  readonly name: string;
}

interface MetricsConfig {
  readonly handler: 'metrics';
  /** The OpenMetrics format is never offered, so there is nothing to turn off. */
  readonly disable_openmetrics: boolean;
}

interface VarsConfig {
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
  | EncodeConfig
  | CopyResponseConfig
  | CopyResponseHeadersConfig
  | AuthenticationConfig
  | MetricsConfig
  | InvokeConfig;

const staticResponse: z.ZodType<StaticResponseConfig> = object({
  handler: z.literal('static_response'),
  status_code: statusCode().default(''),
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

const rewrite: z.ZodType<RewriteConfig> = object({ handler: z.literal('rewrite'), ...rewriteShape });

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
  status_code: statusCode().default('500'),
});

const MAX_BODY_BYTES = 2 ** 50;
const DAY_MS = 86_400_000;

const requestBody: z.ZodType<RequestBodyConfig> = object({
  handler: z.literal('request_body'),
  max_size: wholeNumber(0, MAX_BODY_BYTES).default(0),
  read_timeout: duration(0, DAY_MS).default(0),
  write_timeout: duration(0, DAY_MS).default(0),
  set: orNull(text()),
});

const invoke: z.ZodType<InvokeConfig> = object({
  handler: z.literal('invoke'),
  name: text('the name of a named route'),
});

const metrics: z.ZodType<MetricsConfig> = object({
  handler: z.literal('metrics'),
  disable_openmetrics: flag().default(false),
});

/** Caddy's standard handlers without a counterpart here. */
export const NOT_YET_HANDLERS: readonly string[] = Object.freeze([
  'acme_server',
  'file_server',
  'intercept',
  'log_append',
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
    encode: encodeSchema,
    invoke,
    authentication: authenticationSchema,
    metrics,
    copy_response: copyResponseSchema,
    copy_response_headers: copyResponseHeadersSchema,
  },
);
