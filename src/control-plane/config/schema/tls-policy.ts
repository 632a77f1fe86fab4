/** `tls_connection_policies` of a server. */
import { z } from 'zod';
import { leafVerifier, type LeafVerifierConfig } from './leaf-verifier.ts';
import { moduleOf } from './module.ts';
import { ipRange, re2Pattern } from './patterns.ts';
import { list, notYet, object, oneOf, orNull, text } from './primitives.ts';

export interface TlsPolicyConfig {
  readonly match: TlsMatchConfig | null;
  readonly certificate_selection: { readonly any_tag: readonly string[]; readonly all_tags: readonly string[] } | null;
  readonly cipher_suites: readonly CipherSuite[];
  readonly curves: readonly Curve[];
  readonly alpn: readonly string[];
  readonly protocol_min: TlsVersionWord;
  readonly protocol_max: TlsVersionWord;
  readonly client_authentication: ClientAuthConfig | null;
  readonly default_sni: string;
  readonly fallback_sni: string;
}

export interface TlsMatchConfig {
  readonly sni: readonly string[];
  readonly sni_regexp: { readonly pattern: string } | null;
  readonly remote_ip: { readonly ranges: readonly string[]; readonly not_ranges: readonly string[] } | null;
  readonly local_ip: { readonly ranges: readonly string[] } | null;
}

export type TlsVersionWord = 'tls1.2' | 'tls1.3';

export interface ClientAuthConfig {
  readonly ca: TrustPoolConfig | null;
  /** DER, base64. */
  readonly trusted_ca_certs: readonly string[];
  readonly trusted_ca_certs_pem_files: readonly string[];
  /** DER, base64. */
  readonly trusted_leaf_certs: readonly string[];
  readonly verifiers: readonly LeafVerifierConfig[];
  /** null = by whether there are authorities. */
  readonly mode: 'request' | 'require' | 'verify_if_given' | 'require_and_verify' | null;
}

type TrustPoolConfig =
  | { readonly provider: 'inline'; readonly trusted_ca_certs: readonly string[] }
  | { readonly provider: 'file'; readonly pem_files: readonly string[] };

/** IANA's names of the suites of TLS 1.2 that may be chosen, and OpenSSL's. Those of TLS 1.3 are always on. */
export const CIPHER_SUITES = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_RSA_WITH_AES_128_GCM_SHA256: 'AES128-GCM-SHA256',
  TLS_RSA_WITH_AES_256_GCM_SHA384: 'AES256-GCM-SHA384',
  TLS_RSA_WITH_AES_128_CBC_SHA: 'AES128-SHA',
  TLS_RSA_WITH_AES_256_CBC_SHA: 'AES256-SHA',
} as const;

/** Caddy's names of key exchange groups, and OpenSSL's. */
export const CURVES = {
  x25519mlkem768: 'X25519MLKEM768',
  x25519: 'X25519',
  secp256r1: 'P-256',
  secp384r1: 'P-384',
  secp521r1: 'P-521',
} as const;

type CipherSuite = keyof typeof CIPHER_SUITES;
type Curve = keyof typeof CURVES;

const match = object({
  sni: list(text('a host name')).default([]),
  // A name is for placeholders of what matched, which nothing asks for here.
  sni_regexp: orNull(object({ pattern: re2Pattern(), name: text().optional() })),
  remote_ip: orNull(object({ ranges: list(ipRange()).default([]), not_ranges: list(ipRange()).default([]) })),
  local_ip: orNull(object({ ranges: list(ipRange()).default([]) })),
});

const selection = object({
  any_tag: list(text('a tag')).default([]),
  all_tags: list(text('a tag')).default([]),
  serial_number: notYet('serial_number'),
  subject_organization: notYet('subject_organization'),
  public_key_algorithm: notYet('public_key_algorithm'),
});

const trustPool = moduleOf<TrustPoolConfig>({
  key: 'provider',
  noun: 'pool of trusted authorities',
  modules: () => ({
    inline: object({
      provider: z.literal('inline'),
      trusted_ca_certs: list(text('a certificate (DER, base64)')).default([]),
    }),
    file: object({ provider: z.literal('file'), pem_files: list(text('a file')).default([]) }),
  }),
  notYet: ['pki_root', 'pki_intermediate', 'storage', 'http'],
});

const clientAuth: z.ZodType<ClientAuthConfig> = object({
  ca: orNull(trustPool),
  trusted_ca_certs: list(text('a certificate (DER, base64)')).default([]),
  trusted_ca_certs_pem_files: list(text('a file')).default([]),
  mode: orNull(oneOf(['request', 'require', 'verify_if_given', 'require_and_verify'])),
  trusted_leaf_certs: list(text('a certificate (DER, base64)')).default([]),
  verifiers: list(leafVerifier).default([]),
});

const version = oneOf(['tls1.2', 'tls1.3']);
const suites = Object.keys(CIPHER_SUITES) as CipherSuite[];
const curves = Object.keys(CURVES) as Curve[];

export const tlsPolicySchema: z.ZodType<TlsPolicyConfig> = object({
  match: orNull(match),
  certificate_selection: orNull(selection),
  cipher_suites: list(oneOf(suites)).default([]),
  curves: list(oneOf(curves)).default([]),
  alpn: list(text('a protocol such as http/1.1')).default([]),
  protocol_min: version.default('tls1.2'),
  protocol_max: version.default('tls1.3'),
  client_authentication: orNull(clientAuth),
  default_sni: text('a host name').default(''),
  fallback_sni: text('a host name').default(''),
  drop: notYet('drop'),
  insecure_secrets_log: notYet('insecure_secrets_log'),
}).superRefine(({ protocol_min: min, protocol_max: max }, context) => {
  if (min > max) context.addIssue({ code: 'custom', message: `protocol_min ${min} is above protocol_max ${max}` });
});
