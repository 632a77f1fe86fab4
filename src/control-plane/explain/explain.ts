/** Where a request would go and why: the functions of a worker, run on a request that nobody sent. */
import { explainClient } from '../../data-plane/client-ip/derive.ts';
import { compileClientIpHeaders } from '../../data-plane/client-ip/header.ts';
import type { Head } from '../../data-plane/http1/head.ts';
import { compileSites } from '../../data-plane/route/compile.ts';
import { fromBytes } from '../../data-plane/route/bytes.ts';
import { createRouteState, type Decision, type RouteState } from '../../data-plane/route/decision.ts';
import type { ProcessFacts } from '../../data-plane/route/placeholder/placeholder.ts';
import { exactHosts } from '../../data-plane/route/site-index.ts';
import { hostOfAuthority } from '../../data-plane/route/target.ts';
import { resumeRoutes, YES } from '../../data-plane/route/wait.ts';
import type { TlsFacts } from '../../data-plane/route/tls-facts.ts';
import { compilePrefixes } from '../../shared/net/cidr.ts';
import type { RoutePlan, SectionHash, SiteSection } from '../../shared/plan/types.ts';
import type { CompiledConfig } from '../compile/compiled.ts';
import { ExplainedRequest, readHead, type Trust } from './explained-request.ts';
import { describeMatch } from './describe-match.ts';
import type { ClientExplanation, Explanation, Outcome, RouteExplanation } from './explanation.ts';
import { explainProxy } from './explain-proxy.ts';
import {
  checkScheme,
  chooseServer,
  parseQuestion,
  QuestionError,
  type BoundPorts,
  type Question,
  type ServerSpec,
} from './question.ts';
import type { TrialPool } from './trial-pool.ts';

/** Ports that stand for any client's. */
const PEER_PORT = 50_000;

export interface ExplainContext {
  readonly compiled: CompiledConfig;
  /** Listener key → where it is bound; empty for a config that runs nowhere. */
  readonly bound: BoundPorts;
  readonly facts: ProcessFacts;
  readonly wallMs: number;
  /** Of the chance that policies use. */
  readonly seed: number;
  poolOf(hash: SectionHash): TrialPool;
  /** JSON path → where it was written. */
  place(path: string): string;
}

/** Throws a `QuestionError` for what no client could send, and for what the server would refuse before it routes. */
export function explain(question: Question, context: ExplainContext): Explanation {
  const asked = parseQuestion(question);
  const chosen = chooseServer(context.compiled, context.bound, asked.port);
  checkScheme(chosen, asked.secure);
  const { server, listener, host, port, note } = chosen;
  const head = readHead(asked.head, server.options.maxHeaderBytes, server.options.maxHeaderFields);
  if (typeof head === 'string') throw new QuestionError(`the server would answer ${head}`);
  const trust = trustOf(server);
  const connection = {
    peer: asked.peer,
    peerPort: PEER_PORT,
    localAddress: host,
    localPort: port,
    tls: tlsOf(asked.secure, head),
  };
  const request = new ExplainedRequest(head, connection, trust, context.wallMs, context.seed);
  const ran: RoutePlan[] = [];
  const sites = sitesOf(context.compiled, server, hostOfAuthority(head.authority));
  const router = compileSites(
    sites,
    (hash) => context.poolOf(hash),
    context.facts,
    (route) => void ran.push(route),
  );
  const state = createRouteState();
  const { decision, assumed } = assumeErrands(router.route(request, state), request, state);
  return {
    request: { method: head.method, host: head.authority, target: head.originForm },
    server: { name: server.name, listener, note },
    client: clientOf(request, server, trust, head),
    routes: ran.map((route) => routeOf(route, server, context)),
    assumed,
    outcome: outcomeOf(decision, request, () => explainProxy(request)),
  };
}

/** What a client of today would have agreed on; its name is the host it asks for. */
function tlsOf(secure: boolean, head: Head): TlsFacts | null {
  if (!secure) return null;
  return {
    version: 'tls1.3',
    cipherSuite: 'TLS_AES_128_GCM_SHA256',
    resumed: false,
    proto: 'http/1.1',
    serverName: hostOfAuthority(head.authority),
    policyKey: '',
    clientCertificate: undefined,
  };
}

function trustOf({ options }: ServerSpec): Trust {
  return {
    trusted: options.trustedProxies.length === 0 ? null : compilePrefixes(options.trustedProxies),
    clientIpList: compileClientIpHeaders(options.clientIpHeaders),
  };
}

/** Sites that name other hosts only cannot match: a large config is not compiled for one request. */
function sitesOf(compiled: CompiledConfig, server: ServerSpec, host: string): SiteSection[] {
  return server.sites.flatMap((hash) => {
    const section = compiled.sections.get(hash);
    if (section?.kind !== 'site') throw new Error(`server ${server.name} names a site that is not there: ${hash}`);
    const hosts = exactHosts(section.route);
    return hosts === null || hosts.has(host) ? [section] : [];
  });
}

function clientOf(request: ExplainedRequest, server: ServerSpec, trust: Trust, head: Head): ClientExplanation {
  const { trusted, hops, why } = explainClient(request.peer, trust.trusted, trust.clientIpList(head));
  return {
    peer: request.peer?.text ?? '',
    address: request.client?.text ?? '',
    trusted,
    header: server.options.clientIpHeaders.find((name) => head.find(name.toLowerCase()) !== null) ?? '',
    hops,
    why,
  };
}

function routeOf(route: RoutePlan, server: ServerSpec, { compiled, place }: ExplainContext): RouteExplanation {
  const site = server.sites.findIndex((hash) => {
    const section = compiled.sections.get(hash);
    return section?.kind === 'site' && section.route === route;
  });
  const matched = describeMatch(route.match);
  return { place: site < 0 ? '' : place(`apps.http.servers.${server.name}.routes.${site}`), matched };
}

/** No password is checked here: whoever may ask for an explanation could try them all. */
function assumeErrands(
  routed: Decision<TrialPool> | null,
  request: ExplainedRequest,
  state: RouteState,
): { readonly decision: Decision<TrialPool> | null; readonly assumed: readonly string[] } {
  const assumed: string[] = [];
  let decision = routed;
  while (decision?.kind === 'wait' && decision.errand.kind === 'password') {
    const user = JSON.stringify(fromBytes(decision.errand.username));
    decision = resumeRoutes<TrialPool>(decision, YES, request, state);
    const isKnown = decision?.kind !== 'error' || decision.status !== 401;
    assumed.push(isKnown ? `basic_auth: the password of ${user} is right` : `basic_auth: there is no account ${user}`);
  }
  return { decision, assumed };
}

function outcomeOf(
  decision: Decision<TrialPool> | null,
  request: ExplainedRequest,
  proxied: () => Extract<Outcome, { kind: 'proxy' }>['proxy'],
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
      return { kind: 'proxy', proxy: proxied() };
  }
}

function pairs(fields: readonly string[]): string[] {
  return fields.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${fields[at + 1] ?? ''}`] : []));
}
