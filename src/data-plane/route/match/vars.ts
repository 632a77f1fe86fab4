import type { RequestView } from '../request-view.ts';
import { compileTemplate } from '../template.ts';
import type { MatchContext, Matcher, PlanOf } from './matcher.ts';

/** Every variable must have one of its values; one that is not set is empty. Throws `ConfigError`. */
export function compileVars(plan: PlanOf<'vars'>, context: MatchContext): Matcher {
  const { facts } = context;
  const rules = Object.entries(plan.vars).map(([name, texts]): Matcher => {
    const read = variableOf(name, context);
    const values = texts.map((text) => compileTemplate(text, 'all', { encoding: 'text', facts }));
    return (request) => {
      const found = read(request);
      return values.some((value) => value.render(request) === found);
    };
  });
  return (request) => rules.every((rule) => rule(request));
}

/** Reads a variable by name, or any text in which a placeholder stands: `{http.request.uri}`. */
export function variableOf(name: string, { facts }: MatchContext): (request: RequestView) => string {
  const text = name.startsWith('{') ? name : `{http.vars.${name}}`;
  return compileTemplate(text, 'all', { encoding: 'text', facts }).render;
}
