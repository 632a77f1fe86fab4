import { failure } from '../../syntax/failure.ts';
import { duration, integer, one, some, statusOrClass, wrongCount } from '../../syntax/read.ts';
import type { Token } from '../../syntax/token.ts';
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
  fail_ratio: (line, draft) => {
    const [ratio, least] = some(line, 1, 2);
    if (ratio === undefined) throw wrongCount(line);
    put(draft, draft.passive, 'fail_ratio', share(ratio), line);
    if (least === undefined) return;
    put(draft, draft.passive, 'fail_ratio_min_requests', integer(least, 'invalid number of requests'), line);
  },
  unhealthy_request_count: (line, draft) => {
    const count = integer(one(line), 'invalid maximum connection count');
    put(draft, draft.passive, 'unhealthy_request_count', count, line);
  },
};

function share(token: Token): number {
  if (/^(0(\.\d+)?|1(\.0+)?)$/.test(token.text)) return Number(token.text);
  throw failure(token, `bad fail_ratio '${token.text}': write a share of requests from 0 to 1, such as 0.5`);
}
