/** Routes of a layer-4 server, and the handlers in them: a subroute has routes again. */
import { z } from 'zod';
import { moduleOf } from '../module.ts';
import { ipRange } from '../patterns.ts';
import { duration, list, notYet, object } from '../primitives.ts';
import { tlsPolicySchema } from '../tls-policy.ts';
import type { TlsPolicyConfig } from '../tls-policy.ts';
import { layer4MatcherSetSchema } from './matchers.ts';
import type { Layer4MatcherSetConfig } from './matchers.ts';
import { layer4ProxySchema } from './proxy.ts';
import type { Layer4ProxyConfig } from './proxy.ts';

const MAX_HEADER_MS = 300_000;

export interface Layer4RouteConfig {
  readonly match: readonly Layer4MatcherSetConfig[];
  readonly handle: readonly Layer4HandlerConfig[];
}

export type Layer4HandlerConfig =
  | Layer4ProxyConfig
  | Layer4TlsConfig
  | Layer4ProxyProtocolConfig
  | Layer4SubrouteConfig
  | { readonly handler: 'close' | 'echo' };

export interface Layer4TlsConfig {
  readonly handler: 'tls';
  /** Empty = one that says nothing. */
  readonly connection_policies: readonly TlsPolicyConfig[];
}

interface Layer4ProxyProtocolConfig {
  readonly handler: 'proxy_protocol';
  /** Ranges of peers that send a header; empty = every peer. */
  readonly allow: readonly string[];
  /** Milliseconds. */
  readonly timeout: number;
}

interface Layer4SubrouteConfig {
  readonly handler: 'subroute';
  readonly routes: readonly Layer4RouteConfig[];
}

const proxyProtocol: z.ZodType<Layer4ProxyProtocolConfig> = object({
  handler: z.literal('proxy_protocol'),
  allow: list(ipRange()).default([]),
  timeout: duration(1, MAX_HEADER_MS).default(5000),
  deny: notYet('proxy_protocol deny'),
  fallback_policy: notYet('proxy_protocol fallback_policy'),
});

const tls: z.ZodType<Layer4TlsConfig> = object({
  handler: z.literal('tls'),
  connection_policies: list(tlsPolicySchema).default([]),
});

const subroute: z.ZodType<Layer4SubrouteConfig> = object({
  handler: z.literal('subroute'),
  routes: list(z.lazy(() => layer4RouteSchema)).default([]),
  matching_timeout: notYet('matching_timeout of a subroute'),
});

function plain(handler: 'close' | 'echo'): z.ZodType<{ handler: 'close' | 'echo' }> {
  return object({ handler: z.literal(handler) });
}

/** Handlers of caddy-l4 that this version has not. */
export const NOT_YET_LAYER4_HANDLERS: readonly string[] = Object.freeze([
  'postgres_tls',
  'socks5',
  'tee',
  'throttle',
  'vars',
]);

const handler: z.ZodType<Layer4HandlerConfig> = moduleOf<Layer4HandlerConfig>({
  key: 'handler',
  noun: 'layer-4 handler',
  modules: () => ({
    proxy: layer4ProxySchema,
    tls,
    proxy_protocol: proxyProtocol,
    subroute,
    close: plain('close'),
    echo: plain('echo'),
  }),
  notYet: NOT_YET_LAYER4_HANDLERS,
});

export const layer4RouteSchema: z.ZodType<Layer4RouteConfig> = object({
  match: list(layer4MatcherSetSchema).default([]),
  handle: list(handler).default([]),
});
