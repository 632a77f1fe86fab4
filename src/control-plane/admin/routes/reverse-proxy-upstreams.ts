import { isHealthy } from '../../metrics/collect-upstreams.ts';
import type { UpstreamStatus } from '../../types.ts';
import type { AdminContext } from '../context.ts';
import { jsonReply, type Route } from '../exchange.ts';

/**
 * `GET /reverse_proxy/upstreams`: Caddy's list, one entry per configured text with `address`,
 * `num_requests` and `fails`, and what we know besides. `/upstreams` tells it per pool.
 */
export function reverseProxyUpstreamsRoute({ plane }: AdminContext): Route {
  return {
    path: '/reverse_proxy/upstreams',
    methods: {
      GET: () => {
        const byText = Map.groupBy(plane.upstreams(), (status) => status.upstream);
        return jsonReply([...byText].map(([upstream, places]) => summarise(upstream, places)));
      },
    },
  };
}

function summarise(upstream: string, places: readonly UpstreamStatus[]): Record<string, unknown> {
  // The words of an address are shared by all pools: count each address once.
  const endpoints = [...new Map(places.flatMap(({ endpoints }) => endpoints).map((e) => [e.address, e])).values()];
  return {
    address: upstream,
    num_requests: endpoints.reduce((sum, endpoint) => sum + endpoint.inFlight, 0),
    fails: places.reduce((sum, place) => sum + (place.passiveFails ?? 0), 0),
    healthy: places.every(isHealthy),
    admin_state: endpoints[0]?.adminState ?? 'ready',
    requests_total: endpoints.reduce((sum, endpoint) => sum + endpoint.requestsTotal, 0),
    failures_total: endpoints.reduce((sum, endpoint) => sum + endpoint.failuresTotal, 0),
    pools: places.map(({ pool, policy, weight, state, why }) => ({ pool, policy, weight, state, why })),
  };
}
