import { restoreSecrets } from '../../config/redact.ts';
import { isJson, mediaType, parseJson } from '../body.ts';
import type { AdminContext } from '../context.ts';
import { AdminError, jsonReply, type AdminRequest, type Route } from '../exchange.ts';
import { mustRevalidate, refusing } from '../loading.ts';

/**
 * `POST /load`: replaces the config. The body is JSON or a Caddyfile, by Content-Type. Warnings come
 * back in the body. 400 `loading config: …` leaves the old config in force. A byte-identical
 * config does nothing, unless `Cache-Control: must-revalidate`.
 */
export function loadRoute({ load, plane }: AdminContext): Route {
  return {
    path: '/load',
    methods: {
      POST: async (request) => {
        const adapter = adapterOf(request);
        const text = (await request.body()).toString('utf8');
        const result = await refusing('loading config', () =>
          load({
            text: adapter === 'json' ? keepSecrets(text, plane.config()) : text,
            adapter,
            filename: 'Caddyfile',
            force: mustRevalidate(request),
          }),
        );
        const { warnings, generation, unchanged, changes } = result;
        return jsonReply({ warnings, generation, unchanged, changes });
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

/** `***` in JSON stands for the secret that is at this place now. Other text goes through byte for byte. */
function keepSecrets(text: string, current: unknown): string {
  if (!text.includes('***')) return text;
  return JSON.stringify(restoreSecrets(parseJson(Buffer.from(text)), current));
}
