/** Issuers of certificates that speak ACME (RFC 8555), and the authority of our own. */
import { z } from 'zod';
import { moduleOf } from './module.ts';
import {
  accept,
  duration,
  flag,
  list,
  notYet,
  object,
  oneOf,
  orDefaults,
  orNull,
  text,
  textLike,
  wholeNumber,
} from './primitives.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export interface InternalIssuerConfig {
  readonly module: 'internal';
  readonly ca: string;
  /** Milliseconds. */
  readonly lifetime: number;
  readonly sign_with_root: boolean;
}

interface DnsChallengeConfig {
  /** The program that sets and removes TXT records. */
  readonly provider: { readonly name: 'hook'; readonly program: string };
  /** Milliseconds between the setting of a record and the first look at it. */
  readonly propagation_delay: number;
}

interface ExternalAccountConfig {
  readonly key_id: string;
  /** base64url. */
  readonly mac_key: string;
}

export interface AcmeIssuerConfig {
  readonly module: 'acme';
  /** URL of the directory. */
  readonly ca: string;
  readonly email: string;
  readonly profile: string;
  readonly external_account: ExternalAccountConfig | null;
  /** Milliseconds for one order. */
  readonly acme_timeout: number;
  readonly challenges: {
    readonly http: { readonly disabled: boolean; readonly alternate_port: number | null };
    readonly 'tls-alpn': { readonly disabled: boolean; readonly alternate_port: number | null };
    readonly dns: DnsChallengeConfig | null;
  };
  readonly trusted_roots_pem_files: readonly string[];
}

export type IssuerConfig = InternalIssuerConfig | AcmeIssuerConfig;

export const LOCAL_AUTHORITY = 'local';
const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory';
export const ZERO_SSL = 'https://acme.zerossl.com/v2/DV90';

/** An `https` URL; plain HTTP would let anybody on the way answer. */
const directory = accept('an https URL', (value) => {
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined;
  return new URL(value).protocol === 'https:' ? value : undefined;
});

const challengeSchema = (): z.ZodType<{ disabled: boolean; alternate_port: number | null }> =>
  object({ disabled: flag().default(false), alternate_port: orNull(wholeNumber(1, 65_535)) });

const dnsChallengeSchema: z.ZodType<DnsChallengeConfig> = object({
  provider: object({
    name: oneOf(['hook']),
    program: textLike(/^\//, 'the absolute path of a program'),
  }),
  propagation_delay: duration(0, DAY_MS).default(0),
  propagation_timeout: notYet('propagation_timeout'),
  resolvers: notYet('resolvers of the DNS challenge'),
  ttl: notYet('dns_ttl'),
  override_domain: notYet('dns_challenge_override_domain'),
});

const externalAccount: z.ZodType<ExternalAccountConfig> = object({
  key_id: textLike(/./, 'the id of a key'),
  mac_key: textLike(/^[A-Za-z0-9_-]+={0,2}$/, 'a key in base64url'),
});

export const acmeIssuerSchema: z.ZodType<AcmeIssuerConfig> = object({
  module: z.literal('acme'),
  ca: directory.default(LETS_ENCRYPT),
  email: textLike(/^[^\s@]+@[^\s@]+$|^$/, 'an email address').default(''),
  profile: text('the name of a profile').default(''),
  external_account: orNull(externalAccount),
  acme_timeout: duration(1000, DAY_MS).default(5 * MINUTE_MS),
  challenges: orDefaults(
    object({
      http: orDefaults(challengeSchema()),
      'tls-alpn': orDefaults(challengeSchema()),
      dns: orNull(dnsChallengeSchema),
      bind_host: notYet('bind_host of a challenge'),
      distributed: notYet('distributed'),
    }),
  ),
  trusted_roots_pem_files: list(text('a file')).default([]),
  test_ca: notYet('test_dir'),
  account_key: notYet('account_key'),
  preferred_chains: notYet('preferred_chains'),
  certificate_lifetime: notYet('certificate_lifetime'),
});

export const issuerSchema: z.ZodType<IssuerConfig> = moduleOf<IssuerConfig>({
  key: 'module',
  noun: 'issuer',
  modules: () => ({
    internal: object({
      module: z.literal('internal'),
      ca: text('the name of an authority').default(LOCAL_AUTHORITY),
      lifetime: duration(MINUTE_MS, 365 * DAY_MS).default(DAY_MS / 2),
      sign_with_root: flag().default(false),
    }),
    acme: acmeIssuerSchema,
  }),
  notYet: ['zerossl'],
});
