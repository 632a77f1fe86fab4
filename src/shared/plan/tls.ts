/**
 * TLS in a plan: who may speak it and how. Certificates are no part of a plan: they come and are renewed in messages
 * of their own, so that a renewal is no reload.
 */

export interface TlsPlan {
  /** Keys of the server's listeners that speak TLS; the others are plain. */
  readonly listeners: readonly string[];
  /** The first one whose names match the ClientHello decides. A hello that none matches is refused. */
  readonly policies: readonly TlsPolicyPlan[];
  /** From accepting to the end of the handshake. Default 10 000. */
  readonly handshakeTimeoutMs: number;
  /** Requests whose Host is not the name of their handshake are answered 421. */
  readonly strictSniHost: boolean;
  /**
   * When the control plane is asked for a certificate: for names that are being validated (TLS-ALPN-01), or for every
   * name without one. Absent = never.
   */
  readonly asks?: 'challenges' | 'all';
}

type TlsVersion = 'TLSv1.2' | 'TLSv1.3';

/** One entry of Caddy's `tls_connection_policies`. */
export interface TlsPolicyPlan {
  /** Lower case, `*` for a label; empty = every connection. */
  readonly sni: readonly string[];
  /** RE2 that the name in the ClientHello must match; absent = any. */
  readonly sniRegexp?: string;
  /** The TCP peer must be in one of `ranges` (empty = any) and in none of `notRanges`; absent = any. */
  readonly remoteIp?: { readonly ranges: readonly string[]; readonly notRanges: readonly string[] };
  /** The address the connection came in on must be in one of these; absent = any. */
  readonly localIp?: readonly string[];
  readonly minVersion: TlsVersion;
  readonly maxVersion: TlsVersion;
  /** OpenSSL's names, colons between them. */
  readonly ciphers: string;
  /** OpenSSL's names of groups, colons between them; `auto` = its own. */
  readonly curves: string;
  /** In order of preference. */
  readonly alpn: readonly string[];
  /** null = clients are not asked for a certificate. */
  readonly clientAuth: ClientAuthPlan | null;
  /** Certificates may be chosen only among those with one of these tags; empty = among all. */
  readonly anyTag: readonly string[];
  /** … and with all of these. */
  readonly allTags: readonly string[];
  /** Name that a hello without one stands for; '' = the address the connection came in on. */
  readonly defaultSni: string;
  /** Name looked for when there is no certificate for the wanted one; '' = none. */
  readonly fallbackSni: string;
}

export interface ClientAuthPlan {
  /**
   * request: ask, take anything. require: any certificate. verify_if_given: none, or one that an authority signed.
   * require_and_verify: one that an authority signed.
   */
  readonly mode: 'request' | 'require' | 'verify_if_given' | 'require_and_verify';
  /** Authorities, PEM. */
  readonly trusted: readonly string[];
  /** SHA-256 of DER, hex: a certificate that is shown must be one of these, in every mode. Absent = any may be. */
  readonly leaves?: readonly string[];
}

/** A certificate with its key, as workers get it. */
export interface CertificatePlan {
  /** Hash of everything below. */
  readonly id: string;
  /** Lower case: names, wildcards and IP addresses it is good for. */
  readonly names: readonly string[];
  readonly tags: readonly string[];
  /** `ec`, `rsa`, …: a name may have one certificate of each kind. */
  readonly keyType: string;
  /** Leaf first, then the chain, PEM. */
  readonly chain: string;
  readonly key: string;
  /** DER of the OCSP response that is stapled, base64; null = none. */
  readonly ocsp: string | null;
}
