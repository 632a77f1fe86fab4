/**
 * Which sites a host can reach. Sites that name whole hosts only are found in a map; the others (wildcards,
 * catch-alls, routes without a host) are tried in their order among them. Walking the candidates in order gives the
 * same answer as walking all sites: a site left out cannot match.
 */
import type { RoutePlan } from '../../shared/plan/types.ts';
import { isWildcardHost, normalHost } from './match/host.ts';

export interface SiteIndex {
  /** Sites for exact hosts, ascending. */
  readonly byHost: ReadonlyMap<string, readonly number[]>;
  /** Sites that any host may reach, ascending. */
  readonly others: readonly number[];
}

export function indexSites(routes: readonly RoutePlan[]): SiteIndex {
  const byHost = new Map<string, number[]>();
  const others: number[] = [];
  routes.forEach((route, index) => {
    const hosts = exactHosts(route);
    if (hosts === null) others.push(index);
    for (const host of hosts ?? []) append(byHost, host, index);
  });
  return { byHost, others };
}

/** Calls `visit` with the candidates for `host` in ascending order until it returns something but null. */
export function visitSites<Result>(
  index: SiteIndex,
  host: string,
  visit: (site: number) => Result | null,
): Result | null {
  const exact = index.byHost.get(host) ?? NONE;
  const { others } = index;
  let nextExact = 0;
  let nextOther = 0;
  while (nextExact < exact.length || nextOther < others.length) {
    const isExact = (exact[nextExact] ?? Infinity) < (others[nextOther] ?? Infinity);
    const result = visit(isExact ? exact[nextExact]! : others[nextOther]!);
    if (result !== null) return result;
    if (isExact) nextExact += 1;
    else nextOther += 1;
  }
  return null;
}

const NONE: readonly number[] = Object.freeze([]);

/** The only hosts that can match the route; null when others can. */
function exactHosts(route: RoutePlan): Set<string> | null {
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

function append(map: Map<string, number[]>, key: string, value: number): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
