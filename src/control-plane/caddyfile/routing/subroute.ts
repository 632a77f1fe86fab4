import type { Adaptation, SiteValue } from '../context.ts';
import { type JsonObject, sameJson } from '../json.ts';
import { type RouteValue, sortRoutes } from './sort.ts';

/** Directives of which only the first that matches runs, sorted by name: group numbers are given out so. */
const EXCLUSIVE: readonly string[] = ['handle', 'rewrite', 'root'];

/**
 * A `subroute` handler made of the routes among `values`. `sorted` brings them into directive order; without it
 * they stay as written.
 */
export function buildSubroute(values: readonly SiteValue[], adaptation: Adaptation, sorted: boolean): JsonObject {
  const found = values.filter((value): value is RouteValue => value.kind === 'route');
  const groups = nameGroups(found, adaptation);
  const ordered = sorted ? sortRoutes(found, adaptation.order) : found;
  const routes = mergeRoutes(ordered.map((value) => copyRoute(value, groups, adaptation)));
  return routes.length > 0 ? { handler: 'subroute', routes } : { handler: 'subroute' };
}

/** A copy, because a site on two listeners is built twice, with other group numbers. */
function copyRoute(value: RouteValue, groups: ReadonlyMap<string, string>, { origins }: Adaptation): JsonObject {
  const route = origins.copy(value.route);
  const group = groups.get(value.directive);
  if (group !== undefined) route['group'] = group;
  return route;
}

/** `handle` and `root` are grouped from two on; `rewrite` always, so that it is never merged with a neighbour. */
function nameGroups(values: readonly RouteValue[], adaptation: Adaptation): ReadonlyMap<string, string> {
  const groups = new Map<string, string>();
  for (const directive of EXCLUSIVE) {
    const count = values.filter((value) => value.directive === directive).length;
    if (count > 1 || directive === 'rewrite') groups.set(directive, `group${adaptation.nextGroup++}`);
  }
  return groups;
}

/** Joins neighbours whose matchers, group and terminal flag are the same. */
function mergeRoutes(routes: readonly JsonObject[]): JsonObject[] {
  const merged: JsonObject[] = [];
  for (const route of routes) {
    const last = merged.at(-1);
    if (last !== undefined && mayJoin(last, route)) last['handle'] = [...handlersOf(last), ...handlersOf(route)];
    else merged.push(route);
  }
  return merged;
}

function mayJoin(left: JsonObject, right: JsonObject): boolean {
  return ['match', 'group', 'terminal'].every((key) => sameJson(left[key], right[key]));
}

export function handlersOf(route: JsonObject): JsonObject[] {
  const handlers = route['handle'];
  return Array.isArray(handlers) ? (handlers as JsonObject[]) : [];
}
