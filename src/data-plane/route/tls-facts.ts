/** The TLS a request came over, and its placeholders. PURE. */
import { createHash, type X509Certificate } from 'node:crypto';

export interface TlsFacts {
  /** `tls1.2` or `tls1.3`. */
  readonly version: string;
  /** IANA's name. */
  readonly cipherSuite: string;
  readonly resumed: boolean;
  /** Agreed by ALPN, '' = none. */
  readonly proto: string;
  /** Name in the ClientHello, lower case; ''. */
  readonly serverName: string;
  /** Of the policy its handshake was held to. */
  readonly policyKey: string;
  /** undefined = the client showed none. */
  readonly clientCertificate: X509Certificate | undefined;
}

/** What a placeholder `http.request.tls.<name>` gives; undefined = there is none of this name. `facts` is null over plain HTTP. */
export function readTlsFact(name: string): ((facts: TlsFacts | null | undefined) => string) | undefined {
  if (Object.hasOwn(CONNECTION, name)) return (facts) => (facts ? CONNECTION[name]!(facts) : '');
  const field = name.startsWith('client.') ? name.slice('client.'.length) : '';
  if (!Object.hasOwn(CLIENT, field)) return undefined;
  return (facts) => {
    const certificate = facts?.clientCertificate;
    return certificate === undefined ? '' : CLIENT[field]!(certificate);
  };
}

const CONNECTION: Readonly<Record<string, (facts: TlsFacts) => string>> = Object.freeze({
  version: (facts: TlsFacts) => facts.version,
  cipher_suite: (facts: TlsFacts) => facts.cipherSuite,
  resumed: (facts: TlsFacts) => String(facts.resumed),
  proto: (facts: TlsFacts) => facts.proto,
  proto_mutual: (facts: TlsFacts) => String(facts.proto !== ''),
  server_name: (facts: TlsFacts) => facts.serverName,
});

const CLIENT: Readonly<Record<string, (certificate: X509Certificate) => string>> = Object.freeze({
  fingerprint: ({ raw }: X509Certificate) => createHash('sha256').update(raw).digest('hex'),
  issuer: ({ issuer }: X509Certificate) => distinguishedName(issuer),
  subject: ({ subject }: X509Certificate) => distinguishedName(subject),
  /** Decimal, as Caddy prints it. */
  serial: ({ serialNumber }: X509Certificate) => BigInt(`0x${serialNumber}`).toString(),
  certificate_pem: (certificate: X509Certificate) => certificate.toString(),
  certificate_der_base64: ({ raw }: X509Certificate) => raw.toString('base64'),
  public_key_sha256: ({ publicKey }: X509Certificate) =>
    createHash('sha256')
      .update(publicKey.export({ type: 'spki', format: 'der' }))
      .digest('hex'),
});

/** Node has one attribute a line, first to last; RFC 4514 has them on one, last to first. */
function distinguishedName(lines: string | undefined): string {
  return (lines ?? '').split('\n').toReversed().join(',');
}
