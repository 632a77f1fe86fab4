/** `request_body`: how much of a body goes upstream, how long it may take, and what goes in its place. */
import type { RequestBodyPlan } from '../../shared/plan/types.ts';
import type { ClientTimes, RouteState } from './decision.ts';
import { keepFields } from './field-list.ts';
import type { ProcessFacts } from './placeholder/placeholder.ts';
import { editFields } from './request-headers.ts';
import type { RequestView } from './request-view.ts';
import { compileTemplate } from './template.ts';

/**
 * Of several limits the last one counts, as in Caddy the innermost; a handler that only says something else leaves it.
 * Throws `ConfigError` for bad placeholders.
 */
export function compileRequestBody(
  plan: RequestBodyPlan,
  facts: ProcessFacts,
): (request: RequestView, state: RouteState) => null {
  const { maxBytes, readTimeoutMs = 0, writeTimeoutMs = 0 } = plan;
  const body = plan.body === undefined ? null : compileTemplate(plan.body, 'known', { encoding: 'text', facts });
  const times: ClientTimes | null =
    readTimeoutMs + writeTimeoutMs > 0 ? { readMs: readTimeoutMs, writeMs: writeTimeoutMs } : null;
  const limits = maxBytes > 0 || (body === null && times === null);
  return (request, state) => {
    if (limits) state.maxBodyBytes = maxBytes === 0 ? Infinity : maxBytes;
    if (times !== null) state.times = times;
    if (body !== null) state.body = body.render(request);
    return null;
  };
}

/** The field lines of the request announce `bytes` of a body, and nothing else of one. */
export function announceBody(request: RequestView, bytes: number): void {
  editFields(request, (fields) => {
    keepFields(fields, (name) => name !== 'content-length' && name !== 'transfer-encoding' && name !== 'expect');
    fields.push('Content-Length', String(bytes));
  });
}
