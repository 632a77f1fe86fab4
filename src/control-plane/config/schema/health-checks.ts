/** `health_checks` of a `reverse_proxy`. */
import type { z } from 'zod';
import { probeCheckSchema, type ProbeCheckConfig } from './health/probes.ts';
import { fieldMap } from './header-ops.ts';
import { fieldValue, hasPlaceholder, method, re2Pattern } from './patterns.ts';
import {
  absent,
  duration,
  flag,
  fraction,
  list,
  NOT_YET,
  object,
  oneOf,
  orNull,
  statusPattern,
  text,
  textLike,
  wholeNumber,
} from './primitives.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MAX_BODY_BYTES = 64 * 1024 * 1024;

export interface ActiveHealthConfig {
  /** Path and query; null = not written. */
  readonly uri: string | null;
  readonly port: number | null;
  /** `host:port` checked instead of every upstream's own. */
  readonly upstream: string | null;
  /** Milliseconds. */
  readonly interval: number;
  /** Milliseconds. */
  readonly timeout: number;
  readonly method: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** 0 = any 2xx. */
  readonly expect_status: number;
  readonly expect_body: string;
  readonly follow_redirects: boolean;
  readonly passes: number;
  readonly fails: number;
  /** Bytes, 0 = the default. */
  readonly max_size: number;
  readonly initial: 'up' | 'down' | null;
}

export interface PassiveHealthConfig {
  /** Milliseconds; 0 = no passive checks. */
  readonly fail_duration: number;
  readonly max_fails: number;
  readonly unhealthy_status: readonly number[];
  /** Milliseconds; 0 = never. */
  readonly unhealthy_latency: number;
  /** 0 = `max_fails` counts. */
  readonly fail_ratio: number;
  readonly fail_ratio_min_requests: number;
  /** `max_requests` of upstreams that have none; 0 = none. */
  readonly unhealthy_request_count: number;
  /** Milliseconds from the first byte a client sends to the server's first; layer 4 only, absent = any time. */
  readonly first_byte_timeout?: number;
}

export interface HealthChecksConfig {
  readonly active: ActiveHealthConfig | null;
  readonly passive: PassiveHealthConfig | null;
  /** `health <probe>`, instead of `active`. */
  readonly probe: ProbeCheckConfig | null;
}

function withoutPlaceholders(schema: z.ZodType<string>): z.ZodType<string> {
  return schema.refine((value) => !hasPlaceholder(value), {
    error: "'placeholders in health checks' is not supported yet",
    params: { [NOT_YET]: true },
  });
}

const active: z.ZodType<ActiveHealthConfig> = object({
  uri: orNull(withoutPlaceholders(textLike(/^\/[\x21-\x7e]*$/, 'a path beginning with /, without spaces'))),
  path: absent("'health_path' is not supported: write health_uri"),
  port: orNull(wholeNumber(1, 65_535)),
  upstream: orNull(text('host:port')),
  interval: duration(10, DAY_MS).default(30_000),
  timeout: duration(1, HOUR_MS).default(5000),
  method: method().default('GET'),
  body: withoutPlaceholders(text()).default(''),
  headers: fieldMap(list(withoutPlaceholders(fieldValue()))).default({}),
  expect_status: statusPattern().default(0),
  expect_body: re2Pattern().default(''),
  follow_redirects: flag().default(false),
  passes: wholeNumber(1, 1000).default(1),
  fails: wholeNumber(1, 1000).default(1),
  max_size: wholeNumber(0, MAX_BODY_BYTES).default(0),
  initial: orNull(oneOf(['up', 'down'])),
});

const passive = object({
  fail_duration: duration(0, DAY_MS).default(0),
  max_fails: wholeNumber(1, 1000).default(1),
  unhealthy_status: list(statusPattern()).default([]),
  unhealthy_latency: duration(0, HOUR_MS).default(0),
  fail_ratio: fraction().default(0),
  fail_ratio_min_requests: wholeNumber(1, 1_000_000).default(10),
  unhealthy_request_count: wholeNumber(0, 1_000_000).default(0),
});

export const healthChecksSchema: z.ZodType<HealthChecksConfig> = object({
  active: orNull(active),
  passive: orNull(passive),
  probe: orNull(probeCheckSchema),
}).refine(({ active: old, probe }) => old === null || probe === null, {
  error: 'there are two active checks: write health_uri and its options, or a health block, not both',
  path: ['probe'],
});
