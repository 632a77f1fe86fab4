/** The pool of one `reverse_proxy` handler. */
import type { PoolSection, RetryPlan, TransportPlan } from '../../shared/plan/types.ts';
import type { LoadBalancingConfig } from '../config/schema/load-balancing.ts';
import type { ReverseProxyConfig } from '../config/schema/reverse-proxy.ts';
import type { TransportConfig } from '../config/schema/transport.ts';
import { compileCheck } from './check.ts';
import type { Compilation } from './compilation.ts';
import type { MemberSpec } from './compiled.ts';
import { hashContent } from './content-hash.ts';
import { compilePolicy } from './policy.ts';
import { warnAffinity } from './pool-warnings.ts';
import { readUpstream } from './upstream-address.ts';

/**
 * The section and the spec of a pool go by one hash, so it covers both: handlers that agree in upstreams
 * and policy but differ in health checks are two pools, with a verdict each.
 */
export function compilePool(run: Compilation, path: string, config: ReverseProxyConfig): PoolSection {
  const members = compileMembers(run, path, config);
  const content = {
    kind: 'pool' as const,
    policy: compilePolicy(
      run,
      `${path}.load_balancing.selection_policy`,
      config.load_balancing.selection_policy,
      members.length,
    ),
    members: members.map(({ upstream, identity }) => ({ upstream, identity })),
    retry: compileRetry(config.load_balancing),
    transport: compileTransport(config.transport),
  };
  const control = {
    check: compileCheck(run, `${path}.health_checks.active`, config.health_checks.active),
    bestEffort: config.load_balancing.best_effort,
    resolvers: config.transport.resolver?.addresses ?? run.resolvers,
  };
  warnAffinity(run, `${path}.load_balancing.selection_policy`, content.policy, members.length, control.check !== null);
  const hash = hashContent({ ...content, ...control, addresses: members.map(({ host, port }) => [host, port]) });
  return run.addPool({ hash, section: { hash, ...content }, members, ...control });
}

function compileMembers(run: Compilation, path: string, config: ReverseProxyConfig): MemberSpec[] {
  if (config.upstreams.length === 0) run.fail(path, 'reverse_proxy has no upstreams: name at least one host:port');
  return config.upstreams.map(({ dial }, index) => {
    const place = `${path}.upstreams.${index}.dial`;
    const address = readUpstream(dial);
    if ('notYet' in address) run.notYet(place, address.notYet);
    if ('fault' in address) run.fail(place, address.fault);
    return address.member;
  });
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
    maxIdlePerEndpoint: config.keep_alive.enabled ? config.keep_alive.max_idle_conns_per_host : 0,
    maxResponseHeaderBytes: config.max_response_header_size,
  };
}
