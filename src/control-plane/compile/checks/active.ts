/** `health_checks.active` (Caddy's): from config to the definition that verdicts are keyed by. */
import type { ActiveHealthConfig } from '../../config/schema/health-checks.ts';
import type { Compilation } from '../compilation.ts';
import type { CheckSpec } from '../compiled.ts';
import { hashContent } from '../content-hash.ts';
import { readUpstream } from '../upstream-address.ts';
import type { TrafficFacts } from './probe.ts';

const DEFAULT_MAX_BODY_BYTES = 1_048_576;
/** The class of `expect_status` 0. */
const SUCCESS = 2;

/** null when there is no check. `path` is the JSON path of the `active` object. */
export function compileActive(
  run: Compilation,
  path: string,
  config: ActiveHealthConfig | null,
  { proxyProtocol, localAddress, tls, http2Only }: TrafficFacts,
): CheckSpec | null {
  if (config === null) return null;
  if (config.uri === null && config.port === null) {
    run.warn(path, 'health_uri', 'nothing is checked: the health_* options need health_uri (or health_port)');
    return null;
  }
  const definition: Omit<CheckSpec, 'hash'> = {
    probe: {
      kind: 'http',
      method: config.method,
      uri: config.uri ?? '/',
      version: http2Only === true ? '2' : '1.1',
      host: 'upstream',
      headers: Object.entries(config.headers).flatMap(([name, values]) => values.flatMap((value) => [name, value])),
      body: config.body,
      statuses: [config.expect_status === 0 ? SUCCESS : config.expect_status],
      expectBody: config.expect_body,
      maxBytes: config.max_size === 0 ? DEFAULT_MAX_BODY_BYTES : config.max_size,
      followRedirects: config.follow_redirects,
      tls: tls === null ? null : { serverName: tls.serverName, insecure: !tls.verify, traffic: tls },
    },
    address: config.upstream === null ? null : readAddress(run, `${path}.upstream`, config.upstream),
    port: config.upstream === null ? config.port : null,
    intervalMs: config.interval,
    timeoutMs: config.timeout,
    rise: config.passes,
    fall: config.fails,
    initial: config.initial,
    ...(localAddress === null || config.upstream !== null ? {} : { localAddress }),
    // An address or port of its own need not be one that expects the header.
    ...(proxyProtocol === null || config.upstream !== null || config.port !== null ? {} : { proxyProtocol }),
  };
  return { hash: hashContent(definition), ...definition };
}

function readAddress(run: Compilation, path: string, text: string): { host: string; port: number } {
  const address = readUpstream(text);
  if ('notYet' in address) run.notYet(path, `${address.notYet} (health_upstream)`);
  if ('fault' in address) run.fail(path, `health_upstream: ${address.fault}`);
  return { host: address.member.host, port: address.member.port };
}
