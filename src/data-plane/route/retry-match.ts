/** `lb_retry_match`: which failed tries, and which responses, go to another upstream. */
import type { MatcherPlan, MatcherSetPlan } from '../../shared/plan/types.ts';
import { compileSets } from './match/compile.ts';
import type { MatchContext, Matcher } from './match/matcher.ts';

export interface CompiledRetryMatch {
  /** Asked when the connection broke, the response was no HTTP or did not come in time. */
  readonly failure: Matcher;
  /** Asked with the head of each response; null = none of the sets is about responses. */
  readonly response: Matcher | null;
}

const ABOUT_RESPONSES: readonly string[] = ['{http.reverse_proxy.status_code}', '{http.reverse_proxy.header.'];

/** null when nothing is written. Throws `ConfigError`. */
export function compileRetryMatch(sets: readonly MatcherSetPlan[], context: MatchContext): CompiledRetryMatch | null {
  const failure = compileSets(sets, context);
  if (failure === null) return null;
  const response = sets.filter((set) => set.some(readsResponse));
  return { failure, response: compileSets(response, context) };
}

/** A set that looks at the request alone holds for every answer too, and would retry the good ones. */
function readsResponse(plan: MatcherPlan): boolean {
  return plan.kind === 'expression' && ABOUT_RESPONSES.some((start) => plan.expression.includes(start));
}
