/** The TLS a request came over, and its placeholders. PURE. */
import { createHash, type X509Certificate } from 'node:crypto';
import { childrenOf, readElement } from '../../shared/der.ts';
import { parseAlternativeNames } from '../../shared/net/alternative-names.ts';
import { parseIp } from '../../shared/net/ip.ts';

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
  /** An authority of the policy signed that certificate. */
  readonly verified: boolean;
}

/** What a placeholder `http.request.tls.<name>` gives; undefined = there is none of this name. `facts` is null over plain HTTP. */
export function readTlsFact(name: string): ((facts: TlsFacts | null | undefined) => string) | undefined {
  if (Object.hasOwn(CONNECTION, name)) return (facts) => (facts ? CONNECTION[name]!(facts) : '');
  const field = name.startsWith('client.') ? name.slice('client.'.length) : '';
  if (field.startsWith('san.')) return alternativeName(field.slice('san.'.length));
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
  public_key: (certificate: X509Certificate) => publicKeyOf(certificate).toString('hex'),
  public_key_sha256: (certificate: X509Certificate) =>
    createHash('sha256').update(publicKeyOf(certificate)).digest('hex'),
});

/** The key alone, without what says of which kind it is (RFC 5280 section 4.1.2.7), as Caddy has it. */
function publicKeyOf({ publicKey }: X509Certificate): Buffer {
  const [, bits] = childrenOf(readElement(publicKey.export({ type: 'spki', format: 'der' })));
  // The first byte of a BIT STRING says how many bits of the last one are unused: none.
  return bits === undefined ? Buffer.alloc(0) : bits.content.subarray(1);
}

/** Kinds of alternative names: ours, and Node's. */
const ALTERNATIVES: Readonly<Record<string, string>> = Object.freeze({
  dns_names: 'DNS',
  emails: 'email',
  ips: 'IP Address',
  uris: 'URI',
});

/** `dns_names` gives all of a kind, `dns_names.0` one. */
function alternativeName(name: string): ((facts: TlsFacts | null | undefined) => string) | undefined {
  const [word = '', index, surplus] = name.split('.');
  const kind = Object.hasOwn(ALTERNATIVES, word) ? ALTERNATIVES[word] : undefined;
  if (kind === undefined || surplus !== undefined || (index !== undefined && !/^\d{1,4}$/.test(index)))
    return undefined;
  return (facts) => {
    const certificate = facts?.clientCertificate;
    if (certificate === undefined) return '';
    const names = parseAlternativeNames(certificate.subjectAltName).filter((found) => found.kind === kind);
    const values = names.map(({ value }) => (word === 'ips' ? (parseIp(value)?.text ?? value) : value));
    return index === undefined ? `[${values.join(' ')}]` : (values[Number(index)] ?? '');
  };
}

/** Node has one attribute a line, first to last; RFC 4514 has them on one, last to first. */
function distinguishedName(lines: string | undefined): string {
  return (lines ?? '').split('\n').toReversed().join(',');
}
