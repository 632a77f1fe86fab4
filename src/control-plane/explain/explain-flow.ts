/** Where a connection or session of layer 4 would go and why: the functions of a worker, run on one that nobody opened. */
import { MORE, NO, YES, type Answer } from '../../data-plane/layer4/answer.ts';
import { FlowView } from '../../data-plane/layer4/flow-view.ts';
import { connectionHashOf } from '../../data-plane/layer4/quic-packet.ts';
import {
  compileRoutes,
  RouteWalk,
  sendsHeader,
  type FlowRoute,
  type Progress,
} from '../../data-plane/layer4/routes.ts';
import { joinHostPort } from '../../shared/net/address.ts';
import type { Layer4HandlerPlan, Layer4MatcherPlan, Layer4RoutePlan } from '../../shared/plan/layer4.ts';
import { describeWords } from './describe-match.ts';
import type { ExplainContext } from './explain.ts';
import { explainPick } from './explain-proxy.ts';
import { ExplainedFlow } from './explained-flow.ts';
import type { FlowExplanation, FlowOutcome, FlowRouteExplanation } from './explanation.ts';
import {
  chooseFlowServer,
  isEverywhere,
  parseFlowQuestion,
  type FlowQuestion,
  type FlowServerSpec,
  type ParsedFlow,
} from './flow-question.ts';
import type { TrialPool } from './trial-pool.ts';

const ANSWERS: Readonly<Record<Answer, FlowRouteExplanation['answer']>> = { [NO]: 'no', [YES]: 'yes', [MORE]: 'open' };
const NO_BYTES: Buffer = Buffer.alloc(0);

export type FlowContext = Pick<ExplainContext, 'compiled' | 'bound' | 'seed' | 'poolOf' | 'place'>;
type End = Exclude<Progress<TrialPool>, 'more' | { readonly kind: 'proxy_protocol' | 'tls' }>;

/** Throws a `QuestionError` for what no client could be or send, and when nothing listens there. */
export function explainFlow(question: FlowQuestion, context: FlowContext): FlowExplanation {
  const asked = parseFlowQuestion(question);
  const { server, listener, host } = chooseFlowServer(context.compiled, context.bound, asked);
  const request = new ExplainedFlow(asked.peer, asked.peerPort, localEnd(asked, host), context.seed);
  const routes = new ObservedRoutes(server, context);
  const assumed: string[] = [];
  const view = new FlowView(asked.peer, asked.firstBytes ?? NO_BYTES, asked.network === 'udp');
  const end = walk(new RouteWalk(routes.routes), view, asked, assumed);
  return {
    flow: { network: asked.network, address: joinHostPort(asked.host, asked.port) },
    server: { name: server.name, listener },
    client: { address: asked.peer.text, port: asked.peerPort },
    routes: routes.asked(),
    assumed,
    outcome: outcomeOf(end, request, view, assumed),
  };
}

/** A UDP socket on all addresses does not hear which of them a datagram came to. */
function localEnd({ network, host, port }: ParsedFlow, bound: string): { localAddress: string; localPort: number } {
  const everywhere = bound === '' ? '::' : bound;
  const localAddress = isEverywhere(bound) && network === 'tcp' && host !== '' ? host : everywhere;
  return { localAddress, localPort: port };
}

function walk(steps: RouteWalk<TrialPool>, view: FlowView, asked: ParsedFlow, assumed: string[]): End {
  let isSilent = asked.firstBytes === null;
  for (;;) {
    const step = steps.next(view);
    if (step === 'none') return step;
    if (step === 'more') {
      const silence = isSilent ? 'the client says nothing' : 'the client says nothing more';
      assumed.push(`${silence} until matching_timeout: what is open by then does not hold`);
      view.final = true;
    } else if (step.kind === 'tls') {
      assumed.push('TLS is ended here: the handshake succeeds, and what is said inside is not known');
      Object.assign(view, { bytes: NO_BYTES, final: false });
      isSilent = true;
    } else if (step.kind === 'proxy_protocol') {
      if (sendsHeader(step, asked.peer))
        assumed.push('the PROXY header of the peer names the peer itself as the client');
    } else {
      return step;
    }
  }
}

function outcomeOf(end: End, request: ExplainedFlow, view: FlowView, assumed: string[]): FlowOutcome {
  if (end === 'none') return { kind: 'none' };
  if (end.kind !== 'proxy') return { kind: end.kind };
  const { pool } = end;
  request.pool = pool;
  if (pool.section.policy.policy === 'quic_cid') {
    request.connectionHash = connectionHashOf(view.bytes);
    assumed.push('no server has given out its connection id: the worker alone knows those');
  }
  return { kind: 'proxy', proxy: explainPick(request, pool) };
}

/** Routes of a server that write down what their matchers said. */
class ObservedRoutes {
  readonly routes: readonly FlowRoute<TrialPool>[];
  readonly #answers = new Map<string, FlowRouteExplanation>();

  constructor(server: FlowServerSpec, { compiled, poolOf, place }: FlowContext) {
    const section = compiled.sections.get(server.section);
    if (section?.kind !== 'layer4') throw new Error(`server ${server.name} names a section that is not there`);
    const path = `apps.layer4.servers.${server.name}.routes`;
    this.routes = this.#observe(compileRoutes(section.routes, poolOf), section.routes, path, place);
  }

  /** In the order they were asked. */
  asked(): FlowRouteExplanation[] {
    return [...this.#answers.values()];
  }

  #observe(
    routes: readonly FlowRoute<TrialPool>[],
    plans: readonly Layer4RoutePlan[],
    path: string,
    place: (path: string) => string,
  ): FlowRoute<TrialPool>[] {
    return routes.map(({ match, steps }, index) => {
      const own = `${path}.${index}`;
      const plan = plans[index]!;
      return {
        match: (view) => {
          const answer = match === null ? YES : match(view);
          this.#answers.set(own, { place: place(own), matched: matchText(plan), answer: ANSWERS[answer] });
          return answer;
        },
        steps: steps.map((step, at) =>
          step.kind === 'subroute'
            ? {
                ...step,
                routes: this.#observe(step.routes, routesOf(plan.handle[at]), `${own}.handle.${at}.routes`, place),
              }
            : step,
        ),
      };
    });
  }
}

function routesOf(plan: Layer4HandlerPlan | undefined): readonly Layer4RoutePlan[] {
  return plan?.handler === 'subroute' ? plan.routes : [];
}

function matchText({ match }: Layer4RoutePlan): string {
  return match.length === 0 ? 'always' : match.map(setText).join(' or ');
}

function setText(set: Layer4RoutePlan['match'][number]): string {
  return set.map(matcherText).join('; ') || 'always';
}

function matcherText(plan: Layer4MatcherPlan): string {
  if (plan.kind === 'not') return `not (${plan.sets.map(setText).join(' or ')})`;
  const { kind, ...rest } = plan;
  return `${kind} ${describeWords(rest).join(', ')}`.trimEnd();
}
