/** Which handlers are the same over a reload, for the tunnels that run under them. */
import type { HandlerPlan, ReverseProxyPlan, RoutePlan } from '../../shared/plan/types.ts';

/** All that the handler is; its pool goes by the hash of its content. */
export function streamKey(plan: ReverseProxyPlan): string {
  return JSON.stringify(plan);
}

/** Adds the keys of all handlers in `routes` that limit their tunnels. */
export function addStreamKeys(routes: readonly RoutePlan[], keys: Set<string>): void {
  for (const route of routes) for (const handler of route.handle) addKey(handler, keys);
}

function addKey(handler: HandlerPlan, keys: Set<string>): void {
  if (handler.handler === 'subroute') {
    addStreamKeys(handler.routes, keys);
  } else if (handler.handler === 'reverse_proxy') {
    if (handler.streams !== undefined) keys.add(streamKey(handler));
    for (const { routes } of handler.handleResponse) addStreamKeys(routes, keys);
  }
}
