/**
 * Which sites a host can reach. Sites that name whole hosts only are found in a map; the others (wildcards,
 * catch-alls, routes without a host) are tried in their order among them. Walking the candidates in order gives the
 * same answer as walking all sites: a site left out cannot match.
 */
import type { RoutePlan } from '../../shared/plan/types.ts';
import { isWildcardHost, normalHost } from './match/host.ts';

interface Ordered {
  /** Place in routing order. */
  readonly order: number;
}

export interface SiteIndex<Site extends Ordered> {
  /** Sites for exact hosts, in order. */
  readonly byHost: ReadonlyMap<string, readonly Site[]>;
  /** Sites that any host may reach, in order. */
  readonly others: readonly Site[];
}

/** `sites` are what `plans` were compiled to, place by place. */
export function indexSites<Site extends Ordered>(plans: readonly RoutePlan[], sites: readonly Site[]): SiteIndex<Site> {
  const byHost = new Map<string, Site[]>();
  const others: Site[] = [];
  plans.forEach((plan, index) => {
    const site = sites[index]!;
    const hosts = exactHosts(plan);
    if (hosts === null) others.push(site);
    for (const host of hosts ?? []) append(byHost, host, site);
  });
  return { byHost, others };
}

/**
 * Sites that can match `host`, in order. Two lists are merged per request, because a merged list for every host would
 * take hosts times wildcards of memory.
 */
export function sitesFor<Site extends Ordered>({ byHost, others }: SiteIndex<Site>, host: string): readonly Site[] {
  const exact = byHost.get(host);
  if (exact === undefined) return others;
  if (others.length === 0) return exact;
  const merged: Site[] = [];
  let next = 0;
  for (const site of exact) {
    while (next < others.length && others[next]!.order < site.order) merged.push(others[next++]!);
    merged.push(site);
  }
  return next < others.length ? merged.concat(others.slice(next)) : merged;
}

/** The only hosts that can match the route; null when others can. */
export function exactHosts(route: RoutePlan): Set<string> | null {
  if (route.match.length === 0) return null;
  const hosts = new Set<string>();
  for (const set of route.match) {
    const matcher = set.find((plan) => plan.kind === 'host');
    if (matcher === undefined) return null;
    for (const host of matcher.hosts.map(normalHost)) {
      if (isWildcardHost(host)) return null;
      hosts.add(host);
    }
  }
  return hosts;
}

function append<Site>(map: Map<string, Site[]>, key: string, value: Site): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
