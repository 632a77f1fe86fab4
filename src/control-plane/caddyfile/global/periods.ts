import { setField } from '../context.ts';
import { failure } from '../syntax/failure.ts';
import { duration, one } from '../syntax/read.ts';
import type { GlobalOption } from './option.ts';

/** A field of `apps.http` that is a duration; its range is in the schema. */
function period(name: 'grace_period' | 'name_refresh' | 'shutdown_delay' | 'worker_hang_timeout'): GlobalOption {
  return {
    name,
    parse(statement, options, adaptation) {
      const token = one(statement);
      const value = duration(token);
      if (value < 0) throw failure(token, `${name} cannot be negative: '${token.text}'`);
      setField(options.http, name, value, token, adaptation.origins);
    },
  };
}

/** `grace_period <duration>`: how long running requests may go on at a stop. */
export const gracePeriod: GlobalOption = period('grace_period');

/** `name_refresh <duration>`: how often names of upstreams are asked again. */
export const nameRefresh: GlobalOption = period('name_refresh');

/** `shutdown_delay <duration>`: how long listeners go on at a stop before the drain begins. */
export const shutdownDelay: GlobalOption = period('shutdown_delay');

/** `worker_hang_timeout <duration>`: a worker that stands still this long is replaced. */
export const workerHangTimeout: GlobalOption = period('worker_hang_timeout');
