import type { Matcher, PlanOf } from './matcher.ts';

/** Methods are case-sensitive (RFC 9110 section 9.1). */
export function compileMethod(plan: PlanOf<'method'>): Matcher {
  const methods = new Set(plan.methods);
  return (request) => methods.has(request.method);
}
