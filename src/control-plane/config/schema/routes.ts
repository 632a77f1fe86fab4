/** Routes of a server, and the handlers in them: a subroute has routes again. */
import { z } from 'zod';
import { leafHandlers, NOT_YET_HANDLERS } from './handlers.ts';
import type { LeafHandlerConfig } from './handlers.ts';
import { matcherSetSchema } from './matchers.ts';
import type { MatcherSetConfig } from './matchers.ts';
import { moduleOf } from './module.ts';
import { flag, list, notYet, object, text } from './primitives.ts';
import { reverseProxySchema } from './reverse-proxy.ts';
import type { ReverseProxyConfig } from './reverse-proxy.ts';

export interface RouteConfig {
  readonly group: string;
  readonly match: readonly MatcherSetConfig[];
  readonly handle: readonly HandlerConfig[];
  readonly terminal: boolean;
}

interface SubrouteConfig {
  readonly handler: 'subroute';
  readonly routes: readonly RouteConfig[];
}

export type HandlerConfig = SubrouteConfig | ReverseProxyConfig | LeafHandlerConfig;

const subroute: z.ZodType<SubrouteConfig> = object({
  handler: z.literal('subroute'),
  routes: list(z.lazy(() => routeSchema)).default([]),
  errors: notYet('handle_errors'),
});

const reverseProxy: z.ZodType<ReverseProxyConfig> = reverseProxySchema(z.lazy(() => routeSchema));

const handler: z.ZodType<HandlerConfig> = moduleOf<HandlerConfig>({
  key: 'handler',
  noun: 'handler',
  modules: () => ({ subroute, ...leafHandlers, reverse_proxy: reverseProxy }),
  notYet: NOT_YET_HANDLERS,
});

export const routeSchema: z.ZodType<RouteConfig> = object({
  group: text('the name of a group').default(''),
  match: list(matcherSetSchema).default([]),
  handle: list(handler).default([]),
  terminal: flag().default(false),
});
