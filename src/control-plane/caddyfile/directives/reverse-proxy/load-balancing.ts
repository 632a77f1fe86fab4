import { parseInlineOrBlock } from '../../matchers/set.ts';
import type { JsonObject } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { duration, flag, integer, one, some } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import { type ProxyDraft, put, type SubdirectiveTable } from './draft.ts';
import { parsePolicy } from './policies.ts';

/** `lb_*`. `lb_retries 0` is kept: it turns failover off, which is not the default. */
export const LOAD_BALANCING_SUBDIRECTIVES: SubdirectiveTable = {
  lb_policy: (line, draft) => {
    if (draft.loadBalancing['selection_policy'] !== undefined) {
      throw failure(line.name, 'load balancing selection policy already specified');
    }
    const policy = parsePolicy(line, draft.context.adaptation.origins);
    put(draft, draft.loadBalancing, 'selection_policy', policy, line);
  },
  lb_retries: (line, draft) => {
    const token = one(line);
    const retries = integer(token, 'bad lb_retries number');
    if (retries < 0) throw failure(token, `bad lb_retries number '${token.text}': write 0 or more`);
    put(draft, draft.loadBalancing, 'retries', retries, line);
  },
  lb_try_duration: (line, draft) => {
    put(draft, draft.loadBalancing, 'try_duration', duration(one(line), 'bad duration value'), line);
  },
  lb_try_interval: (line, draft) => {
    put(draft, draft.loadBalancing, 'try_interval', duration(one(line), 'bad interval value'), line);
  },
  lb_retry_match: addRetryMatch,
  lb_queue: (line, draft) => {
    const [count, timeout] = some(line, 1, 2);
    const size = integer(count!, 'bad lb_queue number');
    if (size < 1 || size > 100_000) throw failure(count!, `bad lb_queue number '${count!.text}': write 1 to 100000`);
    const queue: JsonObject = { size };
    if (timeout !== undefined) queue['timeout'] = duration(timeout, 'bad lb_queue timeout');
    put(draft, draft.loadBalancing, 'queue', draft.context.adaptation.origins.mark(queue, line.name), line);
  },
  lb_best_effort: (line, draft) => {
    flag(line);
    put(draft, draft.loadBalancing, 'best_effort', true, line);
  },
};

function addRetryMatch(line: Statement, draft: ProxyDraft): void {
  const set = draft.context.adaptation.origins.mark(parseInlineOrBlock(line.name, line, ''), line.name);
  const known = draft.loadBalancing['retry_match'];
  put(draft, draft.loadBalancing, 'retry_match', [...(Array.isArray(known) ? known : []), set], line);
}
