import { parseQuery } from '../query.ts';
import type { RequestView } from '../request-view.ts';
import { queryOf } from '../target.ts';
import { compileTemplate, type Template } from '../template.ts';
import type { MatchContext, Matcher, PlanOf } from './matcher.ts';

interface QueryRule {
  readonly key: Template;
  readonly values: readonly Template[];
  readonly any: boolean;
}

/** Every key must be there with one of its values; `*` takes any. No keys at all: the query must be empty. */
export function compileQuery(plan: PlanOf<'query'>, context: MatchContext): Matcher {
  const rules = Object.entries(plan.query).map(([key, values]): QueryRule => ({
    key: compileTemplate(key, 'all', { encoding: 'text', facts: context.facts }),
    values: values.map((value) => compileTemplate(value, 'all', { encoding: 'text', facts: context.facts })),
    any: values.includes('*'),
  }));
  if (rules.length === 0) return (request) => parseQuery(queryOf(request.target)).length === 0;
  return (request) => {
    const query = queryOf(request.target);
    if (query === '') return false;
    const pairs = parseQuery(query);
    return rules.every((rule) => holds(rule, pairs, request));
  };
}

function holds(rule: QueryRule, pairs: readonly (readonly [string, string])[], request: RequestView): boolean {
  const wanted = rule.key.render(request);
  return pairs.some(
    ([key, value]) => key === wanted && (rule.any || rule.values.some((wanted) => wanted.render(request) === value)),
  );
}
