/** `transport`: how upstreams are spoken to. */
import { z } from 'zod';
import { parseIp } from '../../../shared/net/ip.ts';
import { moduleOf } from './module.ts';
import { resolverAddress } from './patterns.ts';
import { type UpstreamTlsConfig, upstreamTls } from './upstream-tls.ts';
import {
  accept,
  duration,
  flag,
  list,
  NOT_YET,
  notYet,
  object,
  oneOf,
  only,
  orNull,
  text,
  wholeNumber,
} from './primitives.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

export interface TransportConfig {
  readonly protocol: 'http';
  /** Milliseconds. */
  readonly dial_timeout: number;
  /** Milliseconds, 0 = none. */
  readonly response_header_timeout: number;
  /** Bytes. */
  readonly max_response_header_size: number;
  readonly keep_alive: KeepAliveConfig;
  /** Open connections to one address, 0 = any number. */
  readonly max_conns_per_host: number;
  /** Sent at the beginning of every connection; null = none. */
  readonly proxy_protocol: 'v1' | 'v2' | null;
  /** IP address that connections are made from; null = any. */
  readonly local_address: string | null;
  /** Milliseconds without a byte of a response that is owed, 0 = any. */
  readonly read_timeout: number;
  /** Milliseconds in which no byte of a request is taken, 0 = any. */
  readonly write_timeout: number;
  readonly resolver: { readonly addresses: readonly string[] } | null;
  /** null = in the clear. */
  readonly tls: UpstreamTlsConfig | null;
  /** HTTP versions as written, empty = 1.1, and 2 where TLS agrees on it. */
  readonly versions: readonly string[];
}

interface KeepAliveConfig {
  readonly enabled: boolean;
  /** Milliseconds. */
  readonly idle_timeout: number;
  readonly max_idle_conns_per_host: number;
  /** Milliseconds between keep-alive probes of TCP, and before the first one. */
  readonly probe_interval: number;
}

const DEFAULT_KEEP_ALIVE: KeepAliveConfig = Object.freeze({
  enabled: true,
  idle_timeout: 120_000,
  max_idle_conns_per_host: 1024,
  probe_interval: 15_000,
});

const keepAlive: z.ZodType<KeepAliveConfig> = object({
  enabled: flag().default(DEFAULT_KEEP_ALIVE.enabled),
  idle_timeout: duration(1, DAY_MS).default(DEFAULT_KEEP_ALIVE.idle_timeout),
  max_idle_conns_per_host: wholeNumber(1, 65_535).default(DEFAULT_KEEP_ALIVE.max_idle_conns_per_host),
  max_idle_conns: notYet('keepalive_idle_conns'),
  probe_interval: duration(1000, DAY_MS).default(DEFAULT_KEEP_ALIVE.probe_interval),
});

const versions = list(text('a version: 1.1, 2 or h2c')).superRefine((words, context) => {
  const strange = words.find((word) => word !== '1.1' && word !== '2' && word !== 'h2c');
  if (strange === undefined) return;
  const message = strange === '3' ? "'version 3' is not supported yet" : `unknown version '${strange}': 1.1, 2 or h2c`;
  context.addIssue({ code: 'custom', message, params: { [NOT_YET]: strange === '3' } });
});

const networkProxy = moduleOf<{ from: 'none' }>({
  key: 'from',
  noun: 'network proxy',
  modules: () => ({ none: object({ from: z.literal('none') }) }),
  notYet: ['url'],
});

const localAddress = accept('an IP address of this machine', (value) => {
  return typeof value === 'string' ? (parseIp(value)?.text ?? undefined) : undefined;
});

const http: z.ZodType<TransportConfig> = object({
  protocol: z.literal('http'),
  dial_timeout: duration(1, HOUR_MS).default(3000),
  response_header_timeout: duration(0, DAY_MS).default(0),
  max_response_header_size: wholeNumber(1024, 16 * 1024 * 1024).default(65_536),
  keep_alive: keepAlive.default(DEFAULT_KEEP_ALIVE),
  resolver: orNull(object({ addresses: list(resolverAddress()) })),
  versions: versions.default([]),
  compression: only([false], 'compression'),
  network_proxy: networkProxy.optional(),
  tls: orNull(upstreamTls),
  proxy_protocol: orNull(oneOf(['v1', 'v2'])),
  forward_proxy_url: notYet('forward_proxy_url'),
  read_buffer_size: notYet('read_buffer'),
  write_buffer_size: notYet('write_buffer'),
  read_timeout: duration(0, DAY_MS).default(0),
  write_timeout: duration(0, DAY_MS).default(0),
  dial_fallback_delay: notYet('dial_fallback_delay'),
  expect_continue_timeout: notYet('expect_continue_timeout'),
  max_conns_per_host: wholeNumber(0, 1_000_000).default(0),
  local_address: orNull(localAddress),
});

export const transportSchema: z.ZodType<TransportConfig> = moduleOf<TransportConfig>({
  key: 'protocol',
  noun: 'transport',
  modules: () => ({ http }),
  notYet: ['fastcgi'],
  fallback: 'http',
});
