import { ConfigError } from '../../../shared/config-error.ts';
import { isJson, mediaType } from '../body.ts';
import type { AdminContext } from '../context.ts';
import { AdminError, jsonReply, type AdminRequest, type Route } from '../exchange.ts';

/**
 * `POST /load`: replaces the config. The body is JSON or a Caddyfile, by Content-Type. Warnings come
 * back in the body. 400 `loading config: …` leaves the old config in force. A byte-identical
 * config does nothing, unless `Cache-Control: must-revalidate`.
 */
export function loadRoute({ load }: AdminContext): Route {
  return {
    path: '/load',
    methods: {
      POST: async (request) => {
        const adapter = adapterOf(request);
        const text = (await request.body()).toString('utf8');
        const result = await refusing('loading config', () =>
          load({ text, adapter, filename: 'Caddyfile', force: mustRevalidate(request) }),
        );
        return jsonReply({ warnings: result.warnings, generation: result.generation, unchanged: result.unchanged });
      },
    },
  };
}

/** The adapter the Content-Type names: `application/json`, `text/caddyfile`. */
export function adapterOf(request: AdminRequest): 'caddyfile' | 'json' {
  const type = request.header('content-type');
  if (isJson(type)) return 'json';
  if (mediaType(type) === 'text/caddyfile') return 'caddyfile';
  throw new AdminError(400, `unacceptable content-type: ${type || 'none'}; send application/json or text/caddyfile`);
}

/** `Cache-Control: must-revalidate` loads even what did not change. */
export function mustRevalidate(request: AdminRequest): boolean {
  return /(^|[\s,])must-revalidate($|[\s,])/i.test(request.header('cache-control'));
}

/** Runs `task`; a failure is a 400 that begins with `what`. Faults that are not the config's are named as well. */
export async function refusing<T>(what: string, task: () => Promise<T> | T): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (error instanceof AdminError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const status = error instanceof ConfigError || isSystemError(error) ? 400 : 500;
    throw new AdminError(status, `${what}: ${reason}`, { cause: error });
  }
}

/** Address in use, permission denied: the config asked for it. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
