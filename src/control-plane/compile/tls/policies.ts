/** TLS connection policies, compiled. */
import type { TlsPolicyPlan } from '../../../shared/plan/tls.ts';
import { CIPHER_SUITES, CURVES } from '../../config/schema/tls-policy.ts';
import type { TlsMatchConfig, TlsPolicyConfig, TlsVersionWord } from '../../config/schema/tls-policy.ts';
import type { Compilation } from '../compilation.ts';
import { compileClientAuth } from './client-auth.ts';

const TLS13_CIPHERS = 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256';
/** Of TLS 1.2 only what has forward secrecy and authenticated encryption. */
const DEFAULT_SUITES = [
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
] as const;
/** Why `h3` is not offered. */
export const NO_HTTP3 = 'HTTP/3 is not served, because Node.js has none yet; clients use HTTP/2';
/** What is spoken inside TLS, preferred first. */
const ALPN: readonly string[] = Object.freeze(['h2', 'http/1.1']);

/** `path` is the JSON path of the policy. `protocols`: words of the server, such as `h2`; null = it may agree on whatever ALPN names. */
export function compilePolicy(
  run: Compilation,
  path: string,
  config: TlsPolicyConfig,
  protocols: readonly string[] | null,
): TlsPolicyPlan {
  const suites = config.cipher_suites.length > 0 ? config.cipher_suites : DEFAULT_SUITES;
  return {
    ...compileMatch(config.match),
    minVersion: versionOf(config.protocol_min),
    maxVersion: versionOf(config.protocol_max),
    ciphers: [TLS13_CIPHERS, ...suites.map((suite) => CIPHER_SUITES[suite])].join(':'),
    curves: config.curves.length === 0 ? 'auto' : config.curves.map((curve) => CURVES[curve]).join(':'),
    alpn: protocols === null ? config.alpn : compileAlpn(run, `${path}.alpn`, config.alpn, protocols),
    clientAuth:
      config.client_authentication === null
        ? null
        : compileClientAuth(run, `${path}.client_authentication`, config.client_authentication),
    anyTag: config.certificate_selection?.any_tag ?? [],
    allTags: config.certificate_selection?.all_tags ?? [],
    defaultSni: config.default_sni.toLowerCase(),
    fallbackSni: config.fallback_sni.toLowerCase(),
  };
}

type MatchPlan = Pick<TlsPolicyPlan, 'sni' | 'sniRegexp' | 'remoteIp' | 'localIp'>;

function compileMatch(match: TlsMatchConfig | null): MatchPlan {
  const { sni = [], sni_regexp: regexp = null, remote_ip: remote = null, local_ip: local = null } = match ?? {};
  return {
    sni: sni.map((name) => name.toLowerCase()),
    ...(regexp === null ? {} : { sniRegexp: regexp.pattern }),
    ...(remote === null ? {} : { remoteIp: { ranges: remote.ranges, notRanges: remote.not_ranges } }),
    ...(local === null || local.ranges.length === 0 ? {} : { localIp: local.ranges }),
  };
}

function versionOf(word: TlsVersionWord): TlsPolicyPlan['minVersion'] {
  return word === 'tls1.2' ? 'TLSv1.2' : 'TLSv1.3';
}

function compileAlpn(
  run: Compilation,
  path: string,
  names: readonly string[],
  protocols: readonly string[],
): readonly string[] {
  const served = protocols.includes('h2') ? ALPN : ALPN.filter((name) => name !== 'h2');
  const unknown = names.find((name) => !ALPN.includes(name) && name !== 'h3');
  if (unknown !== undefined) {
    run.fail(path, `'${unknown}' is no protocol that is served: alpn takes h2 and http/1.1`);
  }
  if (names.includes('h3')) run.warn(path, 'tls', `alpn h3: ${NO_HTTP3}`);
  if (names.length === 0) return served;
  const spoken = names.filter((name) => served.includes(name));
  if (spoken.length === 0) {
    run.fail(
      path,
      `alpn ${names.join(' ')} offers nothing that the server speaks: add http/1.1, or h2 to its protocols`,
    );
  }
  return spoken;
}
