import type { ControlEvent } from '../../types.ts';
import type { AdminContext } from '../context.ts';
import { EventStream } from '../event-stream.ts';
import { AdminError, type Route } from '../exchange.ts';

/** Each has a backlog of its own. */
const MAX_CLIENTS = 64;

/** `GET /events`: what happens from now on, as server-sent events. It ends when the endpoint closes. */
export function eventsRoute({ plane }: AdminContext): Route {
  let clients = 0;
  return {
    path: '/events',
    methods: {
      GET: () => {
        if (clients >= MAX_CLIENTS) throw new AdminError(503, `${MAX_CLIENTS} clients read the events already`);
        clients += 1;
        const stream = new EventStream<ControlEvent>(
          (listener) => plane.onEvent(listener),
          ({ at, type, message, fields }) => ({
            event: type,
            data: { at: new Date(at).toISOString(), type, message, fields },
          }),
        );
        return {
          status: 200,
          headers: { 'Content-Type': 'text/event-stream' },
          body: stream.pieces(),
          cancel: () => stream.close(),
          afterwards: () => {
            clients -= 1;
            stream.close();
          },
        };
      },
    },
  };
}
