/** TLS connection policies, compiled. */
import type { ClientAuthPlan, TlsPolicyPlan } from '../../../shared/plan/tls.ts';
import { CIPHER_SUITES, CURVES } from '../../config/schema/tls-policy.ts';
import type { ClientAuthConfig, TlsPolicyConfig, TlsVersionWord } from '../../config/schema/tls-policy.ts';
import { parseChain } from '../../certificates/pem.ts';
import type { Compilation } from '../compilation.ts';
import { readCertificates } from '../pem-files.ts';

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

/** `path` is the JSON path of the policy. `protocols`: words of the server, such as `h2`. */
export function compilePolicy(
  run: Compilation,
  path: string,
  config: TlsPolicyConfig,
  protocols: readonly string[],
): TlsPolicyPlan {
  const suites = config.cipher_suites.length > 0 ? config.cipher_suites : DEFAULT_SUITES;
  return {
    sni: (config.match?.sni ?? []).map((name) => name.toLowerCase()),
    minVersion: versionOf(config.protocol_min),
    maxVersion: versionOf(config.protocol_max),
    ciphers: [TLS13_CIPHERS, ...suites.map((suite) => CIPHER_SUITES[suite])].join(':'),
    curves: config.curves.length === 0 ? 'auto' : config.curves.map((curve) => CURVES[curve]).join(':'),
    alpn: compileAlpn(run, `${path}.alpn`, config.alpn, protocols),
    clientAuth: config.client_authentication === null ? null : compileAuth(run, path, config.client_authentication),
    anyTag: config.certificate_selection?.any_tag ?? [],
    allTags: config.certificate_selection?.all_tags ?? [],
    defaultSni: config.default_sni.toLowerCase(),
    fallbackSni: config.fallback_sni.toLowerCase(),
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

function compileAuth(run: Compilation, policyPath: string, config: ClientAuthConfig): ClientAuthPlan {
  const path = `${policyPath}.client_authentication`;
  const inline = [...config.trusted_ca_certs, ...(config.ca?.provider === 'inline' ? config.ca.trusted_ca_certs : [])];
  const files = [...config.trusted_ca_certs_pem_files, ...(config.ca?.provider === 'file' ? config.ca.pem_files : [])];
  const trusted = [
    ...inline.map((der) => readInline(run, path, der)),
    ...files.flatMap((file) => readCertificates(run, path, file)),
  ];
  const mode = config.mode ?? (trusted.length > 0 ? 'require_and_verify' : 'require');
  const verifies = mode === 'verify_if_given' || mode === 'require_and_verify';
  if (verifies && trusted.length === 0) {
    run.fail(path, `client_auth with mode ${mode} needs a trust_pool: nobody's certificate could be verified`);
  }
  return { mode, trusted };
}

function readInline(run: Compilation, path: string, base64: string): string {
  const pem = `-----BEGIN CERTIFICATE-----\n${base64.replace(/\s/g, '')}\n-----END CERTIFICATE-----\n`;
  try {
    return parseChain(pem)[0]!;
  } catch {
    return run.fail(path, 'a trusted certificate cannot be read: write its DER in base64, on one line');
  }
}
