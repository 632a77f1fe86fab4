/** What has to be known of certificates that somebody else issues. */
import type { KeyType } from '../config/schema/tls-app.ts';

/** A certificate that is had from the first of its issuers that gives one. */
export interface ManagedSpec extends IssueTerms {
  readonly source: 'acme';
  /** Lower case; a name or `*.name`. */
  readonly name: string;
  readonly place: string;
}

export interface IssueTerms {
  /** Asked in turn; at least one. */
  readonly issuers: readonly IssuerSpec[];
  readonly keyType: KeyType;
  /** Clients are to refuse it without a stapled OCSP response (RFC 7633). */
  readonly mustStaple: boolean;
  /** Share of its life that is left when it is renewed, where the authority says nothing. Default 1/3. */
  readonly renewalShare: number;
}

export type IssuerSpec =
  | AcmeIssuerSpec
  | {
      readonly kind: 'internal';
      readonly authority: string;
      readonly lifetimeMs: number;
      readonly signWithRoot: boolean;
    };

export interface AcmeIssuerSpec {
  readonly kind: 'acme';
  readonly directory: string;
  readonly email: string;
  readonly profile: string;
  readonly eab: { readonly keyId: string; readonly macKey: string } | null;
  /** Who may sign for the directory, PEM; empty = those the system trusts. */
  readonly trustedRoots: readonly string[];
  /** How control of a name is shown, the first is tried first; at least one. */
  readonly challenges: readonly ChallengeType[];
  readonly dns: DnsHookSpec | null;
  /** For one order. */
  readonly timeoutMs: number;
}

export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01';

export interface DnsHookSpec {
  readonly program: string;
  readonly propagationDelayMs: number;
}

/** Names whose certificates are had when a client first asks. */
export interface OnDemandSpec extends IssueTerms {
  /** Lower case, `*` for a label; empty = every name. */
  readonly subjects: readonly string[];
  readonly place: string;
}

export interface IssuancePlan {
  readonly onDemand: readonly OnDemandSpec[];
  /** URL that is asked whether a name may be had on demand; null = every name. */
  readonly ask: string | null;
  /** Folder of certificates and accounts; null = the data directory. */
  readonly storage: string | null;
  /** Programs the config wants to run, each with the place it was written at. */
  readonly programs: readonly { readonly path: string; readonly place: string }[];
  readonly renewIntervalMs: number;
  readonly cleanIntervalMs: number;
  readonly stapling: boolean;
}

/** Of a config without certificates of others. */
export const NOTHING_ISSUED: IssuancePlan = Object.freeze({
  onDemand: [],
  ask: null,
  storage: null,
  programs: [],
  renewIntervalMs: 5000,
  cleanIntervalMs: 86_400_000,
  stapling: true,
});
