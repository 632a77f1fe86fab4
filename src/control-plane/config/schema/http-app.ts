/** `apps.http`. */
import type { z } from 'zod';
import { httpServerSchema } from './http-server.ts';
import type { HttpServerConfig } from './http-server.ts';
import { resolverAddress } from './patterns.ts';
import { duration, list, mapOf, notYet, object, only, wholeNumber } from './primitives.ts';

const DAY_MS = 86_400_000;

export interface HttpAppConfig {
  readonly http_port: number;
  readonly https_port: number;
  /** Milliseconds. */
  readonly grace_period: number;
  /** DNS servers for upstream names; empty = the system's. */
  readonly resolvers: readonly string[];
  readonly servers: Readonly<Record<string, HttpServerConfig>>;
}

/** HTTP metrics are always kept, so the bare switch asks for nothing new. */
const metrics = object({
  per_host: only([false], 'per_host'),
  observe_catchall_hosts: only([false], 'observe_catchall_hosts'),
  otlp: notYet('otlp'),
});

export const httpAppSchema: z.ZodType<HttpAppConfig> = object({
  http_port: wholeNumber(1, 65_535).default(80),
  https_port: wholeNumber(1, 65_535).default(443),
  grace_period: duration(0, DAY_MS).default(30_000),
  resolvers: list(resolverAddress()).default([]),
  servers: mapOf(httpServerSchema).default({}),
  metrics: metrics.optional(),
  shutdown_delay: notYet('shutdown_delay'),
});
