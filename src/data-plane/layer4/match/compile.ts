/** Matcher sets of layer 4 to functions. */
import type { Layer4MatcherPlan, Layer4MatcherSetPlan } from '../../../shared/plan/layer4.ts';
import { MORE, NO, YES, type Answer } from '../answer.ts';
import type { FlowMatcher, FlowView } from '../flow-view.ts';
import { compileHttp } from './http.ts';
import { compileRemoteIp } from './remote-ip.ts';
import { compileSsh } from './ssh.ts';
import { compileTls } from './tls.ts';

/** OR of the sets; null = always holds. Throws `ConfigError` for what cannot be compiled. */
export function compileSets(sets: readonly Layer4MatcherSetPlan[]): FlowMatcher | null {
  if (sets.length === 0) return null;
  const tests = sets.map(compileSet);
  return tests.length === 1 ? tests[0]! : (view) => anyOf(tests, view);
}

/** AND of the matchers; a set without matchers holds. */
function compileSet(set: Layer4MatcherSetPlan): FlowMatcher {
  const tests = set.map(compileMatcher);
  return tests.length === 1 ? tests[0]! : (view) => allOf(tests, view);
}

function compileMatcher(plan: Layer4MatcherPlan): FlowMatcher {
  switch (plan.kind) {
    case 'remote_ip':
      return compileRemoteIp(plan);
    case 'tls':
      return decided(compileTls(plan));
    case 'http':
      return decided(compileHttp(plan));
    case 'ssh':
      return decided(compileSsh());
    case 'not':
      return compileNot(plan.sets);
  }
}

/** Without a set nothing is denied. */
function compileNot(sets: readonly Layer4MatcherSetPlan[]): FlowMatcher {
  const test = compileSets(sets);
  if (test === null) return () => NO;
  return (view) => {
    const answer = test(view);
    return answer === MORE ? MORE : answer === YES ? NO : YES;
  };
}

/** When no more bytes can come, what is still open does not hold; so `not` of it does. */
function decided(test: FlowMatcher): FlowMatcher {
  return (view) => {
    const answer = test(view);
    return answer === MORE && view.final ? NO : answer;
  };
}

function anyOf(tests: readonly FlowMatcher[], view: FlowView): Answer {
  let open: Answer = NO;
  for (const test of tests) {
    const answer = test(view);
    if (answer === YES) return YES;
    if (answer === MORE) open = MORE;
  }
  return open;
}

/** Waits for nothing when one of them says no: which has to do with the address needs no bytes. */
function allOf(tests: readonly FlowMatcher[], view: FlowView): Answer {
  let whole: Answer = YES;
  for (const test of tests) {
    const answer = test(view);
    if (answer === NO) return NO;
    if (answer === MORE) whole = MORE;
  }
  return whole;
}
