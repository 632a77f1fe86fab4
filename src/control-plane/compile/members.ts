/** The upstreams of one `reverse_proxy` or layer-4 `proxy`, with the options each has. */
import type { MemberPlan, QueuePlan } from '../../shared/plan/types.ts';
import type { QueueConfig } from '../config/schema/load-balancing.ts';
import type { PoolConfig } from '../config/schema/reverse-proxy.ts';
import type { SelectionPolicyConfig } from '../config/schema/selection-policy.ts';
import type { UpstreamConfig } from '../config/schema/upstream.ts';
import type { Compilation } from './compilation.ts';
import type { MemberSpec } from './compiled.ts';
import type { PoolKind } from './pool-kind.ts';

/** Of upstreams behind TLS that name none. */
export const HTTPS_PORT = 443;

/** `path` is the JSON path of the handler. */
export function compileMembers(run: Compilation, path: string, config: PoolConfig, kind: PoolKind): MemberSpec[] {
  const { upstreams, dynamic_upstreams: dynamic } = config;
  if (upstreams.length === 0 && dynamic === null)
    run.fail(path, `${kind.directive} has no upstreams: name at least one host:port`);
  const weights = memberWeights(run, path, config, kind);
  const members = upstreams.map((upstream, index) => {
    const place = `${path}.upstreams.${index}`;
    return {
      ...readMember(run, place, upstream, kind, config.transport.tls !== null),
      ...memberOptions(run, place, config, upstream, weights[index]),
    };
  });
  if (members.length > 0 && members.every(({ weight }) => weight === 0)) {
    run.fail(path, 'every upstream has weight 0: nobody would get any client');
  }
  return members;
}

/** Weights that the policy gives, one an upstream; empty = none are written. */
export function memberWeights(run: Compilation, path: string, config: PoolConfig, kind: PoolKind): readonly number[] {
  const { upstreams } = config;
  const weights = policyWeights(config.load_balancing.selection_policy);
  if (weights.length > 0 && weights.length !== upstreams.length) {
    run.fail(
      `${path}.${kind.places.policy}`,
      `weighted_round_robin needs one weight an upstream: ${weights.length} for ${upstreams.length}`,
    );
  }
  return weights;
}

/** What workers know of a member. */
export function memberPlan({ upstream, identity, maxRequests }: MemberSpec): MemberPlan {
  return { upstream, identity, ...(maxRequests === undefined ? {} : { maxRequests }) };
}

/** All that decides about a member and stands in no section. */
export function memberFacets({ host, port, network, weight, backup, slowStartMs }: MemberSpec): readonly unknown[] {
  const options = { network, weight, backup, slowStartMs };
  return Object.values(options).every((value) => value === undefined) ? [host, port] : [host, port, options];
}

export function compileQueue(config: QueueConfig | null): QueuePlan | null {
  return config === null ? null : { limit: config.size, timeoutMs: config.timeout };
}

function readMember(
  run: Compilation,
  place: string,
  { dial }: UpstreamConfig,
  kind: PoolKind,
  secured: boolean,
): MemberSpec {
  const address = kind.readUpstream(dial, secured ? HTTPS_PORT : undefined);
  if ('notYet' in address) run.notYet(`${place}.dial`, address.notYet);
  if ('fault' in address) run.fail(`${place}.dial`, address.fault);
  return address.member;
}

/** Only what is written, so that a plain upstream has the hash it always had. */
export function memberOptions(
  run: Compilation,
  place: string,
  config: PoolConfig,
  upstream: UpstreamConfig,
  policyWeight: number | undefined,
): Pick<MemberSpec, 'weight' | 'backup' | 'slowStartMs' | 'maxRequests'> {
  if (policyWeight !== undefined && upstream.weight !== null && upstream.weight !== policyWeight) {
    run.fail(`${place}.weight`, `${upstream.dial} has weight ${upstream.weight} here and ${policyWeight} in lb_policy`);
  }
  const weight = policyWeight ?? upstream.weight ?? 1;
  // `unhealthy_request_count` is Caddy's limit for upstreams that have none of their own.
  const limit = upstream.max_requests || (config.health_checks.passive?.unhealthy_request_count ?? 0);
  return {
    ...(weight === 1 ? {} : { weight }),
    ...(upstream.backup ? { backup: true } : {}),
    ...(upstream.slow_start === 0 ? {} : { slowStartMs: upstream.slow_start }),
    ...(limit === 0 ? {} : { maxRequests: limit }),
  };
}

/** The weights of `weighted_round_robin`, wherever in the chain of fallbacks it stands; empty = none are written. */
function policyWeights(policy: SelectionPolicyConfig): readonly number[] {
  if (policy.policy === 'weighted_round_robin') return policy.weights;
  return 'fallback' in policy ? policyWeights(policy.fallback) : [];
}
