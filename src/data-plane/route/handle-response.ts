/** `handle_response`: what is done with the response of an upstream before its client sees any of it. */
import type { CopyResponseHeadersPlan, CopyResponsePlan, HandleResponsePlan } from '../../shared/plan/types.ts';
import type { CopyDecision, Decision, ErrorDecision, RouteState } from './decision.ts';
import { checkFieldName, isOwnField } from './field-list.ts';
import type { Handler, Outcome } from './handler.ts';
import type { ProcessFacts } from './placeholder/placeholder.ts';
import type { RequestView } from './request-view.ts';
import { compileRequire, type ResponseTest } from './response-ops.ts';
import { compileStatus } from './static-response.ts';

/** The head of an upstream's response, kept for the handlers and placeholders that read it. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly reason: string;
  /** Alternating names and values, without those that belong to the connection. */
  readonly fields: readonly string[];
}

/**
 * The rest of one list of routes. It is kept with the state of a request, which knows no pools: what it answers was
 * made by the same router.
 */
export type Resume = (request: RequestView, state: RouteState) => Outcome<never>;

interface CompiledEntry<Pool> {
  /** null = every response. */
  readonly fits: ResponseTest | null;
  /** `replace_status`; null = `routes` answer. */
  readonly status: ((request: RequestView) => number) | null;
  readonly routes: Handler<Pool>;
}

/** `pass`: the response goes to the client, with `status`. */
type ResponseDecision<Pool> = { readonly kind: 'pass'; readonly status: number } | Decision<Pool> | null;

export interface CompiledHandleResponse<Pool> {
  /**
   * null = no handler answered, as when no route of a site does. `state` is that of the request, and goes on to be
   * filled. Never throws for anything a peer sent.
   */
  decide(request: RequestView, state: RouteState, answer: UpstreamAnswer): ResponseDecision<Pool>;
}

/** null when nothing is written. `routesOf` compiles the routes of an entry. Throws `ConfigError`. */
export function compileHandleResponse<Pool>(
  plans: readonly HandleResponsePlan[],
  routesOf: (plan: HandleResponsePlan) => Handler<Pool>,
  facts: ProcessFacts,
): CompiledHandleResponse<Pool> | null {
  if (plans.length === 0) return null;
  const entries = plans.map((plan): CompiledEntry<Pool> => ({
    fits: plan.match === null ? null : compileRequire(plan.match),
    status: plan.statusCode === '' ? null : compileStatus(plan.statusCode, facts),
    routes: routesOf(plan),
  }));
  return {
    decide(request, state, answer) {
      const entry = entries.find(({ fits }) => fits === null || fits(answer.status, answer.fields));
      if (entry === undefined) return { kind: 'pass', status: answer.status };
      if (entry.status !== null) return { kind: 'pass', status: entry.status(request) };
      return runEntry(entry.routes, request, state, answer);
    },
  };
}

/** The routes of the entry, then what stands behind the `reverse_proxy`: in Caddy that is the next handler of the last route. */
function runEntry<Pool>(
  routes: Handler<Pool>,
  request: RequestView,
  state: RouteState,
  answer: UpstreamAnswer,
): Decision<Pool> | null {
  const behind = state.resume ?? [];
  state.resume = null;
  state.answer = answer;
  let outcome = routes(request, state);
  let next = 0;
  if (outcome === null) state.answer = null;
  for (; outcome === null && next < behind.length; next += 1) outcome = behind[next]!(request, state);
  if (state.resume !== null) (state.resume as Resume[]).push(...behind.slice(next));
  return outcome === null || outcome.kind === 'ended' ? null : outcome;
}

const NO_ANSWER: ErrorDecision = Object.freeze({ kind: 'error', status: 500, message: 'no response to copy' });

/** Throws `ConfigError` for a status that is none and for bad placeholders. */
export function compileCopyResponse(
  plan: CopyResponsePlan,
  facts: ProcessFacts,
): (request: RequestView, state: RouteState) => CopyDecision | ErrorDecision {
  const status = plan.statusCode === '' ? null : compileStatus(plan.statusCode, facts);
  return (request, { answer }) => (answer === null ? NO_ANSWER : { kind: 'copy', status: status?.(request) ?? 0 });
}

/** Throws `ConfigError` for names that are none. Fields that frame a message stay behind: another body may follow. */
export function compileCopyResponseHeaders(
  plan: CopyResponseHeadersPlan,
): (request: RequestView, state: RouteState) => null {
  const include = plan.include.map((name) => checkFieldName(name).toLowerCase());
  const exclude = plan.exclude.map((name) => checkFieldName(name).toLowerCase());
  return (_request, { answer, responseFields }) => {
    const fields = answer?.fields ?? [];
    for (let at = 0; at < fields.length; at += 2) {
      const lower = fields[at]!.toLowerCase();
      const isWanted = (include.length === 0 || include.includes(lower)) && !exclude.includes(lower);
      if (isWanted && !isOwnField(lower)) responseFields.push(fields[at]!, fields[at + 1]!);
    }
    return null;
  };
}
