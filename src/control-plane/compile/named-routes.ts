/** Named routes (`invoke`) and `map` destinations of a server: what its routes refer to. */
import type { HttpServerConfig } from '../config/schema/http-server.ts';
import type { RouteConfig } from '../config/schema/routes.ts';
import type { Compilation, ServerRouting } from './compilation.ts';

/** Copies of named routes in one server: each `invoke` makes one, and one of each that it invokes in turn. */
const MAX_COPIES = 10_000;

/** `path` is the JSON path of the server. */
export function serverRouting(path: string, server: HttpServerConfig): ServerRouting {
  const routes = [...server.routes, ...server.errors.routes, ...Object.values(server.named_routes)];
  return {
    namedRoutes: server.named_routes,
    namedRoutesPath: `${path}.named_routes`,
    mapped: mappedBy(routes),
    invoking: [],
    copies: 0,
    inResponse: false,
  };
}

function mappedBy(routes: readonly RouteConfig[], names: Set<string> = new Set()): Set<string> {
  for (const handler of routes.flatMap(({ handle }) => handle)) {
    if (handler.handler === 'subroute') mappedBy(handler.routes, names);
    if (handler.handler === 'reverse_proxy')
      for (const { routes: own } of handler.handle_response) mappedBy(own, names);
    if (handler.handler === 'map') for (const name of handler.destinations) names.add(name.slice(1, -1));
  }
  return names;
}

/**
 * Hands the named route to `compile`, with its JSON path. Fails at `path` when nobody defined it, when it invokes
 * itself, and when there are too many copies.
 */
export function compileInvoked<T>(
  run: Compilation,
  path: string,
  name: string,
  compile: (path: string, route: RouteConfig) => T,
): T {
  const { routing } = run;
  const route = Object.hasOwn(routing.namedRoutes, name) ? routing.namedRoutes[name] : undefined;
  if (route === undefined) return run.fail(path, `cannot invoke named route '${name}', which was not defined`);
  if (routing.invoking.includes(name)) {
    return run.fail(path, `named route '${name}' invokes itself: ${[...routing.invoking, name].join(' → ')}`);
  }
  routing.copies += 1;
  if (routing.copies > MAX_COPIES)
    return run.fail(path, `more than ${MAX_COPIES} copies of named routes in one server`);
  routing.invoking.push(name);
  const compiled = compile(`${routing.namedRoutesPath}.${name}`, route);
  routing.invoking.pop();
  return compiled;
}
