/** `dynamic_upstreams` of a `reverse_proxy`: upstreams found in DNS. */
import { z } from 'zod';
import { moduleOf } from './module.ts';
import { resolverAddress } from './patterns.ts';
import { accept, duration, flag, list, notYet, object, orNull, text } from './primitives.ts';

const DAY_MS = 86_400_000;
const DEFAULT_REFRESH_MS = 60_000;

interface ResolverConfig {
  readonly addresses: readonly string[];
}

interface AddressSourceConfig {
  readonly source: 'a';
  readonly name: string;
  readonly port: number;
  /** Milliseconds. */
  readonly refresh: number;
  readonly resolver: ResolverConfig | null;
  readonly versions: { readonly ipv4: boolean; readonly ipv6: boolean } | null;
}

export interface SrvSourceConfig {
  readonly source: 'srv';
  readonly service: string;
  readonly proto: string;
  readonly name: string;
  /** Milliseconds. */
  readonly refresh: number;
  readonly resolver: ResolverConfig | null;
  /** Milliseconds. */
  readonly grace_period: number;
}

interface MultiSourceConfig {
  readonly source: 'multi';
  readonly sources: readonly DynamicUpstreamsConfig[];
}

export type DynamicUpstreamsConfig = AddressSourceConfig | SrvSourceConfig | MultiSourceConfig;

/** Caddy writes the port as a text. */
const port = accept('a port from 1 to 65535', (value) => {
  const digits = typeof value === 'number' ? String(value) : value;
  if (typeof digits !== 'string') return undefined;
  // What else it may be is told where placeholders are refused.
  if (/[{}]/.test(digits)) return Number.NaN;
  return /^[1-9]\d{0,4}$/.test(digits) && Number(digits) <= 65_535 ? Number(digits) : undefined;
});

const shared = {
  name: text('a name to ask DNS for').default(''),
  refresh: duration(1000, DAY_MS).default(DEFAULT_REFRESH_MS),
  resolver: orNull(object({ addresses: list(resolverAddress()) })),
  dial_timeout: notYet('dial_timeout in dynamic'),
  dial_fallback_delay: notYet('dial_fallback_delay in dynamic'),
};

const addressSource: z.ZodType<AddressSourceConfig> = object({
  source: z.literal('a'),
  ...shared,
  port: port.default(80),
  versions: orNull(object({ ipv4: flag().default(false), ipv6: flag().default(false) })),
});

const srvSource: z.ZodType<SrvSourceConfig> = object({
  source: z.literal('srv'),
  ...shared,
  service: text('the name of a service').default(''),
  proto: text('a protocol such as tcp').default(''),
  grace_period: duration(0, DAY_MS).default(0),
  dial_network: notYet('dial_network in dynamic'),
});

export const dynamicUpstreamsSchema: z.ZodType<DynamicUpstreamsConfig> = moduleOf<DynamicUpstreamsConfig>({
  key: 'source',
  noun: 'source of upstreams',
  modules: () => ({
    a: addressSource,
    srv: srvSource,
    multi: object({ source: z.literal('multi'), sources: list(dynamicUpstreamsSchema).default([]) }),
  }),
  notYet: [],
});
