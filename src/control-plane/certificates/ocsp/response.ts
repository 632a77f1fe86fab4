/** OCSP responses (RFC 6960): what clients will look at is looked at here first, so that nothing worthless is stapled. */
import { verify, X509Certificate, type KeyObject } from 'node:crypto';
import { childrenOf, CONTEXT_0, readElement, SEQUENCE, type Element } from '../../../shared/der.ts';

/** id-pkix-ocsp-basic and id-kp-OCSPSigning. */
const BASIC = '2b0601050507300101';
const OCSP_SIGNING = '1.3.6.1.5.5.7.3.9';
const GENERALIZED_TIME = 0x18;
const ENUMERATED = 0x0a;
/** certStatus good: [0] IMPLICIT NULL. */
const GOOD = 0x80;
/** Signature algorithms, hex of their OID, and the digest they are made over. */
const DIGESTS: Readonly<Record<string, string | null>> = Object.freeze({
  '2a864886f70d010105': 'sha1',
  '2a864886f70d01010b': 'sha256',
  '2a864886f70d01010c': 'sha384',
  '2a864886f70d01010d': 'sha512',
  '2a8648ce3d040302': 'sha256',
  '2a8648ce3d040303': 'sha384',
  '2a8648ce3d040304': 'sha512',
  '2b6570': null,
});
/** Clocks differ. */
const SKEW_MS = 300_000;

export interface OcspVerdict {
  /** Wall-clock milliseconds; a response without an end is good for `thisUpdate` plus a day. */
  readonly thisUpdate: number;
  readonly nextUpdate: number;
}

const DAY_MS = 86_400_000;

/** Throws an Error with one sentence unless the response says, signed, that the certificate of `id` is good now. */
export function checkResponse(response: Buffer, id: Buffer, issuerPem: string, wallMs: number): OcspVerdict {
  const [status, wrapped] = childrenOf(readElement(response));
  if (status?.tag !== ENUMERATED || status.content[0] !== 0 || wrapped === undefined) {
    throw new Error(`the responder refused (status ${status?.content[0] ?? '?'})`);
  }
  const [type, bytes] = childrenOf(childrenOf(wrapped)[0]!);
  if (type?.content.toString('hex') !== BASIC || bytes === undefined) throw new Error('it is of an unknown type');
  const [data, algorithm, signature, certificates] = childrenOf(readElement(bytes.content));
  if (data === undefined || algorithm === undefined || signature === undefined) throw new Error('it is incomplete');
  const issuer = new X509Certificate(issuerPem);
  checkSignature(data.whole, algorithm, signature, signersOf(certificates, issuer, wallMs));
  return checkStatus(data, id, wallMs);
}

/** The issuer itself, or somebody it gave the right to (RFC 6960 section 4.2.2.2). */
function signersOf(wrapped: Element | undefined, issuer: X509Certificate, wallMs: number): KeyObject[] {
  const sent = wrapped?.tag === CONTEXT_0 ? childrenOf(childrenOf(wrapped)[0]!) : [];
  const delegates = sent
    .map(({ whole }) => new X509Certificate(whole))
    .filter(
      (certificate) =>
        // undefined where it has no such extension, whatever the types say.
        [certificate.keyUsage].flat().includes(OCSP_SIGNING) &&
        certificate.checkIssued(issuer) &&
        certificate.verify(issuer.publicKey) &&
        Date.parse(certificate.validTo) > wallMs,
    );
  return [issuer.publicKey, ...delegates.map(({ publicKey }) => publicKey)];
}

function checkSignature(signed: Buffer, algorithm: Element, signature: Element, keys: readonly KeyObject[]): void {
  const oid = childrenOf(algorithm)[0]?.content.toString('hex') ?? '';
  const digest = Object.hasOwn(DIGESTS, oid) ? DIGESTS[oid] : undefined;
  if (digest === undefined) throw new Error('it is signed in an unknown way');
  // The first byte of a BIT STRING counts unused bits.
  const value = signature.content.subarray(1);
  if (!keys.some((key) => isSignedBy(digest, signed, key, value))) throw new Error('its signature is wrong');
}

function isSignedBy(digest: string | null, signed: Buffer, key: KeyObject, signature: Buffer): boolean {
  try {
    return verify(digest, signed, key, signature);
  } catch {
    return false;
  }
}

function checkStatus(data: Element, id: Buffer, wallMs: number): OcspVerdict {
  const responses = responsesIn(data);
  const single =
    responses === undefined ? undefined : childrenOf(responses).find((one) => childrenOf(one)[0]?.whole.equals(id));
  if (single === undefined) throw new Error('it is about another certificate');
  const [, status, ...rest] = childrenOf(single);
  if (status?.tag !== GOOD) throw new Error('it says that the certificate is revoked or unknown');
  const thisUpdate = timeOf(rest.find(({ tag }) => tag === GENERALIZED_TIME));
  const end = rest.find(({ tag }) => tag === CONTEXT_0);
  const nextUpdate = end === undefined ? thisUpdate + DAY_MS : timeOf(childrenOf(end)[0]);
  if (!(thisUpdate <= wallMs + SKEW_MS && nextUpdate > wallMs)) throw new Error('it is not good at this time');
  return { thisUpdate, nextUpdate };
}

/** `responses` is the only SEQUENCE in ResponseData: responderID is tagged, producedAt a time, extensions are tagged. */
function responsesIn(data: Element): Element | undefined {
  return childrenOf(data).find(({ tag }) => tag === SEQUENCE);
}

function timeOf(element: Element | undefined): number {
  const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.\d+)?Z$/.exec(element?.content.toString('latin1') ?? '');
  if (parts === null) throw new Error('it has a time that cannot be read');
  const [year, month, day, hour, minute, second] = parts.slice(1).map(Number);
  return Date.UTC(year!, month! - 1, day, hour, minute, second);
}
