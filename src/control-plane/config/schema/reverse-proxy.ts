/** The `reverse_proxy` handler. */
import { z } from 'zod';
import { drainSchema, type DrainConfig } from './drain.ts';
import { healthChecksSchema } from './health-checks.ts';
import type { HealthChecksConfig } from './health-checks.ts';
import { headerOpsSchema, responseHeaderOpsSchema } from './header-ops.ts';
import type { HeaderOpsConfig, ResponseHeaderOpsConfig } from './header-ops.ts';
import { handleResponseSchema } from './handle-response.ts';
import type { HandleResponseConfig } from './handle-response.ts';
import { loadBalancingSchema } from './load-balancing.ts';
import type { LoadBalancingConfig } from './load-balancing.ts';
import { dynamicUpstreamsSchema } from './dynamic-upstreams.ts';
import type { DynamicUpstreamsConfig } from './dynamic-upstreams.ts';
import { ipRange } from './patterns.ts';
import { duration, list, notYet, object, only, orDefaults, orNull, wholeNumber } from './primitives.ts';
import { upstreamRewriteSchema } from './rewrite.ts';
import type { RewriteFields } from './rewrite.ts';
import type { RouteConfig } from './routes.ts';
import { transportSchema } from './transport.ts';
import type { TransportConfig } from './transport.ts';
import { upstreamSchema } from './upstream.ts';
import type { UpstreamConfig } from './upstream.ts';

const DAY_MS = 86_400_000;
const MAX_STREAM_MS = 30 * DAY_MS;

/** What becomes a pool. */
export interface PoolConfig {
  readonly upstreams: readonly UpstreamConfig[];
  readonly dynamic_upstreams: DynamicUpstreamsConfig | null;
  readonly load_balancing: LoadBalancingConfig;
  readonly health_checks: HealthChecksConfig;
  readonly transport: TransportConfig;
  readonly drain: DrainConfig;
}

export interface ReverseProxyConfig extends PoolConfig {
  readonly handler: 'reverse_proxy';
  readonly trusted_proxies: readonly string[];
  /** Bytes of a request body that are read before an upstream is asked; 0 = none. */
  readonly request_buffers: number;
  /** Bytes of a response body that are read before the client gets its head; 0 = none. */
  readonly response_buffers: number;
  /** Bytes that may wait for either side of a tunnel besides what its socket takes. */
  readonly stream_buffer_size: number;
  /** Milliseconds a tunnel may last; 0 = any time. */
  readonly stream_timeout: number;
  /** Milliseconds a tunnel lasts once its handler is gone from the config; null = any time. */
  readonly stream_close_delay: number | null;
  /** Changes of what goes upstream. */
  readonly rewrite: RewriteFields | null;
  readonly headers: {
    readonly request: HeaderOpsConfig | null;
    readonly response: ResponseHeaderOpsConfig | null;
  };
  readonly handle_response: readonly HandleResponseConfig[];
}

/** A cap is part of the promise that memory is bounded, so `unlimited` (-1) is refused. */
const buffers = wholeNumber(0, 64 * 1024 * 1024);

const headers = object({ request: orNull(headerOpsSchema), response: orNull(responseHeaderOpsSchema) });

/** An upper limit of what may be held back. Nothing ever is, so every value is kept. */
const flushInterval = duration(-DAY_MS, DAY_MS);

/** `route`: of `handle_response`, whose routes contain this handler in turn. */
export function reverseProxySchema(route: z.ZodType<RouteConfig>): z.ZodType<ReverseProxyConfig> {
  return object({
    handler: z.literal('reverse_proxy'),
    upstreams: list(upstreamSchema).default([]),
    load_balancing: orDefaults(loadBalancingSchema),
    health_checks: orDefaults(healthChecksSchema),
    transport: orDefaults(transportSchema),
    drain: drainSchema.default('off'),
    trusted_proxies: list(ipRange()).default([]),
    headers: orDefaults(headers),
    flush_interval: flushInterval.optional(),
    verbose_logs: only([false], 'verbose_logs'),
    circuit_breaker: notYet('circuit_breaker'),
    dynamic_upstreams: orNull(dynamicUpstreamsSchema),
    request_buffers: buffers.default(0),
    response_buffers: buffers.default(0),
    stream_timeout: duration(0, MAX_STREAM_MS).default(0),
    stream_close_delay: orNull(duration(0, MAX_STREAM_MS)),
    stream_buffer_size: buffers.default(0),
    rewrite: orNull(upstreamRewriteSchema),
    handle_response: list(handleResponseSchema(route)).default([]),
  });
}
