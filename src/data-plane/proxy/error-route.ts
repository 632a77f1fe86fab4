/** What the error routes of a server (`handle_errors`) make of a failure. Only before the first byte of a response. */
import type { CompiledRouter } from '../route/compile.ts';
import { createRouteState, type Decision, type RouteState } from '../route/decision.ts';
import { notesOf, type RequestError } from '../route/notes.ts';
import { finishOwnFields } from '../route/response-ops.ts';
import type { RequestFacts } from './request-facts.ts';

export interface ErrorAnswer<Pool> {
  /** Never an error again. */
  readonly decision: Exclude<Decision<Pool>, { readonly kind: 'error' }>;
  readonly state: RouteState;
}

/**
 * null = the plain response, with the status of `request.notes.error`: nothing matched, or the routes failed themselves,
 * whose error then counts. Method and target are those received, as in Caddy; header fields stay as handlers left them,
 * and fields already set for the response (`responseFields`) go out unless the error routes set their own.
 */
export function routeError<Pool>(
  router: CompiledRouter<Pool>,
  request: RequestFacts,
  error: RequestError,
  responseFields: readonly string[],
): ErrorAnswer<Pool> | null {
  const notes = notesOf(request);
  notes.error = error;
  request.method = request.head.method;
  request.target = request.head.originForm;
  request.forgetPicks();
  const state = createRouteState();
  const decision = router.route(request, state);
  if (decision === null) return null;
  if (decision.kind === 'error') {
    notes.error = decision;
    return null;
  }
  const early = { responseFields, responseOps: [] };
  const fields = finishOwnFields(state.responseFields, error.status, early, request);
  return { decision, state: { ...state, responseFields: fields } };
}
