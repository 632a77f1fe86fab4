import type { AdminContext } from '../context.ts';
import { emptyReply, type Route } from '../exchange.ts';

/** `POST /stop`: answers, then drains and ends. */
export function stopRoute({ stop, log }: AdminContext): Route {
  return {
    path: '/stop',
    methods: {
      POST: () => {
        log.info('stop requested through the admin API');
        return { ...emptyReply(), afterwards: stop };
      },
    },
  };
}
