/**
 * The `proxy` handler. Its fields are those of caddy-l4; what comes out is the pool of a `reverse_proxy`, so that
 * one compiler makes both.
 */
import { z } from 'zod';
import { absent, duration, flag, list, object, oneOf, orDefaults, orNull, wholeNumber } from '../primitives.ts';
import { loadBalancingSchema } from '../load-balancing.ts';
import { drainSchema } from '../drain.ts';
import type { PoolConfig } from '../reverse-proxy.ts';
import { selectionPolicySchema } from '../selection-policy.ts';
import type { SelectionPolicyConfig } from '../selection-policy.ts';
import { transportSchema } from '../transport.ts';
import { layer4HealthSchema } from './health-checks.ts';
import { proxyTlvSchema, type ProxyTlvConfig } from './proxy-tlv.ts';
import { layer4UpstreamSchema } from './upstream.ts';

const HOUR_MS = 3_600_000;

export interface Layer4ProxyConfig {
  readonly handler: 'proxy';
  readonly pool: PoolConfig;
  /** The check is caddy-l4's: a TCP connection. */
  readonly connectCheck: boolean;
  /** null = not written. */
  readonly proxy_header: 'each' | 'first' | null;
  readonly proxy_tlvs: readonly ProxyTlvConfig[];
}

/** Policies that read a request, and what to write instead. */
const HTTP_POLICIES: readonly string[] = Object.freeze(['cookie', 'header', 'query', 'uri_hash']);

const selection: z.ZodType<SelectionPolicyConfig> = selectionPolicySchema.superRefine((policy, context) => {
  if (!HTTP_POLICIES.includes(policy.policy)) return;
  const message = `the policy '${policy.policy}' reads HTTP requests, which layer 4 does not see: write ip_hash to keep a client on its server`;
  context.addIssue({ code: 'custom', message, path: ['policy'] });
});

const loadBalancing = object({
  selection: selection.default({ policy: 'random' }),
  retries: orNull(wholeNumber(0, 1000)),
  try_duration: duration(0, HOUR_MS).default(0),
  try_interval: duration(0, HOUR_MS).default(250),
  best_effort: flag().default(true),
});

const fields = object({
  handler: z.literal('proxy'),
  upstreams: list(layer4UpstreamSchema).default([]),
  load_balancing: orDefaults(loadBalancing),
  health_checks: layer4HealthSchema,
  proxy_protocol: orNull(oneOf(['v1', 'v2'])),
  proxy_header: orNull(oneOf(['each', 'first'])),
  proxy_tlvs: list(proxyTlvSchema).default([]),
  dial_timeout: duration(1, HOUR_MS).default(3000),
  drain: orNull(drainSchema),
  preserve_client_ip: absent(
    "'preserve_client_ip' is not supported: it needs a data plane in the kernel. Write proxy_protocol v2 and let the servers read the client's address from its header",
  ),
});

export const layer4ProxySchema: z.ZodType<Layer4ProxyConfig> = fields.transform((config, context) => {
  const local = new Set(config.upstreams.map(({ localAddress }) => localAddress));
  if (local.size > 1) {
    const message = 'the upstreams of one proxy have one local_addr: write it for each of them, or for none';
    context.addIssue({ code: 'custom', message, path: ['upstreams'] });
  }
  const tls = config.upstreams[0]?.tls ?? null;
  if (config.upstreams.some((upstream) => JSON.stringify(upstream.tls) !== JSON.stringify(tls))) {
    const message =
      'the upstreams of one proxy are spoken to alike: write the same tls options for each of them, or for none; ' +
      'tls_except_ports leaves out some';
    context.addIssue({ code: 'custom', message, path: ['upstreams'] });
  }
  const { checks, connectCheck, closeIfUnhealthy: closes } = config.health_checks;
  if (closes && config.drain !== null && config.drain !== 0) {
    context.addIssue({
      code: 'custom',
      message: 'close_if_unhealthy means drain immediate: write one of them',
      path: ['drain'],
    });
  }
  const { selection: policy, ...balancing } = config.load_balancing;
  return {
    handler: 'proxy',
    pool: {
      upstreams: config.upstreams.map(({ upstream }) => upstream),
      dynamic_upstreams: null,
      load_balancing: { ...loadBalancingSchema.parse({}), ...balancing, selection_policy: policy },
      health_checks: checks,
      transport: {
        ...transportSchema.parse({ protocol: 'http', keep_alive: { enabled: false } }),
        dial_timeout: config.dial_timeout,
        proxy_protocol: config.proxy_protocol,
        local_address: [...local][0] ?? null,
        tls,
        // Nothing but bytes: no protocol is offered inside of TLS.
        versions: ['1.1'],
      },
      drain: closes ? 0 : (config.drain ?? 'off'),
    },
    connectCheck,
    proxy_header: config.proxy_header,
    proxy_tlvs: config.proxy_tlvs,
  };
});
