/** Routes of a server or of a subroute. */
import { z } from 'zod';
import { handlerSchema } from './handlers.ts';
import type { HandlerConfig } from './handlers.ts';
import { matcherSetSchema } from './matchers.ts';
import type { MatcherSetConfig } from './matchers.ts';
import { flag, list, object, text } from './primitives.ts';

export interface RouteConfig {
  readonly group: string;
  readonly match: readonly MatcherSetConfig[];
  readonly handle: readonly HandlerConfig[];
  readonly terminal: boolean;
}

export const routeSchema: z.ZodType<RouteConfig> = object({
  group: text('the name of a group').default(''),
  match: list(matcherSetSchema).default([]),
  handle: list(z.lazy(() => handlerSchema)).default([]),
  terminal: flag().default(false),
});
