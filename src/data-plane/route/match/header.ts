import type { RequestView } from '../request-view.ts';
import { compileTemplate } from '../template.ts';
import { compileWildcard } from '../wildcard.ts';
import type { MatchContext, Matcher, PlanOf } from './matcher.ts';

type ValueTest = (value: string, request: RequestView) => boolean;

/**
 * Every field must fit: null = absent, an empty list = present, else one of its lines fits one of the values.
 * `Host` is the host as received, port included.
 */
export function compileHeader(plan: PlanOf<'header'>, context: MatchContext): Matcher {
  const rules = Object.entries(plan.header).map(([name, values]) => compileField(name, values, context));
  return (request) => rules.every((rule) => rule(request));
}

function compileField(name: string, values: readonly string[] | null, context: MatchContext): Matcher {
  const lower = name.toLowerCase();
  if (values === null) return (request) => !isPresent(lower, request);
  if (values.length === 0) return (request) => isPresent(lower, request);
  const tests = values.map((value) => compileValue(value, context));
  if (lower === 'host') return (request) => tests.some((test) => test(request.hostport, request));
  return (request) => {
    const { head } = request;
    for (let line = head.findField(lower, 0); line >= 0; line = head.findField(lower, line + 1)) {
      const value = head.valueOf(line);
      if (tests.some((test) => test(value, request))) return true;
    }
    return false;
  };
}

function isPresent(lower: string, request: RequestView): boolean {
  return lower === 'host' ? request.hostport !== '' : request.head.findField(lower, 0) >= 0;
}

function compileValue(text: string, context: MatchContext): ValueTest {
  const template = compileTemplate(text, 'all', { encoding: 'text', facts: context.facts });
  if (template.constant !== null) return compileWildcard(template.constant);
  return (value, request) => compileWildcard(template.render(request))(value);
}
