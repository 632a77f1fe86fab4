import { compileCapturing } from '../captures.ts';
import { readablePath } from '../path.ts';
import type { RequestView } from '../request-view.ts';
import type { MatchContext, Matcher, PlanOf } from './matcher.ts';
import { variableOf } from './vars.ts';

/** The path, decoded and without dot segments and double slashes; letter case counts. Throws `ConfigError`. */
export function compilePathRegexp(plan: PlanOf<'path_regexp'>): Matcher {
  const test = compileCapturing(plan.regexp);
  return (request) => test(readablePath(request.target), request);
}

/** Every field must have a line that fits; the first such line is captured. Throws `ConfigError`. */
export function compileHeaderRegexp(plan: PlanOf<'header_regexp'>): Matcher {
  const rules = Object.entries(plan.fields).map(([name, regexp]): Matcher => {
    const lower = name.toLowerCase();
    const test = compileCapturing(regexp);
    if (lower === 'host') return (request) => test(request.hostport, request);
    return (request) => anyLine(lower, request, test);
  });
  return (request) => rules.every((rule) => rule(request));
}

function anyLine(lower: string, request: RequestView, test: (value: string, request: RequestView) => boolean): boolean {
  const { head } = request;
  for (let line = head.findField(lower, 0); line >= 0; line = head.findField(lower, line + 1)) {
    if (test(head.valueOf(line), request)) return true;
  }
  return false;
}

/** Every variable must fit. Throws `ConfigError`. */
export function compileVarsRegexp(plan: PlanOf<'vars_regexp'>, context: MatchContext): Matcher {
  const rules = Object.entries(plan.vars).map(([name, regexp]): Matcher => {
    const read = variableOf(name, context);
    const test = compileCapturing(regexp);
    return (request) => test(read(request), request);
  });
  return (request) => rules.every((rule) => rule(request));
}
