import type { AdminContext } from '../context.ts';
import { jsonReply, type Route } from '../exchange.ts';
import { refusing } from '../loading.ts';
import { adapterOf } from './load.ts';

/** `POST /adapt`: the JSON a config adapts to, and the warnings. Loads nothing. */
export function adaptRoute({ adapt }: AdminContext): Route {
  return {
    path: '/adapt',
    methods: {
      POST: async (request) => {
        const adapter = adapterOf(request);
        const text = (await request.body()).toString('utf8');
        const { config, warnings } = await refusing('adapting config', () => adapt(text, adapter, 'Caddyfile'));
        return jsonReply({ ...(warnings.length > 0 ? { warnings } : {}), result: config });
      },
    },
  };
}
