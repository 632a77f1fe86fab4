import { isHealthy } from '../../metrics/collect-upstreams.ts';
import type { ControlPlane, UpstreamStatus } from '../../types.ts';
import type { AdminContext } from '../context.ts';
import { jsonListReply, type AdminReply, type Route } from '../exchange.ts';

/**
 * `GET /reverse_proxy/upstreams`: Caddy's list, one entry per configured text with `address`,
 * `num_requests` and `fails`, and what we know besides. `/upstreams` tells it per pool,
 * and those of layer 4 as well.
 */
export function reverseProxyUpstreamsRoute({ plane }: AdminContext): Route {
  return {
    path: '/reverse_proxy/upstreams',
    methods: { GET: () => listUpstreams(plane) },
  };
}

async function listUpstreams(plane: ControlPlane): Promise<AdminReply> {
  const byText = new Map<string, UpstreamStatus[]>();
  for await (const status of plane.eachUpstream()) {
    if (status.layer !== 'http') continue;
    const places = byText.get(status.upstream);
    if (places === undefined) byText.set(status.upstream, [status]);
    else places.push(status);
  }
  return jsonListReply(summaries(byText));
}

function* summaries(byText: ReadonlyMap<string, readonly UpstreamStatus[]>): Generator<Record<string, unknown>> {
  for (const [upstream, places] of byText) yield summarise(upstream, places);
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
