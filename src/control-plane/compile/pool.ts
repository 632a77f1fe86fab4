/** The pool of one `reverse_proxy` or layer-4 `proxy` handler. */
import { unixPath } from '../../shared/net/address.ts';
import { parseIp } from '../../shared/net/ip.ts';
import type { PoolSection, RetryPlan, TransportPlan } from '../../shared/plan/types.ts';
import type { LoadBalancingConfig } from '../config/schema/load-balancing.ts';
import type { PoolConfig } from '../config/schema/reverse-proxy.ts';
import type { TransportConfig } from '../config/schema/transport.ts';
import { compileCheck } from './check.ts';
import type { Compilation } from './compilation.ts';
import type { DynamicSourceSpec, MemberSpec } from './compiled.ts';
import { hashContent } from './content-hash.ts';
import { compileSources } from './dynamic.ts';
import { warnMembers } from './member-warnings.ts';
import { compileMembers, compileQueue, memberFacets, memberPlan } from './members.ts';
import { compilePassive } from './passive.ts';
import { compilePattern } from './pattern.ts';
import { compilePolicy } from './policy.ts';
import { compileSpoken } from './upstream-tls.ts';
import { HTTP_POOL } from './pool-kind.ts';
import type { PoolKind } from './pool-kind.ts';
import { warnAffinity, warnChangingSize } from './pool-warnings.ts';

/** What is left out of the plan: a pool that says nothing keeps the hash it always had. */
const DEFAULT_PROBE_MS = 15_000;

/**
 * The section and the spec of a pool go by one hash, so it covers both: handlers that agree in upstreams
 * and policy but differ in health checks are two pools, with a verdict each.
 */
export function compilePool(
  run: Compilation,
  path: string,
  config: PoolConfig,
  kind: PoolKind = HTTP_POOL,
): PoolSection {
  const pattern = compilePattern(run, path, config, kind);
  const members = pattern === null ? compileMembers(run, path, config, kind) : [];
  const policyPath = `${path}.${kind.places.policy}`;
  checkLocalAddress(run, `${path}.${kind.places.localAddress}`, config.transport.local_address, members);
  const dynamic = compileDynamic(run, path, config);
  // How many DNS will name is not known: warnings that count upstreams are not for such pools.
  const size = dynamic === null ? (pattern ?? members).length : 0;
  const content = {
    kind: 'pool' as const,
    policy: compilePolicy(run, policyPath, config.load_balancing.selection_policy, size, kind.layer),
    members: dynamic === null ? members.map(memberPlan) : [],
    retry: compileRetry(config.load_balancing),
    passive: compilePassive(run, `${path}.health_checks.passive`, config.health_checks.passive),
    queue: compileQueue(config.load_balancing.queue),
    transport: {
      ...compileTransport(config.transport),
      ...compileSpoken(run, `${path}.${kind.places.transport}`, config.transport, members),
    },
    ...(kind.layer === 'http' && config.drain !== 'off' && config.drain > 0 ? { saysGoodbye: true as const } : {}),
  };
  const control = {
    check: compileCheck(run, `${path}.health_checks`, config.health_checks, content.transport, members),
    bestEffort: config.load_balancing.best_effort,
    resolvers: config.transport.resolver?.addresses ?? run.resolvers,
    ...(dynamic === null ? {} : { sources: dynamic }),
    ...(kind.layer === 'http' ? {} : { layer: kind.layer }),
    ...(config.drain === 'off' ? {} : { drainMs: config.drain }),
    ...(pattern === null ? {} : { pattern }),
  };
  if (dynamic !== null) warnChangingSize(run, policyPath, content.policy);
  warnAffinity(run, policyPath, content.policy, size, control.check === null ? kind.checkAdvice : null);
  if (dynamic === null && pattern === null) warnMembers(run, path, content.policy, members, content.queue !== null);
  const hash = hashContent({
    ...content,
    ...control,
    addresses: members.map(memberFacets),
    ...(dynamic === null ? {} : { fallback: members.map(memberPlan) }),
  });
  return run.addPool({ hash, section: { hash, ...content }, members, ...control });
}

function compileDynamic(run: Compilation, path: string, config: PoolConfig): DynamicSourceSpec[] | null {
  if (config.dynamic_upstreams === null) return null;
  const { passive } = config.health_checks;
  if (passive !== null && passive.unhealthy_request_count > 0) {
    run.notYet(
      `${path}.health_checks.passive.unhealthy_request_count`,
      'unhealthy_request_count over dynamic upstreams',
    );
  }
  if (config.load_balancing.queue !== null) {
    run.notYet(`${path}.load_balancing.queue`, 'lb_queue over dynamic upstreams');
  }
  return compileSources(run, `${path}.dynamic_upstreams`, config.dynamic_upstreams);
}

/** An upstream that cannot be reached from the address is a mistake that only a failed dial would tell of. */
function checkLocalAddress(run: Compilation, path: string, text: string | null, members: readonly MemberSpec[]): void {
  const local = text === null ? null : parseIp(text);
  if (local === null) return;
  for (const { host, upstream } of members) {
    const remote = parseIp(host);
    if (unixPath(host) === null && (remote === null || remote.family === local.family)) continue;
    run.fail(path, `local_address ${local.text} has no way to ${upstream}: it is no IPv${local.family} address`);
  }
}

/** `try_duration` 0 is Caddy's "not set". */
function compileRetry(config: LoadBalancingConfig): RetryPlan {
  return {
    retries: config.retries,
    tryDurationMs: config.try_duration === 0 ? null : config.try_duration,
    tryIntervalMs: config.try_interval,
  };
}

function compileTransport(config: TransportConfig): TransportPlan {
  return {
    dialTimeoutMs: config.dial_timeout,
    responseHeaderTimeoutMs: config.response_header_timeout,
    keepAliveIdleMs: config.keep_alive.idle_timeout,
    // A PROXY header speaks for one client: its connection is not used again.
    maxIdlePerEndpoint:
      config.keep_alive.enabled && config.proxy_protocol === null ? config.keep_alive.max_idle_conns_per_host : 0,
    maxResponseHeaderBytes: config.max_response_header_size,
    ...(config.proxy_protocol === null ? {} : { proxyProtocol: config.proxy_protocol }),
    ...(config.max_conns_per_host === 0 ? {} : { maxConnections: config.max_conns_per_host }),
    ...(config.local_address === null ? {} : { localAddress: config.local_address }),
    ...(config.keep_alive.probe_interval === DEFAULT_PROBE_MS
      ? {}
      : { keepAliveProbeMs: config.keep_alive.probe_interval }),
    ...(config.read_timeout === 0 ? {} : { readTimeoutMs: config.read_timeout }),
    ...(config.write_timeout === 0 ? {} : { writeTimeoutMs: config.write_timeout }),
  };
}
