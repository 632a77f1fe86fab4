import type { AdminContext } from '../context.ts';
import type { Route } from '../exchange.ts';

/** `GET /metrics`: the Prometheus text format. */
export function metricsRoute({ metrics }: AdminContext): Route {
  return {
    path: '/metrics',
    methods: {
      GET: () => ({ status: 200, headers: { 'Content-Type': metrics.contentType }, body: metrics.pieces() }),
    },
  };
}
