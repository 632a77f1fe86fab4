/** `apps.tls` and `apps.pki`: certificates, who issues them, and the authorities of our own. */
import { z } from 'zod';
import { moduleOf } from './module.ts';
import { duration, flag, list, mapOf, notYet, object, orDefaults, orNull, text } from './primitives.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export interface CertificateFilesConfig {
  readonly certificate: string;
  readonly key: string;
  readonly tags: readonly string[];
}

export interface InternalIssuerConfig {
  readonly module: 'internal';
  readonly ca: string;
  /** Milliseconds. */
  readonly lifetime: number;
  readonly sign_with_root: boolean;
}

export interface AutomationPolicyConfig {
  /** Empty = every name without a policy of its own. */
  readonly subjects: readonly string[];
  /** Empty = by the name. */
  readonly issuers: readonly InternalIssuerConfig[];
}

export interface TlsAppConfig {
  readonly certificates: {
    readonly load_files: readonly CertificateFilesConfig[];
    readonly load_pem: readonly CertificateFilesConfig[];
    readonly load_folders: readonly string[];
    readonly automate: readonly string[];
  };
  readonly automation: { readonly policies: readonly AutomationPolicyConfig[] };
}

export interface AuthorityConfig {
  readonly name: string;
  readonly root_common_name: string;
  readonly intermediate_common_name: string;
  /** Milliseconds. */
  readonly intermediate_lifetime: number;
  /** A root made elsewhere; null = one of our own. */
  readonly root: { readonly certificate: string; readonly private_key: string } | null;
}

export interface PkiAppConfig {
  readonly certificate_authorities: Readonly<Record<string, AuthorityConfig>>;
}

export const LOCAL_AUTHORITY = 'local';

const pair: z.ZodType<CertificateFilesConfig> = object({
  certificate: text('a certificate'),
  key: text('a private key'),
  tags: list(text('a tag')).default([]),
  format: z.literal('pem').optional(),
});

const issuer = moduleOf<InternalIssuerConfig>({
  key: 'module',
  noun: 'issuer',
  modules: () => ({
    internal: object({
      module: z.literal('internal'),
      ca: text('the name of an authority').default(LOCAL_AUTHORITY),
      lifetime: duration(MINUTE_MS, 365 * DAY_MS).default(DAY_MS / 2),
      sign_with_root: flag().default(false),
    }),
  }),
  notYet: ['acme', 'zerossl'],
});

const policy: z.ZodType<AutomationPolicyConfig> = object({
  subjects: list(text('a host name')).default([]),
  issuers: list(issuer).default([]),
  get_certificate: notYet('get_certificate'),
  must_staple: notYet('must_staple'),
  renewal_window_ratio: notYet('renewal_window_ratio'),
  key_type: notYet('key_type'),
  storage: notYet('storage'),
  on_demand: notYet('on_demand'),
  disable_ocsp_stapling: notYet('disable_ocsp_stapling'),
  ocsp_overrides: notYet('ocsp_overrides'),
  reuse_private_keys: notYet('reuse_private_keys'),
});

export const tlsAppSchema: z.ZodType<TlsAppConfig> = object({
  certificates: orDefaults(
    object({
      load_files: list(pair).default([]),
      load_pem: list(pair).default([]),
      load_folders: list(text('a folder')).default([]),
      automate: list(text('a host name')).default([]),
      load_storage: notYet('load_storage'),
    }),
  ),
  automation: orDefaults(
    object({
      policies: list(policy).default([]),
      on_demand: notYet('on_demand'),
      ocsp_interval: notYet('ocsp_interval'),
      renew_interval: notYet('renew_interval'),
      storage_clean_interval: notYet('storage_clean_interval'),
    }),
  ),
  session_tickets: notYet('session_tickets'),
  cache: notYet('cache'),
  disable_ocsp_stapling: notYet('disable_ocsp_stapling'),
  disable_storage_check: notYet('disable_storage_check'),
  disable_storage_clean: notYet('disable_storage_clean'),
  encrypted_client_hello: notYet('encrypted_client_hello'),
  dns: notYet('dns'),
  resolvers: notYet('resolvers in apps.tls'),
});

const authority: z.ZodType<AuthorityConfig> = object({
  name: text().default('Holdfast Local Authority'),
  root_common_name: text().default(''),
  intermediate_common_name: text().default(''),
  intermediate_lifetime: duration(MINUTE_MS, 3650 * DAY_MS).default(7 * DAY_MS),
  root: orNull(
    object({ certificate: text('a file'), private_key: text('a file'), format: z.literal('pem_file').optional() }),
  ),
  // Nothing is installed without being asked to: `holdfast trust --install` does it.
  install_trust: flag().optional(),
  intermediate: notYet('intermediate'),
  storage: notYet('storage'),
  maintenance_interval: notYet('maintenance_interval'),
  renewal_window_ratio: notYet('renewal_window_ratio'),
});

export const pkiAppSchema: z.ZodType<PkiAppConfig> = object({
  certificate_authorities: mapOf(authority).default({}),
});

/** An authority that the config names and does not describe. */
export function defaultAuthority(): AuthorityConfig {
  return authority.parse({});
}
