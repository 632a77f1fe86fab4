import { duration, integer, one, some, statusOrClass } from '../../syntax/read.ts';
import { put, type SubdirectiveTable } from './draft.ts';

/** Passive health: what the traffic itself tells about an upstream. */
export const PASSIVE_SUBDIRECTIVES: SubdirectiveTable = {
  fail_duration: (line, draft) => put(draft, draft.passive, 'fail_duration', duration(one(line)), line),
  max_fails: (line, draft) => {
    put(draft, draft.passive, 'max_fails', integer(one(line), 'invalid maximum fail count'), line);
  },
  unhealthy_status: (line, draft) => {
    const known = draft.passive['unhealthy_status'];
    const more = some(line, 1).map(statusOrClass);
    put(draft, draft.passive, 'unhealthy_status', [...(Array.isArray(known) ? known : []), ...more], line);
  },
  unhealthy_latency: (line, draft) => put(draft, draft.passive, 'unhealthy_latency', duration(one(line)), line),
  unhealthy_request_count: (line, draft) => {
    const count = integer(one(line), 'invalid maximum connection count');
    put(draft, draft.passive, 'unhealthy_request_count', count, line);
  },
};
