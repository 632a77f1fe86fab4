/** `apps.http`. */
import type { z } from 'zod';
import { httpServerSchema } from './http-server.ts';
import type { HttpServerConfig } from './http-server.ts';
import { resolverAddress } from './patterns.ts';
import { duration, list, mapOf, notYet, object, only, orNull, wholeNumber } from './primitives.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

export interface HttpAppConfig {
  readonly http_port: number;
  readonly https_port: number;
  /** Milliseconds. */
  readonly grace_period: number;
  /** Milliseconds between the wish to stop and the end of listening. */
  readonly shutdown_delay: number;
  /** DNS servers for upstream names; empty = the system's. */
  readonly resolvers: readonly string[];
  /** Milliseconds between two questions for an upstream name; null = the defaults of `names/`. */
  readonly name_refresh: number | null;
  /** Milliseconds; null = what the process was started with. */
  readonly worker_hang_timeout: number | null;
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
  name_refresh: orNull(duration(1000, HOUR_MS)),
  worker_hang_timeout: orNull(duration(500, 600_000)),
  servers: mapOf(httpServerSchema).default({}),
  metrics: metrics.optional(),
  shutdown_delay: duration(0, DAY_MS).default(0),
});
