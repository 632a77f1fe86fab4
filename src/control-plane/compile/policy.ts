/** Selection policies: from config to plan, with what an operator should know about each. */
import type { CookiePlan, IpHashPlan, PolicyPlan } from '../../shared/plan/types.ts';
import type { CookieConfig, IpHashConfig, SelectionPolicyConfig } from '../config/schema/selection-policy.ts';
import type { Compilation } from './compilation.ts';
import { warnCookieAttributes, warnParity, warnSecret } from './policy-warnings.ts';

/** `path` is the JSON path of the policy, `size` the number of upstreams. */
export function compilePolicy(run: Compilation, path: string, config: SelectionPolicyConfig, size: number): PolicyPlan {
  switch (config.policy) {
    case 'ip_hash':
    case 'client_ip_hash':
      return compileIpHash(run, path, config, size);
    case 'cookie':
      return compileCookie(run, path, config, size);
    case 'header':
      return {
        policy: 'header',
        field: config.field,
        fallback: compilePolicy(run, `${path}.fallback`, config.fallback, size),
      };
    case 'query':
      return {
        policy: 'query',
        key: config.key,
        fallback: compilePolicy(run, `${path}.fallback`, config.fallback, size),
      };
    case 'random_choose':
      return { policy: 'random_choose', choose: config.choose };
    default:
      return { policy: config.policy };
  }
}

function compileIpHash(run: Compilation, path: string, config: IpHashConfig, size: number): IpHashPlan {
  warnParity(run, path, config, size);
  return {
    policy: 'ip_hash',
    onFailure: config.on_failure,
    mapping: config.mapping,
    seed: config.seed,
    ipv4Prefix: config.ipv4_prefix,
    ipv6Prefix: config.ipv6_prefix,
    nat64: config.nat64,
    balanceFactor: config.balance_factor,
  };
}

function compileCookie(run: Compilation, path: string, config: CookieConfig, size: number): CookiePlan {
  warnCookieAttributes(run, path, config);
  return {
    policy: 'cookie',
    name: config.name,
    secrets: secretsOf(run, path, config),
    maxAgeSeconds: Math.floor(config.max_age / 1000),
    sameSite: config.same_site,
    secure: config.secure,
    httpOnly: config.http_only,
    partitioned: config.partitioned,
    path: config.path,
    domain: config.domain,
    format: config.format,
    fallback: compilePolicy(run, `${path}.fallback`, config.fallback, size),
  };
}

/**
 * A generated secret is kept per cookie name, which survives every other edit of the config: pools may
 * come, go and grow without a client losing its server.
 */
function secretsOf(run: Compilation, path: string, config: CookieConfig): readonly string[] {
  const written = config.secret === null ? config.secrets : [config.secret, ...config.secrets];
  for (const secret of written) warnSecret(run, path, secret);
  if (written.length > 0) return [...new Set(written)];
  const folder = run.context.dataDir === undefined ? 'the data directory' : run.context.dataDir;
  run.warn(
    path,
    'lb_policy',
    `cookie ${config.name} has no secret: a random one is kept in ${folder}. ` +
      'Several instances need the same secret, or each will move the clients of the others',
  );
  return [run.context.generatedSecret(`cookie/${config.name}`)];
}
