import type { Adaptation } from '../context.ts';
import type { JsonObject } from '../json.ts';
import { buildSubroute } from '../routing/subroute.ts';
import type { ServerGroup } from './listeners.ts';
import { type ServedSite, valuesOf } from './site.ts';

/** Routes of a server: one for each site, for its hosts and paths, that ends the search. */
export function serverRoutes(group: ServerGroup, adaptation: Adaptation): JsonObject[] {
  return group.sites.flatMap((served) => {
    return wrap(served, routesOf(buildSubroute(served.site.values, adaptation, true)), group, adaptation);
  });
}

/** Routes for errors, from `handle_errors`. */
export function errorRoutes(group: ServerGroup, adaptation: Adaptation): JsonObject[] {
  return group.sites.flatMap((served) => {
    const routes = sortErrorRoutes(valuesOf(served.site, 'errors').flatMap(({ subroute }) => routesOf(subroute)));
    return routes.length > 0 ? wrap(served, routes, group, adaptation) : [];
  });
}

/** Later ones come first, as Caddy has it, and those for every code last. */
function sortErrorRoutes(routes: readonly JsonObject[]): JsonObject[] {
  const reversed = routes.toReversed();
  const matched = reversed.filter((route) => route['match'] !== undefined);
  return [...matched, ...reversed.filter((route) => route['match'] === undefined)];
}

/** The only site of a server, when it takes every request, needs no wrapping. */
function wrap(served: ServedSite, routes: JsonObject[], group: ServerGroup, adaptation: Adaptation): JsonObject[] {
  const match = siteMatchers(served);
  if (match.length === 0 && (routes.length === 0 || group.sites.length === 1)) return routes;
  const { origins } = adaptation;
  const { token } = served.site;
  const route: JsonObject = match.length > 0 ? { match: match.map((set) => origins.mark(set, token)) } : {};
  if (routes.length > 0) route['handle'] = [origins.mark({ handler: 'subroute', routes }, token)];
  route['terminal'] = true;
  return [origins.mark(route, token)];
}

/** One set for each path; hosts with the same path share it. An address for all hosts drops the hosts. */
function siteMatchers(served: ServedSite): JsonObject[] {
  const hostsByPath = new Map<string, Set<string>>();
  const allHosts = served.addresses.some(({ host }) => host === '');
  for (const { host, path } of served.addresses) {
    const hosts = hostsByPath.get(path) ?? new Set();
    if (!allHosts) hosts.add(host);
    hostsByPath.set(path, hosts);
  }
  return [...hostsByPath]
    .map(([path, hosts]) => {
      const set: JsonObject = {};
      if (hosts.size > 0) set['host'] = [...hosts];
      if (path !== '') set['path'] = [path];
      return set;
    })
    .filter((set) => Object.keys(set).length > 0);
}

function routesOf(subroute: JsonObject): JsonObject[] {
  const routes = subroute['routes'];
  return Array.isArray(routes) ? (routes as JsonObject[]) : [];
}
