/** `error`: the error routes of the server answer. */
import type { ErrorPlan } from '../../shared/plan/types.ts';
import type { ErrorDecision } from './decision.ts';
import type { ProcessFacts } from './placeholder/placeholder.ts';
import type { RequestView } from './request-view.ts';
import { compileStatus } from './static-response.ts';
import { compileTemplate } from './template.ts';

/** Throws `ConfigError` for a status that is none and for bad placeholders. */
export function compileError(plan: ErrorPlan, facts: ProcessFacts): (request: RequestView) => ErrorDecision {
  const status = compileStatus(plan.statusCode === '' ? '500' : plan.statusCode, facts);
  const message = compileTemplate(plan.message, 'known', { encoding: 'text', facts });
  return (request) => ({ kind: 'error', status: status(request), message: message.render(request) });
}
