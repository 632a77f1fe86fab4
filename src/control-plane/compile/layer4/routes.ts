/** Routes of a layer-4 server. */
import type { Layer4HandlerPlan, Layer4RoutePlan } from '../../../shared/plan/layer4.ts';
import type { SectionHash } from '../../../shared/plan/types.ts';
import type { Layer4HandlerConfig, Layer4RouteConfig } from '../../config/schema/layer4/routes.ts';
import type { Compilation } from '../compilation.ts';
import { compileLayer4Matchers } from './matchers.ts';
import { compileLayer4Proxy } from './proxy.ts';
import { compileLayer4Tls } from './tls.ts';
import type { ServedTls } from './tls.ts';

/** Each route that goes on to the ones below it repeats them, so a chain of such routes doubles with each. */
const MAX_GOING_ON = 8;

export interface Layer4RouteTools {
  readonly run: Compilation;
  readonly network: 'tcp' | 'udp';
  readonly https: ServedTls;
  /** Collects the pools that are named. */
  readonly pools: Set<SectionHash>;
}

/** `path` is the JSON path of the list. */
export function compileLayer4Routes(
  tools: Layer4RouteTools,
  path: string,
  routes: readonly Layer4RouteConfig[],
): Layer4RoutePlan[] {
  const goingOn = routes.filter(({ handle }) => handle.length > 0 && !handle.some(endsRoute)).length;
  if (goingOn > MAX_GOING_ON) {
    tools.run.fail(
      path,
      `more than ${MAX_GOING_ON} routes only prepare the ones below them: write one subroute for all`,
    );
  }
  warnUnreachable(tools.run, path, routes);
  return compileFrom(tools, path, routes, 0);
}

function warnUnreachable(run: Compilation, path: string, routes: readonly Layer4RouteConfig[]): void {
  const last = routes.findIndex(({ match, handle }) => match.length === 0 && handle.some(endsRoute));
  if (last < 0 || last === routes.length - 1) return;
  run.warn(
    `${path}.${last + 1}`,
    'route',
    'this route is never reached: the one before it has no matcher and takes everything',
  );
}

/**
 * In caddy-l4 a route without an ending handler goes on to the routes below it. Here they become its subroute,
 * so that a worker's route always ends in itself.
 */
function compileFrom(
  tools: Layer4RouteTools,
  path: string,
  routes: readonly Layer4RouteConfig[],
  from: number,
): Layer4RoutePlan[] {
  return routes.slice(from).map((route, offset) => {
    const index = from + offset;
    const place = `${path}.${index}`;
    const handle = compileHandlers(tools, place, route.handle);
    const ends = route.handle.some(endsRoute);
    if (!ends && index === routes.length - 1) {
      tools.run.fail(
        place,
        'nothing takes the connection at the end of this route: add proxy, subroute, echo or close',
      );
    }
    const rest: Layer4HandlerPlan[] = ends
      ? []
      : [{ handler: 'subroute', routes: compileFrom(tools, path, routes, index + 1) }];
    return {
      match: compileLayer4Matchers(tools.run, `${place}.match`, route.match, tools.network),
      handle: [...handle, ...rest],
    };
  });
}

function endsRoute({ handler }: Layer4HandlerConfig): boolean {
  return handler !== 'tls' && handler !== 'proxy_protocol';
}

function compileHandlers(
  tools: Layer4RouteTools,
  path: string,
  handlers: readonly Layer4HandlerConfig[],
): Layer4HandlerPlan[] {
  if (handlers.length === 0) tools.run.fail(path, 'this route does nothing: add proxy, subroute, echo or close');
  const end = handlers.findIndex(endsRoute);
  if (end >= 0 && end < handlers.length - 1) {
    const [last, next] = [handlers[end]!.handler, handlers[end + 1]!.handler];
    tools.run.fail(`${path}.handle.${end + 1}`, `${next} is never reached: ${last} before it takes the connection`);
  }
  return handlers.map((handler, index) => compileHandler(tools, `${path}.handle.${index}`, handler));
}

function compileHandler(tools: Layer4RouteTools, path: string, config: Layer4HandlerConfig): Layer4HandlerPlan {
  const { run, network, pools } = tools;
  switch (config.handler) {
    case 'proxy':
      return compileLayer4Proxy(run, path, config, network, pools);
    case 'tls':
      if (network === 'udp') run.fail(path, 'the handler tls ends TLS over TCP, and its server listens on UDP');
      return compileLayer4Tls(run, path, config, tools.https);
    case 'proxy_protocol':
      return { handler: 'proxy_protocol', allow: config.allow, timeoutMs: config.timeout };
    case 'subroute':
      if (config.routes.length === 0) run.fail(path, 'this subroute has no route: add one');
      return { handler: 'subroute', routes: compileLayer4Routes(tools, `${path}.routes`, config.routes) };
    default:
      return { handler: config.handler };
  }
}
