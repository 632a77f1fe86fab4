/**
 * Compiles a piece of a plan exactly as a worker will, and throws the result away: what a worker could
 * not run is refused here, with its position, before any worker hears of it.
 */
import { ConfigError } from '../../shared/config-error.ts';
import type { HandlerPlan, HeaderOpsPlan, MatcherSetPlan, RoutePlan } from '../../shared/plan/types.ts';
import { compileSites } from '../../data-plane/route/compile.ts';
import { ignoredFields } from '../../data-plane/route/header-ops.ts';
import { NO_FACTS } from '../../data-plane/route/placeholder/placeholder.ts';
import type { Compilation } from './compilation.ts';

/** `path` is the JSON path of the handler. */
export function checkHandler(run: Compilation, path: string, plan: HandlerPlan): void {
  checkRoute(run, path, { match: [], handle: [plan], group: '', terminal: false });
  for (const [directive, ops] of headerOpsOf(plan)) {
    for (const name of ignoredFields(ops)) {
      run.warn(
        path,
        directive,
        `operations on ${name} have no effect: it belongs to one connection and the proxy writes it itself`,
      );
    }
  }
}

function headerOpsOf(plan: HandlerPlan): (readonly [directive: string, ops: HeaderOpsPlan])[] {
  const found: (readonly [string, HeaderOpsPlan | null])[] = [];
  if (plan.handler === 'reverse_proxy') found.push(['header_up', plan.headersUp], ['header_down', plan.headersDown]);
  if (plan.handler === 'headers') found.push(['request_header', plan.request], ['header', plan.response]);
  return found.flatMap(([directive, ops]) => (ops === null ? [] : [[directive, ops] as const]));
}

/** `path` is the JSON path of the matcher sets. */
export function checkMatchers(run: Compilation, path: string, sets: readonly MatcherSetPlan[]): void {
  checkRoute(run, path, { match: sets, handle: [], group: '', terminal: false });
}

function checkRoute(run: Compilation, path: string, route: RoutePlan): void {
  try {
    const facts = { ...NO_FACTS, mapped: run.routing.mapped };
    compileSites([{ kind: 'site', hash: '', route, pools: [] }], () => null, facts);
  } catch (error) {
    if (error instanceof ConfigError) run.fail(path, error.message);
    throw error;
  }
}
