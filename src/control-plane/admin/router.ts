import { errorReply, type AdminReply, type Handler, type Route } from './exchange.ts';

export type Found =
  | { readonly handler: Handler; readonly rest: string }
  /** 404, or 405 with `Allow`. */
  | { readonly refusal: AdminReply };

/** Finds the route of a path: the longest one that fits. GET handlers answer HEAD too. */
export function findRoute(routes: readonly Route[], method: string, path: string): Found {
  const route = routes.filter((candidate) => fits(candidate, path)).sort((a, b) => b.path.length - a.path.length)[0];
  if (route === undefined) return { refusal: errorReply(404, `no such resource: ${path}`) };
  const handler = Object.hasOwn(route.methods, method) ? route.methods[method] : undefined;
  const found = handler ?? (method === 'HEAD' ? route.methods['GET'] : undefined);
  if (found !== undefined) return { handler: found, rest: path.slice(route.path.length) };
  return { refusal: errorReply(405, `method ${method} is not allowed here`, { Allow: allowedMethods(route) }) };
}

function fits(route: Route, path: string): boolean {
  return path === route.path || (route.subtree === true && path.startsWith(`${route.path}/`));
}

function allowedMethods(route: Route): string {
  const methods = Object.keys(route.methods);
  return (methods.includes('GET') ? [...methods, 'HEAD'] : methods).join(', ');
}
