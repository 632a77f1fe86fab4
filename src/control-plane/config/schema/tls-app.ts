/** `apps.tls` and `apps.pki`: certificates, who issues them, and the authorities of our own. */
import { z } from 'zod';
import { issuerSchema, type IssuerConfig } from './acme-issuer.ts';
import { certificateFiles, certificatePair } from './certificate-files.ts';
import type { CertificateFilesConfig, CertificatePairConfig } from './certificate-files.ts';
import { accept, duration, flag, list, mapOf, notYet, object, oneOf, orDefaults, orNull, text } from './primitives.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export interface AutomationPolicyConfig {
  /** Empty = every name without a policy of its own. */
  readonly subjects: readonly string[];
  /** Empty = by the name. */
  readonly issuers: readonly IssuerConfig[];
  readonly key_type: KeyType;
  readonly must_staple: boolean;
  /** Share of a life that is left when a certificate is renewed. */
  readonly renewal_window_ratio: number;
  /** Certificates are had when a client first asks for them. */
  readonly on_demand: boolean;
  readonly disable_ocsp_stapling: boolean;
}

export type KeyType = 'p256' | 'p384' | 'rsa2048' | 'rsa4096';

export interface TlsAppConfig {
  readonly certificates: {
    readonly load_files: readonly CertificateFilesConfig[];
    readonly load_pem: readonly CertificatePairConfig[];
    readonly load_folders: readonly string[];
    readonly automate: readonly string[];
  };
  readonly automation: {
    readonly policies: readonly AutomationPolicyConfig[];
    /** Who says which names may be had on demand; null = nobody. */
    readonly on_demand: OnDemandConfig | null;
    /** Milliseconds between two looks at what has to be renewed; null = the default. */
    readonly renew_interval: number | null;
    /** Milliseconds between two removals of what expired long ago. */
    readonly storage_clean_interval: number;
  };
  readonly disable_ocsp_stapling: boolean;
}

interface OnDemandConfig {
  readonly permission: { readonly module: 'http'; readonly endpoint: string };
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

function readShare(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 && value < 1 ? value : undefined;
}

const KEY_TYPES = ['p256', 'p384', 'rsa2048', 'rsa4096'] as const;

const onDemand: z.ZodType<OnDemandConfig> = object({
  permission: object({
    module: oneOf(['http']),
    endpoint: accept('an http or https URL', (value) => {
      const isUrl = typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value);
      return isUrl ? value : undefined;
    }),
  }),
  rate_limit: notYet('rate_limit'),
  ask: notYet('ask (write permission)'),
});

const policy: z.ZodType<AutomationPolicyConfig> = object({
  subjects: list(text('a host name')).default([]),
  issuers: list(issuerSchema).default([]),
  get_certificate: notYet('get_certificate'),
  must_staple: flag().default(false),
  renewal_window_ratio: accept('a number above 0 and below 1', readShare).default(1 / 3),
  key_type: oneOf(KEY_TYPES).default('p256'),
  storage: notYet('storage'),
  on_demand: flag().default(false),
  disable_ocsp_stapling: flag().default(false),
  ocsp_overrides: notYet('ocsp_overrides'),
  reuse_private_keys: notYet('reuse_private_keys'),
});

export const tlsAppSchema: z.ZodType<TlsAppConfig> = object({
  certificates: orDefaults(
    object({
      load_files: list(certificateFiles).default([]),
      load_pem: list(certificatePair).default([]),
      load_folders: list(text('a folder')).default([]),
      automate: list(text('a host name')).default([]),
      load_storage: notYet('load_storage'),
    }),
  ),
  automation: orDefaults(
    object({
      policies: list(policy).default([]),
      on_demand: orNull(onDemand),
      ocsp_interval: notYet('ocsp_interval'),
      renew_interval: orNull(duration(1000, DAY_MS)),
      storage_clean_interval: duration(MINUTE_MS, 365 * DAY_MS).default(DAY_MS),
    }),
  ),
  session_tickets: notYet('session_tickets'),
  cache: notYet('cache'),
  disable_ocsp_stapling: flag().default(false),
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
