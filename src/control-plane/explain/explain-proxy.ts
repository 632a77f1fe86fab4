/** The part of an explanation that is about a pool: who may be picked, who is, and what is sent. */
import { requestLines } from '../../data-plane/proxy/request-lines.ts';
import { emptiesBody, upstreamRequest } from '../../data-plane/route/upstream-request.ts';
import type { CompiledHeaderOps } from '../../data-plane/route/header-ops.ts';
import type { PickRequest } from '../../data-plane/select/policy.ts';
import type { EndpointPlan } from '../../shared/plan/types.ts';
import { joinHostPort } from '../../shared/net/address.ts';
import { stateName } from '../../data-plane/select/describe.ts';
import type { PoolSpec } from '../compile/compiled.ts';
import { shortHash } from '../upstreams/status.ts';
import type { ExplainedRequest } from './explained-request.ts';
import type { Explanation, FlowExplanation, MemberExplanation, ProxyExplanation } from './explanation.ts';
import type { TrialPool } from './trial-pool.ts';

const SECRET_FIELD = /^[^:]*(?:authorization|token|secret|password|api-?key)[^:]*:/i;
/** Members shown of a large pool. */
const MAX_MEMBERS = 256;
/** Upstreams shown of those that would be tried next. */
const MAX_NEXT = 3;

/** `request` is routed: its `proxy` is known. */
export function explainProxy(request: ExplainedRequest, specs: readonly PoolSpec[]): ProxyExplanation {
  const { pool, headersUp } = request.proxy!;
  const picked = withSources(
    explainPick(request, pool),
    specs.find(({ hash }) => hash === pool.section.hash),
  );
  const position = picked.picked?.position ?? -1;
  request.position = position;
  if (position < 0) return picked;
  const sent = sentLines(request, headersUp === null ? [] : [headersUp]);
  return { ...picked, sent, cookie: withoutValue(pool.policy.answered(pool, request, position)) };
}

/** Of a pool found in DNS: who of its members was found there, and who stands in the config. */
function withSources(explained: ProxyExplanation, spec: PoolSpec | undefined): ProxyExplanation {
  if (spec?.sources === undefined) return explained;
  const configured = new Set(spec.members.map(({ upstream }) => upstream));
  const members = explained.members.map((member) => ({ ...member, found: !configured.has(member.upstream) }));
  return { ...explained, members };
}

/** What is asked of a request, connection or session while it is looked at. */
interface Trial extends PickRequest {
  tried: readonly number[];
  forgetTried(): void;
  rewind(): void;
}

/** Whom the policy picks and why, and who would be next. */
export function explainPick(request: Trial, pool: TrialPool): ProxyExplanation {
  const { hash, policy } = pool.section;
  const steps = pool.policy.explain(pool, request);
  request.rewind();
  const position = pool.policy.pick(pool, request);
  const { affinity } = request;
  return {
    pool: shortHash(hash),
    policy: policy.policy,
    size: pool.size,
    steps,
    members: Array.from({ length: Math.min(pool.size, MAX_MEMBERS) }, (_, at) => memberOf(pool, at)),
    picked: position < 0 ? null : memberOf(pool, position),
    endpoint: position < 0 ? '' : endpointText(endpointOf(pool, position)),
    affinity,
    sent: [],
    cookie: '',
    next: position < 0 ? [] : nextOf(request, pool, position),
  };
}

/** null = its name is not resolved, or none of its addresses may be dialled. */
function endpointOf(pool: TrialPool, position: number): EndpointPlan | null {
  const index = pool.nextEndpoint(position, 0);
  return index < 0 ? null : pool.endpoint(position, index);
}

function endpointText(endpoint: EndpointPlan | null): string {
  return endpoint === null ? '' : joinHostPort(endpoint.host, endpoint.port);
}

function memberOf(pool: TrialPool, position: number): MemberExplanation {
  return { position, upstream: pool.upstream(position), state: stateName(pool.state(position)), why: '' };
}

/** The explanation with what is known of members that are not eligible. */
export function withReasons<Explained extends Explanation | FlowExplanation>(
  explanation: Explained,
  why: (position: number) => string,
): Explained {
  const { outcome } = explanation;
  if (outcome.kind !== 'proxy') return explanation;
  const members = outcome.proxy.members.map((member) => ({ ...member, why: why(member.position) }));
  return { ...explanation, outcome: { ...outcome, proxy: { ...outcome.proxy, members } } };
}

function sentLines(request: ExplainedRequest, ops: readonly CompiledHeaderOps[]): string[] {
  const { pool } = request.proxy!;
  request.endpoint = endpointOf(pool, request.position);
  const { rewrite } = request.proxy!;
  const { method, target } = rewrite === null ? request : upstreamRequest(request, rewrite);
  emptiesBody(request.head, request.method, method);
  const host = pool.hostSent(request.position);
  const lines = requestLines(request, request.believed, pool.identity(request.position), ops, host);
  const fields = lines.split('\r\n').slice(0, -1).map(withoutSecret);
  return [`${method} ${target} HTTP/1.1`, ...fields].map(utf8Of);
}

/** `header_up Authorization {env.TOKEN}` must not tell the token to whoever may ask. */
function withoutSecret(line: string): string {
  return SECRET_FIELD.test(line) ? `${line.slice(0, line.indexOf(':'))}: ***` : line;
}

/** Heads are bytes in latin1 strings; people and JSON want the text. */
function utf8Of(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** A fresh token would let whoever reads the explanation take a client's place. */
function withoutValue(setCookie: string): string {
  return setCookie.replace(/^([^=]*)=[^;]*/, '$1=…');
}

/** Failover: the policy is asked again with all that were tried left out. */
function nextOf(request: Trial, pool: TrialPool, position: number): string[] {
  const { affinity, stickyAction, stickyPosition } = request;
  const next: string[] = [];
  const tried = [position];
  while (next.length < MAX_NEXT) {
    request.tried = tried;
    const other = pool.policy.pick(pool, request);
    if (other < 0) break;
    next.push(pool.upstream(other));
    tried.push(other);
  }
  request.forgetTried();
  Object.assign(request, { affinity, stickyAction, stickyPosition });
  return next;
}
