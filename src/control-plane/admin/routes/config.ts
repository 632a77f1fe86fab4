import { decodePart } from '../config-tree.ts';
import type { ConfigAccess } from '../config-access.ts';
import type { WriteMethod } from '../config-write.ts';
import { AdminError, type AdminRequest, type Handler, type Route } from '../exchange.ts';

const WRITES: readonly WriteMethod[] = ['POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * `/config/[path]`: the config in force as JSON, secrets as `***`. GET reads, with an ETag; POST, PUT,
 * PATCH and DELETE change it and load the result, under `If-Match` when it is given.
 */
export function configRoute(access: ConfigAccess): Route {
  return routeOver('/config', access, (request) => request.rest);
}

/** `/id/<id>/[path]`: the same, from the object with that `@id` on. */
export function idRoute(access: ConfigAccess): Route {
  return routeOver('/id', access, (request) => {
    const [, id = '', ...below] = request.rest.split('/');
    if (id === '') throw new AdminError(400, 'no object ID: /id/<id>');
    return [access.pathOfId(decodePart(id)), ...below].join('/');
  });
}

function routeOver(path: string, access: ConfigAccess, restOf: (request: AdminRequest) => string): Route {
  const writes = WRITES.map((method): [string, Handler] => [
    method,
    (request) => access.write(method, restOf(request), request),
  ]);
  return {
    path,
    subtree: true,
    methods: { GET: (request) => access.read(restOf(request)), ...Object.fromEntries(writes) },
  };
}
