/** Active health checks: from config to the definition that verdicts are keyed by. */
import type { ActiveHealthConfig } from '../config/schema/health-checks.ts';
import type { TransportConfig } from '../config/schema/transport.ts';
import type { Compilation } from './compilation.ts';
import type { CheckSpec } from './compiled.ts';
import { hashContent } from './content-hash.ts';
import { readUpstream } from './upstream-address.ts';

/** null when there is no check. `path` is the JSON path of the `active` object. */
export function compileCheck(
  run: Compilation,
  path: string,
  config: ActiveHealthConfig | null,
  { proxy_protocol: version, local_address: localAddress }: Pick<TransportConfig, 'proxy_protocol' | 'local_address'>,
): CheckSpec | null {
  if (config === null) return null;
  if (config.uri === null && config.port === null) {
    run.warn(path, 'health_uri', 'nothing is checked: the health_* options need health_uri (or health_port)');
    return null;
  }
  const definition: Omit<CheckSpec, 'hash'> = {
    probe: 'http',
    uri: config.uri ?? '/',
    method: config.method,
    body: config.body,
    headers: Object.entries(config.headers).flatMap(([name, values]) => values.flatMap((value) => [name, value])),
    address: config.upstream === null ? null : readAddress(run, `${path}.upstream`, config.upstream),
    port: config.upstream === null ? config.port : null,
    expectStatus: config.expect_status,
    expectBody: config.expect_body,
    maxBytes: config.max_size,
    followRedirects: config.follow_redirects,
    intervalMs: config.interval,
    timeoutMs: config.timeout,
    rise: config.passes,
    fall: config.fails,
    initial: config.initial,
    ...(localAddress === null || config.upstream !== null ? {} : { localAddress }),
    // An address or port of its own need not be one that expects the header.
    ...(version === null || config.upstream !== null || config.port !== null ? {} : { proxyProtocol: version }),
  };
  return { hash: hashContent(definition), ...definition };
}

function readAddress(run: Compilation, path: string, text: string): { host: string; port: number } {
  const address = readUpstream(text);
  if ('notYet' in address) run.notYet(path, `${address.notYet} (health_upstream)`);
  if ('fault' in address) run.fail(path, `health_upstream: ${address.fault}`);
  return { host: address.member.host, port: address.member.port };
}
