/** Selection policies: from config to plan, with what an operator should know about each. */
import type { CookiePlan, IpHashPlan, PolicyPlan } from '../../shared/plan/types.ts';
import type {
  CookieConfig,
  IpHashConfig,
  SelectionPolicyConfig,
  SourceHashConfig,
} from '../config/schema/selection-policy.ts';
import type { Compilation } from './compilation.ts';
import type { ClientKeyOptions } from '../../data-plane/select/client-key.ts';
import { warnCookieAttributes, warnParity, warnSecret, warnTableSize } from './policy-warnings.ts';
import type { PoolKind } from './pool-kind.ts';

type Layer = PoolKind['layer'];

/** `path` is the JSON path of the policy, `size` the number of upstreams, 0 = not known. */
export function compilePolicy(
  run: Compilation,
  path: string,
  config: SelectionPolicyConfig,
  size: number,
  layer: Layer = 'http',
): PolicyPlan {
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
        fallback: compilePolicy(run, `${path}.fallback`, config.fallback, size, layer),
      };
    case 'query':
      return {
        policy: 'query',
        key: config.key,
        fallback: compilePolicy(run, `${path}.fallback`, config.fallback, size, layer),
      };
    case 'random_choose':
      return { policy: 'random_choose', choose: config.choose };
    case 'source_hash':
      warnTableSize(run, path, config.policy, size);
      return { policy: 'source_hash', ...clientKey(config) };
    case 'tuple_hash':
    case 'quic_cid':
      checkLayer(run, path, config.policy, layer);
      warnTableSize(run, path, config.policy, size);
      return { policy: config.policy };
    default:
      return { policy: config.policy };
  }
}

function checkLayer(run: Compilation, path: string, policy: 'tuple_hash' | 'quic_cid', layer: Layer): void {
  if (policy === 'quic_cid' && layer !== 'udp') {
    run.fail(path, "the policy 'quic_cid' reads datagrams of QUIC: it is for the proxy of a layer4 server on UDP");
  }
  if (policy === 'tuple_hash' && layer === 'http') {
    run.fail(
      path,
      "the policy 'tuple_hash' places connections by both their ends, and requests share connections: " +
        'it is for the proxy of a layer4 server. Write source_hash or ip_hash to keep a client on its server',
    );
  }
}

function clientKey(config: SourceHashConfig | IpHashConfig): ClientKeyOptions {
  return { seed: config.seed, ipv4Prefix: config.ipv4_prefix, ipv6Prefix: config.ipv6_prefix, nat64: config.nat64 };
}

function compileIpHash(run: Compilation, path: string, config: IpHashConfig, size: number): IpHashPlan {
  warnParity(run, path, config, size);
  return {
    policy: 'ip_hash',
    onFailure: config.on_failure,
    mapping: config.mapping,
    ...clientKey(config),
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
