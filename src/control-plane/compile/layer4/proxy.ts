/** The `proxy` handler of a layer-4 server. */
import type { Layer4ProxyPlan, ProxyTlvPlan } from '../../../shared/plan/layer4.ts';
import type { SectionHash } from '../../../shared/plan/types.ts';
import type { Layer4ProxyConfig } from '../../config/schema/layer4/proxy.ts';
import type { Compilation } from '../compilation.ts';
import { compilePool } from '../pool.ts';
import type { PoolKind } from '../pool-kind.ts';
import { readLayer4Upstream } from './upstream-address.ts';

/** `pools` collects the hashes of the pools that the server's section names. */
export function compileLayer4Proxy(
  run: Compilation,
  path: string,
  config: Layer4ProxyConfig,
  network: 'tcp' | 'udp',
  pools: Set<SectionHash>,
): Layer4ProxyPlan {
  if (network === 'udp') checkUdp(run, path, config);
  else if (config.proxy_header !== null) {
    run.fail(`${path}.proxy_header`, 'proxy_header is for UDP: over TCP the header stands once, before the first byte');
  }
  if (network === 'udp' && config.pool.transport.tls !== null) {
    run.fail(`${path}.upstreams.0.tls`, 'tls is for TCP upstreams, and this proxy has UDP ones');
  }
  const proxyTlvs = compileTlvs(run, path, config, network);
  const { hash } = compilePool(run, path, config.pool, poolKind(network));
  pools.add(hash);
  return {
    handler: 'proxy',
    pool: hash,
    proxyHeaderOn: config.proxy_header ?? 'each',
    ...(proxyTlvs.length === 0 ? {} : { proxyTlvs }),
  };
}

function compileTlvs(
  run: Compilation,
  path: string,
  { proxy_tlvs: tlvs, pool }: Layer4ProxyConfig,
  network: 'tcp' | 'udp',
): ProxyTlvPlan[] {
  if (tlvs.length > 0 && (network === 'udp' || pool.transport.proxy_protocol !== 'v2')) {
    const advice = network === 'udp' ? 'leave them out over UDP' : 'write proxy_protocol v2';
    run.fail(`${path}.proxy_tlvs`, `TLVs stand in a PROXY v2 header of a TCP connection: ${advice}`);
  }
  const seen = new Set<string | number>();
  return tlvs.map(({ type, value }, index): ProxyTlvPlan => {
    if (typeof type === 'number') return { kind: 'fixed', type, value: value ?? '' };
    if (seen.has(type)) run.fail(`${path}.proxy_tlvs.${index}`, `${type} already specified`);
    seen.add(type);
    return { kind: type };
  });
}

function checkUdp(run: Compilation, path: string, config: Layer4ProxyConfig): void {
  if (config.connectCheck) {
    run.fail(
      `${path}.health_checks.active`,
      'health_interval and its kin check with a TCP connection: for UDP upstreams write health udp or health dns with a block',
    );
  }
  const { proxy_protocol: version } = config.pool.transport;
  if (version === 'v1') {
    run.fail(`${path}.proxy_protocol`, 'proxy_protocol v1 is a line of text for TCP: write proxy_protocol v2 for UDP');
  }
  if (version === null && config.proxy_header !== null) {
    run.fail(
      `${path}.proxy_header`,
      'proxy_header says where the PROXY header stands, and there is none: add proxy_protocol v2',
    );
  }
}

function poolKind(network: 'tcp' | 'udp'): PoolKind {
  return {
    layer: network,
    directive: 'proxy',
    checkAdvice: network === 'tcp' ? 'health tcp' : 'health udp or health dns',
    places: { policy: 'load_balancing.selection', localAddress: 'upstreams.0.local_addr', transport: 'upstreams.0' },
    readUpstream: (dial) => readLayer4Upstream(dial, network),
  };
}
