import type { AdminContext } from '../context.ts';
import { jsonReply, type Route } from '../exchange.ts';

/** `GET /health/live`: this process answers. */
export function liveRoute(): Route {
  return { path: '/health/live', methods: { GET: () => jsonReply({ status: 'live' }) } };
}

/** `GET /health/ready`: 200 when a config is in force and nothing is degraded, else 503 with the reasons. */
export function readyRoute({ plane }: AdminContext): Route {
  return {
    path: '/health/ready',
    methods: {
      GET: () => {
        const reasons = plane.degraded();
        return reasons.length === 0 ? jsonReply({ status: 'ready' }) : jsonReply({ status: 'degraded', reasons }, 503);
      },
    },
  };
}
