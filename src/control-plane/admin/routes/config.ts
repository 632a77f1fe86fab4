import { redactSecrets } from '../../config/redact.ts';
import { splitPath, valueAt } from '../config-tree.ts';
import type { AdminContext } from '../context.ts';
import { etagOf } from '../etag.ts';
import type { Route } from '../exchange.ts';

/** `GET /config/[path]`: the config in force as JSON, secrets as `***`, with an ETag. */
export function configRoute({ plane }: AdminContext): Route {
  return {
    path: '/config',
    subtree: true,
    methods: {
      GET: (request) => {
        const value = valueAt(redactSecrets(plane.config()), splitPath(request.rest));
        const body = `${JSON.stringify(value)}\n`;
        return { status: 200, headers: { 'Content-Type': 'application/json', ETag: etagOf(request.path, body) }, body };
      },
    },
  };
}
