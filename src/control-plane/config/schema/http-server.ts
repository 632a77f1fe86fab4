/** One server of `apps.http.servers`. */
import { z } from 'zod';
import { listenerWrappersSchema } from './listener-wrappers.ts';
import type { ListenerWrapperConfig } from './listener-wrappers.ts';
import { moduleOf } from './module.ts';
import { fieldName, ipRange } from './patterns.ts';
import {
  accept,
  duration,
  flag,
  list,
  mapOf,
  NOT_YET,
  notYet,
  object,
  oneOf,
  only,
  orDefaults,
  orNull,
  text,
  wholeNumber,
} from './primitives.ts';
import { routeSchema } from './routes.ts';
import type { RouteConfig } from './routes.ts';
import { tlsPolicySchema } from './tls-policy.ts';
import type { TlsPolicyConfig } from './tls-policy.ts';

const DAY_MS = 86_400_000;
const MAX_COUNT = 1_000_000_000;

export interface HttpServerConfig {
  readonly listen: readonly string[];
  readonly routes: readonly RouteConfig[];
  /** What `handle_errors` holds. */
  readonly errors: { readonly routes: readonly RouteConfig[] };
  readonly named_routes: Readonly<Record<string, RouteConfig>>;
  readonly trusted_proxies: { readonly source: 'static'; readonly ranges: readonly string[] } | null;
  readonly client_ip_headers: readonly string[];
  /** Milliseconds, as the other timeouts. 0 = none. */
  readonly read_timeout: number;
  readonly read_header_timeout: number;
  /** From accepting a connection to the end of its TLS handshake. */
  readonly tls_handshake_timeout: number;
  readonly read_idle_timeout: number;
  readonly write_timeout: number;
  readonly write_idle_timeout: number;
  readonly idle_timeout: number;
  /** Bytes. */
  readonly max_header_bytes: number;
  readonly limits: LimitsConfig;
  /** Outermost first. */
  readonly listener_wrappers: readonly ListenerWrapperConfig[];
  /** h1, h2, h2c, h3. */
  readonly protocols: readonly string[];
  /** null = the platform's default. */
  readonly accept: 'kernel' | 'shared' | null;
  readonly automatic_https: AutomaticHttpsConfig;
  /** Any = the server speaks TLS. */
  readonly tls_connection_policies: readonly TlsPolicyConfig[];
  /** null = when clients are asked for certificates. */
  readonly strict_sni_host: boolean | null;
  readonly logs: ServerLogsConfig | null;
}

export interface LimitsConfig {
  readonly connections: number | null;
  readonly connections_per_source: number | null;
  readonly header_fields: number;
  readonly requests_per_connection: number | null;
  readonly streams_per_connection: number | null;
}

interface AutomaticHttpsConfig {
  readonly disable: boolean;
  readonly skip: readonly string[];
  readonly disable_redirects: boolean;
  readonly disable_certificates: boolean;
  readonly skip_certificates: readonly string[];
  readonly ignore_loaded_certificates: boolean;
}

export interface ServerLogsConfig {
  readonly default_logger_name: string;
  /** Host → names of loggers; '' = the default logger. */
  readonly logger_names: Readonly<Record<string, readonly string[]>>;
  readonly skip_hosts: readonly string[];
  readonly skip_unmapped_hosts: boolean;
}

const trustedProxies = moduleOf<{ source: 'static'; ranges: readonly string[] }>({
  key: 'source',
  noun: 'source of trusted proxies',
  modules: () => ({ static: object({ source: z.literal('static'), ranges: list(ipRange()).default([]) }) }),
  notYet: [],
});

const automaticHttps: z.ZodType<AutomaticHttpsConfig> = object({
  disable: flag().default(false),
  skip: list(text('a host name')).default([]),
  disable_redirects: flag().default(false),
  disable_certificates: flag().default(false),
  skip_certificates: list(text('a host name')).default([]),
  ignore_loaded_certificates: flag().default(false),
});

const limits: z.ZodType<LimitsConfig> = object({
  connections: orNull(wholeNumber(1, MAX_COUNT)),
  connections_per_source: orNull(wholeNumber(1, MAX_COUNT)),
  header_fields: wholeNumber(10, 1000).default(200),
  requests_per_connection: orNull(wholeNumber(1, MAX_COUNT)),
  streams_per_connection: orNull(wholeNumber(1, 10_000)),
});

const loggerNames = accept('the name of a logger, or a list of names', (value) => {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  return names.every((name) => typeof name === 'string') ? names : undefined;
});

const serverLogs: z.ZodType<ServerLogsConfig> = object({
  default_logger_name: text('the name of a logger').default(''),
  logger_names: mapOf(loggerNames).default({}),
  skip_hosts: list(text('a host name')).default([]),
  skip_unmapped_hosts: flag().default(false),
  should_log_credentials: only([false], 'log_credentials'),
  trace: only([false], 'trace'),
});

/** h2 comes with TLS: on a plain listener it means nothing, here as in Caddy. */
const protocols = list(text('a protocol such as h1')).superRefine((words, context) => {
  const refuse = (message: string): void => context.addIssue({ code: 'custom', message, params: { [NOT_YET]: true } });
  if (!words.includes('h1')) refuse("'protocols without h1' is not supported yet");
  const unknown = words.find((word) => !['h1', 'h2', 'h2c', 'h3'].includes(word));
  if (unknown !== undefined)
    context.addIssue({ code: 'custom', message: `expected h1, h2, h2c or h3, found '${unknown}'` });
});

/** Scanning is always strict (right to left), so both spellings of the switch are true. */
const strictScan = accept('0 or 1', (value) => (value === 0 || value === 1 ? value : undefined));

export const httpServerSchema: z.ZodType<HttpServerConfig> = object({
  listen: list(text('an address such as :8080')).default([]),
  routes: list(routeSchema).default([]),
  trusted_proxies: orNull(trustedProxies),
  trusted_proxies_strict: strictScan.optional(),
  client_ip_headers: list(fieldName()).default(['X-Forwarded-For']),
  read_timeout: duration(0, DAY_MS).default(0),
  read_header_timeout: duration(1, DAY_MS).default(60_000),
  tls_handshake_timeout: duration(1, DAY_MS).default(10_000),
  read_idle_timeout: duration(1, DAY_MS).default(60_000),
  write_timeout: duration(0, DAY_MS).default(0),
  write_idle_timeout: duration(1, DAY_MS).default(60_000),
  idle_timeout: duration(1, DAY_MS).default(300_000),
  max_header_bytes: wholeNumber(1024, 1024 * 1024).default(16_384),
  limits: orDefaults(limits),
  accept: orNull(oneOf(['kernel', 'shared'])),
  automatic_https: orDefaults(automaticHttps),
  tls_connection_policies: list(tlsPolicySchema).default([]),
  logs: orNull(serverLogs),
  protocols: protocols.default(['h1', 'h2']),
  // A request body and its response always run side by side here.
  enable_full_duplex: flag().optional(),
  allow_0rtt: only([false], '0rtt'),
  strict_sni_host: orNull(flag()),
  trace: only([false], 'trace'),
  trusted_proxies_unix: only([false], 'trusted_proxies_unix'),
  listener_wrappers: listenerWrappersSchema.default([]),
  packet_conn_wrappers: notYet('packet_conn_wrappers'),
  listen_protocols: notYet('listen_protocols'),
  keepalive_interval: notYet('keepalive_interval'),
  keepalive_idle: notYet('keepalive_idle'),
  keepalive_count: notYet('keepalive_count'),
  expected_underscore_headers: notYet('expected_underscore_headers'),
  expected_dot_headers: notYet('expected_dot_headers'),
  errors: orDefaults(object({ routes: list(routeSchema).default([]) })),
  named_routes: mapOf(routeSchema).default({}),
  metrics: notYet('metrics in servers'),
});
