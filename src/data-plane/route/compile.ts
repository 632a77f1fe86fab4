/** PURE. Sites of a plan to functions. Workers route with them, and `explain` gets the very same answer. */
import { compilePrefixes } from '../../shared/net/cidr.ts';
import type {
  HandlerPlan,
  HeadersPlan,
  ReverseProxyPlan,
  RoutePlan,
  SectionHash,
  SiteSection,
} from '../../shared/plan/types.ts';
import { compileAuthentication } from './authentication.ts';
import { toBytes } from './bytes.ts';
import { clearRouteState, type CompiledProxy, type Decision, type RouteState } from './decision.ts';
import { compileDerived, type FindDerived } from './derived.ts';
import { ENDED, type CompileContext, type Handler, type Outcome } from './handler.ts';
import { compileEncode, type CompiledEncoding } from './encode.ts';
import { compileError } from './error.ts';
import {
  compileCopyResponse,
  compileCopyResponseHeaders,
  compileHandleResponse,
  type Resume,
} from './handle-response.ts';
import { applyHeaderOps, compileHeaderOps } from './header-ops.ts';
import { compileMap, mappedNames } from './map.ts';
import { compileSets } from './match/compile.ts';
import type { Matcher } from './match/matcher.ts';
import { answerChallenge } from './acme-challenge.ts';
import { answerMetrics } from './metrics.ts';
import { createPathReader } from './path.ts';
import { NO_FACTS, type ProcessFacts } from './placeholder/placeholder.ts';
import { compileRequestBody } from './request-body.ts';
import { compileRequestHeaders } from './request-headers.ts';
import type { RequestView } from './request-view.ts';
import { compileResponseOps, isDeferred } from './response-ops.ts';
import { compileRetryMatch } from './retry-match.ts';
import { compileRewrite } from './rewrite.ts';
import { indexSites, sitesFor } from './site-index.ts';
import { compileStaticResponse } from './static-response.ts';
import { streamKey } from './stream-keys.ts';
import { compileTemplate } from './template.ts';

export interface CompiledRouter<Pool> {
  /**
   * Runs the handlers of the routes that match, in order, until one answers. null = none did; the client gets
   * `EMPTY_RESPONSE`. Changes the request as handlers say; empties `state` and fills it. Never throws for anything a peer sent.
   */
  route(request: RequestView, state: RouteState): Decision<Pool> | null;
}

/**
 * Compiles `sites`, which stand in routing order. `poolOf` is asked once for each `reverse_proxy` handler. `observe` is
 * told of every route whose handlers run, outer ones first; workers do without. `facts.mapped` is made of the sites where
 * it is absent. Throws
 * `ConfigError` without a position; the control plane compiles first, so a worker never meets one.
 */
export function compileSites<Pool>(
  sites: readonly SiteSection[],
  poolOf: (hash: SectionHash) => Pool,
  facts: ProcessFacts = NO_FACTS,
  observe: ((route: RoutePlan) => void) | null = null,
  derived: FindDerived<Pool> = () => null,
): CompiledRouter<Pool> {
  const plans = sites.map((site) => site.route);
  const known = { ...facts, mapped: facts.mapped ?? mappedNames(plans) };
  const context: CompileContext<Pool> = { facts: known, readPath: createPathReader(), poolOf, derived, observe };
  const index = indexSites(plans, compileRoutes(plans, context));
  return {
    route(request, state) {
      clearRouteState(state);
      const outcome = runRoutes(sitesFor(index, request.host), request, state);
      return outcome === null || outcome.kind === 'ended' ? null : outcome;
    },
  };
}

interface CompiledRoute<Pool> {
  /** Place in its list. */
  readonly order: number;
  /** null = always. */
  readonly matches: Matcher | null;
  readonly handlers: readonly Handler<Pool>[];
  readonly group: string;
  readonly terminal: boolean;
}

function compileRoutes<Pool>(plans: readonly RoutePlan[], context: CompileContext<Pool>): CompiledRoute<Pool>[] {
  return plans.map((plan, order) => ({
    order,
    matches: compileSets(plan.match, context),
    handlers: [...announce(plan, context), ...plan.handle.map((handler) => compileHandler(handler, context))],
    group: plan.group,
    terminal: plan.terminal,
  }));
}

/** A handler in front of the others that only tells that they run; none where nobody listens. */
function announce<Pool>(plan: RoutePlan, { observe }: CompileContext<Pool>): Handler<Pool>[] {
  return observe === null ? [] : [passing(() => observe(plan))];
}

/** HOT. Of the routes of one group only the first that matches runs; most lists have none, so nothing is kept for them. */
function runRoutes<Pool>(
  routes: readonly CompiledRoute<Pool>[],
  request: RequestView,
  state: RouteState,
): Outcome<Pool> {
  let spent: string[] | null = null;
  for (const route of routes) {
    if (route.matches !== null && !route.matches(request)) continue;
    if (route.group !== '') {
      if (spent?.includes(route.group)) continue;
      (spent ??= []).push(route.group);
    }
    for (const handler of route.handlers) {
      const outcome = handler(request, state);
      if (outcome === null) continue;
      if (goesOnLater(outcome)) {
        (state.resume ??= []).push(resumeBehind(routes, route, handler, spent));
      }
      return outcome;
    }
    if (route.terminal) return ENDED;
  }
  return null;
}

/** HOT. What stands behind it may have its turn yet. */
function goesOnLater<Pool>(outcome: Decision<Pool> | typeof ENDED): boolean {
  return outcome.kind === 'proxy' ? outcome.handleResponse !== null : outcome.kind === 'wait';
}

/** What follows `handler` in its list, for a `handle_response` that does not answer, or a wait that is over. */
function resumeBehind<Pool>(
  routes: readonly CompiledRoute<Pool>[],
  route: CompiledRoute<Pool>,
  handler: Handler<Pool>,
  spent: readonly string[] | null,
): Resume {
  const rest: CompiledRoute<Pool> = {
    ...route,
    matches: null,
    group: '',
    handlers: route.handlers.slice(route.handlers.indexOf(handler) + 1),
  };
  const others = routes.slice(routes.indexOf(route) + 1).filter(({ group }) => spent?.includes(group) !== true);
  const behind = [rest, ...others];
  // The state of a request names no type of pool; it comes back to the router that made it.
  return (request, state) => runRoutes(behind, request, state) as Outcome<never>;
}

function compileHandler<Pool>(plan: HandlerPlan, context: CompileContext<Pool>): Handler<Pool> {
  const { facts } = context;
  switch (plan.handler) {
    case 'subroute':
      return compileSubroute(plan.routes, context);
    case 'static_response':
      return compileStaticResponse(plan, facts);
    case 'headers':
      return compileHeaders(plan, facts);
    case 'rewrite':
      return passing(compileRewrite(plan, facts));
    case 'vars':
      return passing(compileVars(plan.vars, facts));
    case 'error':
      return compileError(plan, facts);
    case 'map':
      return passing(compileMap(plan, facts));
    case 'request_body':
      return compileRequestBody(plan, facts);
    case 'encode':
      return encodeResponse(compileEncode(plan));
    case 'copy_response':
      return compileCopyResponse(plan, facts);
    case 'copy_response_headers':
      return compileCopyResponseHeaders(plan);
    case 'authentication':
      return compileAuthentication(plan);
    case 'metrics':
      return answerMetrics;
    case 'acme_challenge':
      return answerChallenge;
    case 'reverse_proxy':
      return compileProxy(plan, context);
  }
}

/** A handler that never answers. */
function passing<Pool>(run: (request: RequestView) => void): Handler<Pool> {
  return (request) => {
    run(request);
    return null;
  };
}

/** Of several that apply the innermost counts. */
function encodeResponse<Pool>(encodingOf: (request: RequestView) => CompiledEncoding | null): Handler<Pool> {
  return (request, state) => {
    state.encoding = encodingOf(request) ?? state.encoding;
    return null;
  };
}

function compileSubroute<Pool>(plans: readonly RoutePlan[], context: CompileContext<Pool>): Handler<Pool> {
  const routes = compileRoutes(plans, context);
  return (request, state) => runRoutes(routes, request, state);
}

function compileVars(plan: Readonly<Record<string, string>>, facts: ProcessFacts): (request: RequestView) => void {
  const entries = Object.entries(plan).map(
    ([name, text]) => [toBytes(name), compileTemplate(text, 'all', { encoding: 'text', facts })] as const,
  );
  return (request) => {
    for (const [name, template] of entries) request.vars.set(name, template.render(request));
  };
}

/** Values mean the request as it is when the handler runs, so they are fixed then; deferred ones when they run. */
function compileHeaders<Pool>(plan: HeadersPlan, facts: ProcessFacts): Handler<Pool> {
  const steps: ((request: RequestView, state: RouteState) => void)[] = [];
  if (plan.request !== null) {
    steps.push(compileRequestHeaders(plan.request, facts));
  }
  if (plan.response !== null && isDeferred(plan.response)) {
    const ops = compileResponseOps(plan.response, facts);
    steps.push((_request, state) => state.responseOps.push(ops));
  } else if (plan.response !== null) {
    const ops = compileHeaderOps(plan.response, 'response', facts);
    steps.push((request, state) => applyHeaderOps(ops, state.responseFields, request));
  }
  return (request, state) => {
    for (const step of steps) step(request, state);
    return null;
  };
}

function compileProxy<Pool>(plan: ReverseProxyPlan, context: CompileContext<Pool>): Handler<Pool> {
  const { facts } = context;
  const headersUp = plan.headersUp === null ? null : compileHeaderOps(plan.headersUp, 'request', facts);
  const decision: CompiledProxy<Pool> = Object.freeze({
    kind: 'proxy',
    pool: context.poolOf(plan.pool),
    headersUp,
    headersDown: plan.headersDown === null ? null : compileResponseOps(plan.headersDown, facts),
    trusted: plan.trustedProxies.length === 0 ? null : compilePrefixes(plan.trustedProxies),
    retryOn: compileRetryMatch(plan.retryMatch, context),
    requestBufferBytes: plan.requestBufferBytes,
    responseBufferBytes: plan.responseBufferBytes ?? 0,
    streamBufferBytes: plan.streamBufferBytes ?? 0,
    handleResponse: compileHandleResponse(plan.handleResponse, ({ routes }) => compileSubroute(routes, context), facts),
    rewrite: plan.rewrite === undefined ? null : compileRewrite(plan.rewrite, facts),
    streams: plan.streams === undefined ? null : { ...plan.streams, key: streamKey(plan) },
    usesProxyValues: headersUp !== null && headersUp.usesProxyValues,
  });
  if (plan.addresses === undefined) return () => decision;
  const addresses = plan.addresses.map((text) => compileTemplate(text, 'all', { encoding: 'text', facts }));
  return compileDerived(plan.pool, addresses, decision, context.derived);
}
