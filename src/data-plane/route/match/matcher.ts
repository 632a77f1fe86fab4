/** One condition on a request. */
import type { MatcherPlan } from '../../../shared/plan/types.ts';
import type { PathReader } from '../path.ts';
import type { ProcessFacts } from '../placeholder/placeholder.ts';
import type { RequestView } from '../request-view.ts';

export type Matcher = (request: RequestView) => boolean;

/** What compiling a matcher needs besides its plan. */
export interface MatchContext {
  readonly facts: ProcessFacts;
  readonly readPath: PathReader;
}

/** The plan of one kind of matcher. */
export type PlanOf<Kind extends MatcherPlan['kind']> = Extract<MatcherPlan, { readonly kind: Kind }>;
