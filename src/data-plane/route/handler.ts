/** One step of a route. */
import type { RoutePlan, SectionHash } from '../../shared/plan/types.ts';
import type { FindDerived } from './derived.ts';
import type { Decision, RouteState } from './decision.ts';
import type { MatchContext } from './match/matcher.ts';
import type { RequestView } from './request-view.ts';

/** A terminal route matched and none of its handlers answered: nothing behind it runs, in no list around it. */
export const ENDED: { readonly kind: 'ended' } = Object.freeze({ kind: 'ended' });

/** null = go on with what comes next. */
export type Outcome<Pool> = Decision<Pool> | typeof ENDED | null;

export type Handler<Pool> = (request: RequestView, state: RouteState) => Outcome<Pool>;

/** What compiling a handler needs besides its plan. */
export interface CompileContext<Pool> extends MatchContext {
  poolOf(hash: SectionHash): Pool;
  /** Pools of upstreams that requests name. */
  readonly derived: FindDerived<Pool>;
  /** Told of every route whose handlers run; null = nobody asks. */
  readonly observe: ((route: RoutePlan) => void) | null;
}
