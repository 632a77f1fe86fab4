/**
 * Compiles a piece of a plan exactly as a worker will, and throws the result away: what a worker could
 * not run is refused here, with its position, before any worker hears of it.
 */
import { ConfigError } from '../../shared/config-error.ts';
import type { HandlerPlan, MatcherSetPlan, RoutePlan } from '../../shared/plan/types.ts';
import { compileSites } from '../../data-plane/route/compile.ts';
import type { Compilation } from './compilation.ts';

/** `path` is the JSON path of the handler. */
export function checkHandler(run: Compilation, path: string, plan: HandlerPlan): void {
  checkRoute(run, path, { match: [], handle: [plan], group: '', terminal: false });
}

/** `path` is the JSON path of the matcher sets. */
export function checkMatchers(run: Compilation, path: string, sets: readonly MatcherSetPlan[]): void {
  checkRoute(run, path, { match: sets, handle: [], group: '', terminal: false });
}

function checkRoute(run: Compilation, path: string, route: RoutePlan): void {
  try {
    compileSites([{ kind: 'site', hash: '', route, pools: [] }], () => null);
  } catch (error) {
    if (error instanceof ConfigError) run.fail(path, error.message);
    throw error;
  }
}
