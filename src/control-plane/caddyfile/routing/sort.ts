import type { SiteValue } from '../context.ts';
import type { JsonObject } from '../json.ts';

export type RouteValue = Extract<SiteValue, { kind: 'route' }>;

/**
 * Sorts by the order of directives; among equal directives those with exactly one path first (longer ones
 * before shorter), then those with another matcher, then those without. `vars` runs the other way round, so
 * that the most specific one has the last word. Stable.
 */
export function sortRoutes(values: readonly RouteValue[], order: readonly string[]): RouteValue[] {
  const ranks = new Map(order.map((name, index) => [name, index]));
  const rank = (value: RouteValue): number => ranks.get(value.directive) ?? order.length;
  return values.toSorted((left, right) => {
    const byDirective = rank(left) - rank(right);
    if (byDirective !== 0) return byDirective;
    const bySpecificity = compareMatchers(left, right);
    return left.directive === 'vars' ? -bySpecificity : bySpecificity;
  });
}

function compareMatchers(left: RouteValue, right: RouteValue): number {
  const byKind = kindOf(left) - kindOf(right);
  if (byKind !== 0) return byKind;
  const a = singlePath(left);
  const b = singlePath(right);
  return a === null || b === null ? 0 : comparePaths(a, b);
}

function comparePaths(a: string, b: string): number {
  const bareA = a.endsWith('*') ? a.slice(0, -1) : a;
  const bareB = b.endsWith('*') ? b.slice(0, -1) : b;
  if (bareA === bareB) return a.length - b.length;
  if (bareA.length !== bareB.length) return bareB.length - bareA.length;
  return bareA < bareB ? -1 : 1;
}

/** 0 = one path, 1 = another matcher, 2 = none. */
function kindOf(value: RouteValue): number {
  if (singlePath(value) !== null) return 0;
  return value.route['match'] !== undefined ? 1 : 2;
}

function singlePath(value: RouteValue): string | null {
  const sets = value.route['match'];
  if (!Array.isArray(sets) || sets.length !== 1) return null;
  const [path, second] = pathsOf(sets[0] as JsonObject);
  return path === undefined || second !== undefined ? null : path;
}

function pathsOf(set: JsonObject): readonly string[] {
  const paths = set['path'];
  return Array.isArray(paths) ? paths.filter((path) => typeof path === 'string') : [];
}
