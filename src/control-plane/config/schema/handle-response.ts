/** `handle_response` of a `reverse_proxy`: what is done with responses of upstreams. */
import type { z } from 'zod';
import { responseMatcherSchema } from './header-ops.ts';
import type { ResponseMatcherConfig } from './header-ops.ts';
import { statusCode } from './patterns.ts';
import { list, object, orNull } from './primitives.ts';
import type { RouteConfig } from './routes.ts';

export interface HandleResponseConfig {
  /** null = every response. */
  readonly match: ResponseMatcherConfig | null;
  /** A number or a template: only the status changes. '' = `routes` answer. */
  readonly status_code: string;
  readonly routes: readonly RouteConfig[];
}

/** `route` is handed over, because routes contain this handler in turn. */
export function handleResponseSchema(route: z.ZodType<RouteConfig>): z.ZodType<HandleResponseConfig> {
  return object({
    match: orNull(responseMatcherSchema),
    status_code: statusCode().default(''),
    routes: list(route).default([]),
  }).refine(({ status_code: status, routes }) => status === '' || routes.length === 0, {
    error: 'expected either status_code or routes',
  });
}
