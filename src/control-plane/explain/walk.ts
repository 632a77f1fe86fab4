/** A request on its way through the routes of a server, or through those for its errors. */
import { errorSentence } from '../../data-plane/proxy/error-response.ts';
import { routeError } from '../../data-plane/proxy/error-route.ts';
import { fromBytes } from '../../data-plane/route/bytes.ts';
import { compileSites, type CompiledRouter } from '../../data-plane/route/compile.ts';
import { createRouteState, type Decision, type RouteState } from '../../data-plane/route/decision.ts';
import { exactHosts } from '../../data-plane/route/site-index.ts';
import { NO, resumeRoutes, YES } from '../../data-plane/route/wait.ts';
import type { RoutePlan, SectionHash, SiteSection } from '../../shared/plan/types.ts';
import type { CompiledConfig } from '../compile/compiled.ts';
import { describeMatch } from './describe-match.ts';
import type { ExplainContext } from './explain.ts';
import { explainProxy } from './explain-proxy.ts';
import type { ExplainedRequest } from './explained-request.ts';
import type { ErrorExplanation, Outcome, RouteExplanation, WalkExplanation } from './explanation.ts';
import type { ServerSpec } from './question.ts';
import type { TrialPool } from './trial-pool.ts';

interface Routes {
  readonly router: CompiledRouter<TrialPool>;
  /** Those that ran so far. */
  ran(): RouteExplanation[];
}

export function walkRoutes(request: ExplainedRequest, server: ServerSpec, context: ExplainContext): WalkExplanation {
  const { router, ran } = routesOf('routes', server.sites, request.receivedHost, server, context);
  const state = createRouteState();
  const walk = endOf(router.route(request, state), request, state, ran, context);
  return { ...walk, onError: errorOf(walk.outcome, state, request, server, context) };
}

/** What the error routes make of it; null = it is no error, or they do not exist. */
function errorOf(
  outcome: Outcome,
  left: RouteState,
  request: ExplainedRequest,
  server: ServerSpec,
  context: ExplainContext,
): ErrorExplanation | null {
  const error = failureOf(outcome);
  if (error === null || server.errorSites.length === 0) return null;
  const { router, ran } = routesOf('errors.routes', server.errorSites, request.receivedHost, server, context);
  const answer = routeError(router, request, error, left.responseFields);
  if (answer !== null) return { ...error, ...endOf(answer.decision, request, answer.state, ran, context) };
  const status = request.notes?.error?.status ?? error.status;
  const plain: Outcome = { kind: 'error', status, message: errorSentence(status) };
  return { ...error, routes: ran(), assumed: [], effects: [], outcome: plain };
}

function failureOf(outcome: Outcome): { readonly status: number; readonly message: string } | null {
  if (outcome.kind === 'error') return { status: outcome.status, message: outcome.message };
  const nobody = outcome.kind === 'proxy' && outcome.proxy.picked === null;
  return nobody ? { status: 503, message: errorSentence(503) } : null;
}

function routesOf(
  path: string,
  hashes: readonly SectionHash[],
  host: string,
  server: ServerSpec,
  { compiled, facts, poolOf, derived, place }: ExplainContext,
): Routes {
  const ran: RoutePlan[] = [];
  const router = compileSites(sitesOf(compiled, hashes, host), poolOf, facts, (route) => void ran.push(route), derived);
  const routeOf = (route: RoutePlan): RouteExplanation => {
    const site = hashes.findIndex((hash) => siteOf(compiled, hash).route === route);
    const where = site < 0 ? '' : place(`apps.http.servers.${server.name}.${path}.${site}`);
    return { place: where, matched: describeMatch(route.match) };
  };
  return { router, ran: () => ran.map(routeOf) };
}

/** Sites that name other hosts only cannot match: a large config is not compiled for one request. */
function sitesOf(compiled: CompiledConfig, hashes: readonly SectionHash[], host: string): SiteSection[] {
  return hashes.flatMap((hash) => {
    const section = siteOf(compiled, hash);
    const hosts = exactHosts(section.route);
    return hosts === null || hosts.has(host) ? [section] : [];
  });
}

function siteOf({ sections }: CompiledConfig, hash: SectionHash): SiteSection {
  const section = sections.get(hash);
  if (section?.kind !== 'site') throw new Error(`a server names a site that is not there: ${hash}`);
  return section;
}

function endOf(
  routed: Decision<TrialPool> | null,
  request: ExplainedRequest,
  state: RouteState,
  ran: () => RouteExplanation[],
  context: ExplainContext,
): Omit<WalkExplanation, 'onError'> {
  const { decision, assumed } = assumeErrands(routed, request, state);
  const effects = effectsOf(decision, state);
  return { routes: ran(), assumed, effects, outcome: outcomeOf(decision, request, context) };
}

/** No password is checked here: whoever may ask for an explanation could try them all. */
function assumeErrands(
  routed: Decision<TrialPool> | null,
  request: ExplainedRequest,
  state: RouteState,
): { readonly decision: Decision<TrialPool> | null; readonly assumed: readonly string[] } {
  const assumed: string[] = [];
  let decision = routed;
  while (decision?.kind === 'wait' && decision.errand.kind !== 'metrics') {
    if (decision.errand.kind === 'challenge') {
      decision = resumeRoutes<TrialPool>(decision, NO, request, state);
      assumed.push('acme_challenge: no authority is waiting for this token');
      continue;
    }
    if (decision.errand.kind === 'derive') {
      // Not found, though all that are addresses are: these are none.
      decision = resumeRoutes<TrialPool>(decision, NO, request, state);
      continue;
    }
    const user = JSON.stringify(fromBytes(decision.errand.username));
    decision = resumeRoutes<TrialPool>(decision, YES, request, state);
    const isKnown = decision?.kind !== 'error' || decision.status !== 401;
    assumed.push(isKnown ? `basic_auth: the password of ${user} is right` : `basic_auth: there is no account ${user}`);
  }
  return { decision, assumed };
}

/** What handlers on the way left to be done later, in sentences. */
function effectsOf(decision: Decision<TrialPool> | null, state: RouteState): string[] {
  const { encoding, body, maxBodyBytes } = state;
  const isProxied = decision?.kind === 'proxy';
  const effects: string[] = [];
  if (isProxied && body !== null) {
    effects.push(`request_body: ${body.length} bytes of the config go upstream in the place of the client's body`);
  } else if (isProxied && maxBodyBytes !== Infinity) {
    effects.push(`request_body: a body of more than ${maxBodyBytes} bytes is a 413`);
  }
  if (encoding !== null && (decision === null || decision.kind === 'respond' || isProxied)) {
    const { format, minBytes } = encoding;
    effects.push(`encode: ${format.name} for a response of a fitting type and ${minBytes} bytes or more`);
  }
  return effects;
}

function outcomeOf(
  decision: Decision<TrialPool> | null,
  request: ExplainedRequest,
  { compiled }: ExplainContext,
): Outcome {
  if (decision === null) return { kind: 'empty' };
  switch (decision.kind) {
    case 'respond':
      return { kind: 'respond', status: decision.status, fields: pairs(decision.fields), body: decision.body };
    case 'error':
      return { kind: 'error', status: decision.status, message: decision.message };
    case 'abort':
      return { kind: 'abort' };
    case 'wait':
      return { kind: 'metrics' };
    case 'copy':
      throw new Error('a response is copied inside handle_response, which is not explained');
    case 'proxy':
      request.proxy = decision;
      return { kind: 'proxy', proxy: explainProxy(request, compiled.pools) };
  }
}

function pairs(fields: readonly string[]): string[] {
  return fields.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${fields[at + 1] ?? ''}`] : []));
}
