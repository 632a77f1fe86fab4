/** Matcher sets to functions. */
import type { MatcherPlan, MatcherSetPlan } from '../../../shared/plan/types.ts';
import { compileClientIp, compileRemoteIp } from './address.ts';
import { compileExpression } from './expression.ts';
import { compileErrorStatus } from './error-status.ts';
import { compileHeader } from './header.ts';
import { compileHost } from './host.ts';
import type { MatchContext, Matcher } from './matcher.ts';
import { compileMethod } from './method.ts';
import { compilePath } from './path.ts';
import { compileProtocol } from './protocol.ts';
import { compileQuery } from './query.ts';
import { compileHeaderRegexp, compilePathRegexp, compileVarsRegexp } from './regexp.ts';
import { compileVars } from './vars.ts';

/** OR of the sets; no set at all always holds, which null says without a call per request. */
export function compileSets(sets: readonly MatcherSetPlan[], context: MatchContext): Matcher | null {
  if (sets.length === 0) return null;
  const tests = sets.map((set) => compileSet(set, context));
  const [only] = tests;
  if (tests.length === 1) return only!;
  return (request) => tests.some((test) => test(request));
}

/** AND of the matchers; a set without matchers holds. */
function compileSet(set: MatcherSetPlan, context: MatchContext): Matcher {
  const tests = set.map((plan) => compileMatcher(plan, context));
  const [first, second] = tests;
  if (tests.length === 1) return first!;
  if (tests.length === 2) return (request) => first!(request) && second!(request);
  return (request) => tests.every((test) => test(request));
}

function compileMatcher(plan: MatcherPlan, context: MatchContext): Matcher {
  switch (plan.kind) {
    case 'host':
      return compileHost(plan);
    case 'path':
      return compilePath(plan, context);
    case 'method':
      return compileMethod(plan);
    case 'query':
      return compileQuery(plan, context);
    case 'header':
      return compileHeader(plan, context);
    case 'protocol':
      return compileProtocol(plan);
    case 'remote_ip':
      return compileRemoteIp(plan);
    case 'client_ip':
      return compileClientIp(plan);
    case 'expression':
      return compileExpression(plan, context, compileMatcher);
    case 'path_regexp':
      return compilePathRegexp(plan);
    case 'header_regexp':
      return compileHeaderRegexp(plan);
    case 'vars':
      return compileVars(plan, context);
    case 'vars_regexp':
      return compileVarsRegexp(plan, context);
    case 'error_status':
      return compileErrorStatus(plan);
    case 'not':
      return compileNot(plan.sets, context);
  }
}

/** Holds when none of the sets does. */
function compileNot(sets: readonly MatcherSetPlan[], context: MatchContext): Matcher {
  const any = compileSets(sets, context);
  return any === null ? () => true : (request) => !any(request);
}
