import type { Matcher, PlanOf } from './matcher.ts';

/** The status of the error that is being answered is one of these, or of one of these classes. Never holds elsewhere. */
export function compileErrorStatus(plan: PlanOf<'error_status'>): Matcher {
  const wanted = new Set(plan.status);
  return ({ notes }) => {
    const status = notes?.error?.status;
    return status !== undefined && (wanted.has(status) || wanted.has(Math.floor(status / 100)));
  };
}
