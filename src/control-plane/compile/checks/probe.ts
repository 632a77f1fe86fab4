/** `health_checks.probe`: from config to the definition that verdicts are keyed by. */
import { isIP } from 'node:net';
import { splitHostPort, unixPath } from '../../../shared/net/address.ts';
import type { UpstreamTlsPlan } from '../../../shared/plan/upstream-tls.ts';
import type { ProbeTlsConfig } from '../../config/schema/health/common.ts';
import type { ProbeCheckConfig, ScriptStepConfig } from '../../config/schema/health/probes.ts';
import type { ProbeSpec, ProbeTls, ScriptStep } from '../../health/probe-spec.ts';
import type { Compilation } from '../compilation.ts';
import type { BurstSpec, CheckSpec, MemberSpec } from '../compiled.ts';
import { hashContent } from '../content-hash.ts';

/** Sent by `health udp` where nothing is configured: printable, so that a server's log explains itself. */
const DEFAULT_DATAGRAM = 'holdfast-health';
const MAX_BODY_BYTES = 1_048_576;
const DEFAULT_JITTER = 0.05;

/** How the traffic of the pool reaches its servers; a check of the same port does it in the same way. */
export interface TrafficFacts {
  readonly proxyProtocol: 'v1' | 'v2' | null;
  readonly localAddress: string | null;
  readonly tls: UpstreamTlsPlan | null;
  /** Nothing else is spoken. */
  readonly http2Only?: boolean;
}

/** `path` is the JSON path of the `probe` object. */
export function compileProbe(
  run: Compilation,
  path: string,
  config: ProbeCheckConfig,
  members: readonly MemberSpec[],
  traffic: TrafficFacts,
): CheckSpec {
  const address = config.address === null ? null : splitHostPort(config.address);
  if (address !== null && address.port !== null && config.port !== null) {
    run.fail(`${path}.port`, 'the address of the check has a port already: write one of them');
  }
  const probe = compileProbeSpec(run, path, config, traffic.tls);
  const overUdp = probe.kind === 'udp' || probe.kind === 'dns' || probe.kind === 'quic';
  if (overUdp) checkDatagramMembers(run, path, config, members);
  const proxyProtocol = proxyProtocolOf(run, path, config, traffic, overUdp);
  const localAddress = config.source ?? (address === null ? traffic.localAddress : null);
  const burst = compileBurst(run, path, config);
  warnTimes(run, path, config);
  const definition: Omit<CheckSpec, 'hash'> = {
    probe,
    address,
    port: config.port,
    intervalMs: config.interval,
    timeoutMs: config.timeout,
    rise: config.rise,
    fall: config.fall,
    initial: config.initial,
    ...(localAddress === null ? {} : { localAddress }),
    ...(proxyProtocol === null ? {} : { proxyProtocol }),
    ...(config.jitter === DEFAULT_JITTER ? {} : { jitter: config.jitter }),
    ...(config.max_rtt === null ? {} : { maxRttMs: config.max_rtt }),
    ...(burst === null ? {} : { burst }),
  };
  return { hash: hashContent(definition), ...definition };
}

function compileProbeSpec(
  run: Compilation,
  path: string,
  config: ProbeCheckConfig,
  traffic: UpstreamTlsPlan | null,
): ProbeSpec {
  switch (config.probe) {
    case 'tcp':
      return { kind: 'tcp', close: config.close, script: config.script.map(stepOf), tls: tlsOf(config.tls, traffic) };
    case 'udp':
      return compileUdp(run, path, config);
    case 'http':
      return compileHttp(run, path, config, traffic);
    case 'grpc':
      return { kind: 'grpc', service: config.service, tls: tlsOf(config.tls, traffic) };
    case 'dns':
      return { kind: 'dns', name: config.name.replace(/\.$/, ''), type: config.type, alive: config.alive };
    case 'smtp':
      return { kind: 'smtp', ehlo: config.ehlo };
    case 'redis':
      return { kind: 'redis', strict: config.strict };
    case 'mqtt':
      return { kind: 'mqtt', version: config.version === 5 ? 5 : 3 };
    case 'ssh':
    case 'quic':
      return { kind: config.probe };
  }
}

type ConfigOf<Name> = Extract<ProbeCheckConfig, { readonly probe: Name }>;

function compileUdp(run: Compilation, path: string, config: ConfigOf<'udp'>): ProbeSpec {
  const { send, expect, expect_regex: pattern } = config;
  if (expect !== null && pattern !== null) run.fail(`${path}.expect_regex`, 'write expect or expect_regex, not both');
  const answer = expect ?? pattern;
  if (answer !== null && send === null) run.fail(path, 'health udp with expect needs send: what is to be answered?');
  if (config.echo === true && answer !== null) {
    run.fail(`${path}.echo`, 'with expect the answer alone counts, no echo request is sent: leave echo on out');
  }
  const echo = config.echo !== false && answer === null;
  if (echo && run.context.hasProgram?.('ping') === false) {
    run.fail(
      path,
      'health udp sends an echo request by the program ping, which is not installed here: ' +
        'install it (Debian: iputils-ping), or write echo off',
    );
  }
  return {
    kind: 'udp',
    echo,
    payload: send ?? DEFAULT_DATAGRAM,
    expect:
      expect !== null ? { step: 'expect', bytes: expect } : pattern !== null ? { step: 'expect_regex', pattern } : null,
  };
}

/** RFC 9112 section 3.2: a request of HTTP/1.1 without Host is a 400. */
function compileHttp(
  run: Compilation,
  path: string,
  config: ConfigOf<'http'>,
  traffic: UpstreamTlsPlan | null,
): ProbeSpec {
  const { domain } = config;
  if (config.version === '1.1' && domain === null) {
    run.fail(`${path}.version`, 'HTTP/1.1 needs a Host field: add domain <name>, or domain $SERVER_IP');
  }
  if (config.expect_body !== '' && config.method === 'HEAD') {
    run.fail(`${path}.expect_body`, 'an answer to HEAD has no body: write method GET');
  }
  const tls = tlsOf(config.tls, traffic);
  const name = domain === null || domain === '$SERVER_IP' ? null : domain;
  return {
    kind: 'http',
    method: config.method,
    uri: config.path,
    version: config.version,
    host: name !== null ? { name } : domain === null ? 'none' : 'address',
    headers: [],
    body: '',
    statuses: config.status,
    expectBody: config.expect_body,
    maxBytes: config.expect_body === '' ? 0 : MAX_BODY_BYTES,
    followRedirects: false,
    // The name asked for is the one the certificate is for.
    tls: tls !== null && tls.serverName === '' && name !== null ? { ...tls, serverName: hostOnly(name) } : tls,
  };
}

function hostOnly(domain: string): string {
  return splitHostPort(domain)?.host ?? domain;
}

/** Authorities and our certificate are those of the pool's traffic, where that speaks TLS. */
function tlsOf(config: ProbeTlsConfig | null, traffic: UpstreamTlsPlan | null): ProbeTls | null {
  if (config === null) return null;
  const serverName = config.name === '' ? (traffic?.serverName ?? '') : config.name;
  if (traffic === null) return { serverName, insecure: config.insecure };
  return { serverName, insecure: config.insecure || !traffic.verify, traffic: { ...traffic, exceptPorts: [] } };
}

function stepOf(step: ScriptStepConfig): ScriptStep {
  if ('send' in step) return { step: 'send', bytes: step.send };
  return 'expect' in step
    ? { step: 'expect', bytes: step.expect }
    : { step: 'expect_regex', pattern: step.expect_regex };
}

function checkDatagramMembers(
  run: Compilation,
  path: string,
  config: ProbeCheckConfig,
  members: readonly MemberSpec[],
): void {
  const socket = members.find(({ host }) => unixPath(host) !== null);
  if (socket === undefined || config.address !== null) return;
  run.fail(
    path,
    `health ${config.probe} speaks UDP, and ${socket.upstream} is a Unix socket: give the check an address`,
  );
}

function proxyProtocolOf(
  run: Compilation,
  path: string,
  config: ProbeCheckConfig,
  traffic: TrafficFacts,
  overUdp: boolean,
): 'v1' | 'v2' | null {
  if (config.proxy_protocol === 'off') return null;
  // An address or port of its own need not be one that expects the header.
  const inherited = config.address === null && config.port === null ? traffic.proxyProtocol : null;
  const version = config.proxy_protocol ?? inherited;
  if (version === 'v1' && overUdp) {
    run.fail(`${path}.proxy_protocol`, `PROXY v1 is for TCP; health ${config.probe} can send v2`);
  }
  return version;
}

function compileBurst(run: Compilation, path: string, config: ProbeCheckConfig): BurstSpec | null {
  const { burst, max_loss: maxLoss, max_jitter: maxJitterMs } = config;
  if (burst === null) {
    if (maxLoss !== null) run.fail(`${path}.max_loss`, 'max_loss is about the probes of a burst: add burst <n>');
    if (maxJitterMs !== null)
      run.fail(`${path}.max_jitter`, 'max_jitter is about the probes of a burst: add burst <n>');
    return null;
  }
  if (config.probe === 'udp' && config.expect === null && config.expect_regex === null) {
    run.fail(`${path}.burst`, 'a burst counts answers: health udp needs send and expect for it');
  }
  return { count: burst, maxLoss, maxJitterMs };
}

function warnTimes(run: Compilation, path: string, config: ProbeCheckConfig): void {
  if (config.max_rtt !== null && config.max_rtt >= config.timeout) {
    run.warn(`${path}.max_rtt`, 'health', 'max_rtt is never reached: timeout is not longer');
  }
  if (config.address !== null && isIP(splitHostPort(config.address)?.host ?? '') === 0) {
    run.warn(`${path}.address`, 'health', 'the address of the check is a name: it is asked for anew by every probe');
  }
}
