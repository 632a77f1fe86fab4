/** Routes of layer 4, compiled, and the walk of one connection through them. PURE. */
import { compilePrefixes, type PrefixSet } from '../../shared/net/cidr.ts';
import type { IpAddress } from '../../shared/net/ip.ts';
import type { Layer4HandlerPlan, Layer4ProxyPlan, Layer4RoutePlan, Layer4TlsPlan } from '../../shared/plan/layer4.ts';
import type { SectionHash } from '../../shared/plan/types.ts';
import { TlsPolicies } from '../tls/policies.ts';
import { MORE, YES } from './answer.ts';
import type { FlowMatcher, FlowView } from './flow-view.ts';
import { compileSets } from './match/compile.ts';

export interface FlowRoute<Pool> {
  /** null = always. */
  readonly match: FlowMatcher | null;
  readonly steps: readonly FlowStep<Pool>[];
}

export type FlowStep<Pool> =
  | { readonly kind: 'proxy'; readonly pool: Pool; readonly plan: Layer4ProxyPlan }
  | ReceiveProxyStep
  | { readonly kind: 'tls'; readonly policies: TlsPolicies }
  | { readonly kind: 'subroute'; readonly routes: readonly FlowRoute<Pool>[] }
  | { readonly kind: 'close' }
  | { readonly kind: 'echo' };

export interface ReceiveProxyStep {
  readonly kind: 'proxy_protocol';
  /** null = every peer sends a header. */
  readonly allow: PrefixSet | null;
  readonly timeoutMs: number;
}

export function compileRoutes<Pool>(
  routes: readonly Layer4RoutePlan[],
  poolOf: (hash: SectionHash) => Pool,
): readonly FlowRoute<Pool>[] {
  return routes.map(({ match, handle }) => ({
    match: compileSets(match),
    steps: handle.map((plan) => compileStep(plan, poolOf)),
  }));
}

function compileStep<Pool>(plan: Layer4HandlerPlan, poolOf: (hash: SectionHash) => Pool): FlowStep<Pool> {
  switch (plan.handler) {
    case 'proxy':
      return { kind: 'proxy', pool: poolOf(plan.pool), plan };
    case 'proxy_protocol': {
      const allow = plan.allow.length === 0 ? null : compilePrefixes(plan.allow);
      return { kind: 'proxy_protocol', allow, timeoutMs: plan.timeoutMs };
    }
    case 'subroute':
      return { kind: 'subroute', routes: compileRoutes(plan.routes, poolOf) };
    case 'close':
    case 'echo':
      return { kind: plan.handler };
    case 'tls':
      return { kind: 'tls', policies: compileTls(plan) };
  }
}

function compileTls({ policies, handshakeTimeoutMs, asks }: Layer4TlsPlan): TlsPolicies {
  const rest = asks === undefined ? {} : { asks };
  return new TlsPolicies({ listeners: [], strictSniHost: false, policies, handshakeTimeoutMs, ...rest });
}

/** Whether this peer's connection begins with a PROXY header. */
export function sendsHeader(step: ReceiveProxyStep, peer: IpAddress | null): boolean {
  return step.allow === null || (peer !== null && step.allow.contains(peer));
}

/** 'more': bytes are missing. 'none': no route takes the connection. */
export type Progress<Pool> = Exclude<FlowStep<Pool>, { readonly kind: 'subroute' }> | 'more' | 'none';

export class RouteWalk<Pool> {
  #routes: readonly FlowRoute<Pool>[];
  /** Steps of the route that was chosen; null while one is looked for. */
  #steps: readonly FlowStep<Pool>[] | null = null;
  #at = 0;

  constructor(routes: readonly FlowRoute<Pool>[]) {
    this.#routes = routes;
  }

  /** The next step. To be asked again after 'more' and behind steps that do not end a connection. */
  next(view: FlowView): Progress<Pool> {
    for (;;) {
      if (this.#steps === null) {
        const route = chooseRoute(this.#routes, view);
        if (route === 'more' || route === 'none') return route;
        this.#steps = route.steps;
        this.#at = 0;
      }
      const step = this.#steps[this.#at];
      if (step === undefined) return 'none';
      this.#at += 1;
      if (step.kind !== 'subroute') return step;
      this.#routes = step.routes;
      this.#steps = null;
    }
  }
}

/** The first that holds; one that cannot be decided yet is waited for, whatever stands behind it. */
function chooseRoute<Pool>(routes: readonly FlowRoute<Pool>[], view: FlowView): FlowRoute<Pool> | 'more' | 'none' {
  for (const route of routes) {
    const answer = route.match === null ? YES : route.match(view);
    if (answer === YES) return route;
    if (answer === MORE) return 'more';
  }
  return 'none';
}
