/** The `reverse_proxy` handler. */
import { z } from 'zod';
import { healthChecksSchema } from './health-checks.ts';
import type { HealthChecksConfig } from './health-checks.ts';
import { headerOpsSchema, responseHeaderOpsSchema } from './header-ops.ts';
import type { HeaderOpsConfig, ResponseHeaderOpsConfig } from './header-ops.ts';
import { loadBalancingSchema } from './load-balancing.ts';
import type { LoadBalancingConfig } from './load-balancing.ts';
import { parseDuration } from './duration.ts';
import { dynamicUpstreamsSchema } from './dynamic-upstreams.ts';
import type { DynamicUpstreamsConfig } from './dynamic-upstreams.ts';
import { ipRange } from './patterns.ts';
import { list, NOT_YET, notYet, object, only, orDefaults, orNull, wholeNumber } from './primitives.ts';
import { transportSchema } from './transport.ts';
import type { TransportConfig } from './transport.ts';
import { upstreamSchema } from './upstream.ts';
import type { UpstreamConfig } from './upstream.ts';

export interface ReverseProxyConfig {
  readonly handler: 'reverse_proxy';
  readonly upstreams: readonly UpstreamConfig[];
  readonly dynamic_upstreams: DynamicUpstreamsConfig | null;
  readonly load_balancing: LoadBalancingConfig;
  readonly health_checks: HealthChecksConfig;
  readonly transport: TransportConfig;
  readonly trusted_proxies: readonly string[];
  /** Bytes of a request body that are read before an upstream is asked; 0 = none. */
  readonly request_buffers: number;
  readonly headers: {
    readonly request: HeaderOpsConfig | null;
    readonly response: ResponseHeaderOpsConfig | null;
  };
}

/** A cap is part of the promise that memory is bounded, so `unlimited` (-1) is refused. */
const requestBuffers = wholeNumber(0, 64 * 1024 * 1024);

const headers = object({ request: orNull(headerOpsSchema), response: orNull(responseHeaderOpsSchema) });

/** Every write is flushed at once, which is what 0 and a negative interval ask for; batching does not exist. */
const flushInterval = z.unknown().refine((value) => (parseDuration(value) ?? 1) <= 0, {
  error: "'flush_interval above 0' is not supported yet",
  params: { [NOT_YET]: true },
});

export const reverseProxySchema: z.ZodType<ReverseProxyConfig> = object({
  handler: z.literal('reverse_proxy'),
  upstreams: list(upstreamSchema).default([]),
  load_balancing: orDefaults(loadBalancingSchema),
  health_checks: orDefaults(healthChecksSchema),
  transport: orDefaults(transportSchema),
  trusted_proxies: list(ipRange()).default([]),
  headers: orDefaults(headers),
  flush_interval: flushInterval.optional(),
  verbose_logs: only([false], 'verbose_logs'),
  circuit_breaker: notYet('circuit_breaker'),
  dynamic_upstreams: orNull(dynamicUpstreamsSchema),
  request_buffers: requestBuffers.default(0),
  response_buffers: notYet('response_buffers'),
  stream_timeout: notYet('stream_timeout'),
  stream_close_delay: notYet('stream_close_delay'),
  stream_buffer_size: notYet('stream_buffer_size'),
  rewrite: notYet('rewrite in reverse_proxy'),
  handle_response: notYet('handle_response'),
});
