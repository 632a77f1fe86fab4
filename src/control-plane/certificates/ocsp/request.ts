/** OCSP requests (RFC 6960), for one certificate each. */
import { createHash } from 'node:crypto';

const SEQUENCE = 0x30;
const OCTET_STRING = 0x04;
const INTEGER = 0x02;
/** AlgorithmIdentifier of SHA-1: what names a certificate here, as responders that answer from tables want it (RFC 5019). */
const SHA1 = Buffer.from('300906052b0e03021a0500', 'hex');

export interface OcspSubject {
  /** PEM. */
  readonly leaf: string;
  readonly issuer: string;
}

/** How the certificate is named: the DER of a CertID. */
export async function certId({ leaf, issuer }: OcspSubject): Promise<Buffer> {
  const lib = await import('@peculiar/x509');
  const by = new lib.X509Certificate(issuer);
  const nameHash = createHash('sha1').update(Buffer.from(by.subjectName.toArrayBuffer())).digest();
  const keyHash = Buffer.from(await by.publicKey.getKeyIdentifier());
  const serial = Buffer.from(new lib.X509Certificate(leaf).serialNumber, 'hex');
  const positive = serial[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), serial]) : serial;
  return wrap(SEQUENCE, SHA1, wrap(OCTET_STRING, nameHash), wrap(OCTET_STRING, keyHash), wrap(INTEGER, positive));
}

export function ocspRequest(id: Buffer): Buffer {
  // OCSPRequest { tbsRequest { requestList { Request { reqCert } } } }
  return wrap(SEQUENCE, wrap(SEQUENCE, wrap(SEQUENCE, wrap(SEQUENCE, id))));
}

function wrap(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const bytes = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...bytes]), content]);
}
