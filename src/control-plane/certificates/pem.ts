/** Certificates and keys as text: reading, ordering, and what workers get of them. */
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { parseIp } from '../../shared/net/ip.ts';
import type { CertificatePlan } from '../../shared/plan/tls.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** A certificate that can be served. */
export interface Credential {
  readonly plan: CertificatePlan;
  /** Wall-clock milliseconds. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Certificates of a text, leaf first and every other one the issuer of the one before. Throws an Error with one sentence. */
export function parseChain(text: string): string[] {
  const blocks = text.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) throw new Error('there is no certificate in it: BEGIN CERTIFICATE is expected (PEM)');
  const certificates = blocks.map((pem) => new X509Certificate(pem));
  const rest = certificates.slice(1);
  const ordered = [certificates[0]!];
  for (let issuer = take(rest, ordered.at(-1)!); issuer !== null; issuer = take(rest, ordered.at(-1)!))
    ordered.push(issuer);
  // What belongs to nobody stays, behind: a client may know what to do with it.
  return [...ordered, ...rest].map((certificate) => certificate.toString());
}

function take(from: X509Certificate[], issued: X509Certificate): X509Certificate | null {
  const at = from.findIndex((candidate) => issued.checkIssued(candidate));
  return at < 0 ? null : from.splice(at, 1)[0]!;
}

/** Throws when the key cannot be read or belongs to another certificate. */
export function checkPair(certificate: string, key: string): void {
  if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) {
    throw new Error('the private key does not belong to the certificate');
  }
}

/** Names a certificate is good for, lower case. Without a list of names the common name counts. */
export function namesOf(pem: string): string[] {
  const { subjectAltName, subject } = new X509Certificate(pem);
  const names: string[] = [];
  for (const entry of (subjectAltName ?? '').split(', ')) {
    const [kind, value] = splitOnce(entry, ':');
    if (kind === 'DNS') names.push(value.toLowerCase());
    else if (kind === 'IP Address') names.push(parseIp(value)?.text ?? value.toLowerCase());
  }
  if (names.length > 0) return names;
  const common = /^CN=(.+)$/m.exec(subject ?? '')?.[1];
  return common === undefined ? [] : [common.toLowerCase()];
}

/** Throws when chain and key do not fit. */
export function makeCredential(chainText: string, key: string, tags: readonly string[]): Credential {
  const chain = parseChain(chainText);
  const leaf = new X509Certificate(chain[0]!);
  checkPair(chain[0]!, key);
  const joined = chain.join('');
  const id = createHash('sha256')
    .update(JSON.stringify([joined, tags]))
    .digest('hex')
    .slice(0, 32);
  return {
    plan: {
      id,
      names: namesOf(chain[0]!),
      tags,
      keyType: leaf.publicKey.asymmetricKeyType ?? '',
      chain: joined,
      key,
      ocsp: null,
    },
    notBefore: Date.parse(leaf.validFrom),
    notAfter: Date.parse(leaf.validTo),
  };
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}
