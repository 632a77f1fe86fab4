/** Making certificates with an authority's key. The library behind it is loaded when the first one is needed. */
import { createPrivateKey, randomBytes, webcrypto, type KeyObject } from 'node:crypto';
import type * as x509 from '@peculiar/x509';
import { parseIp } from '../../shared/net/ip.ts';

/** A certificate and its key, PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateRequest {
  readonly commonName: string;
  /** Wall-clock milliseconds. */
  readonly notBefore: number;
  readonly notAfter: number;
  /** root and intermediate: authorities. leaf: for servers, with `names`. */
  readonly kind: 'root' | 'intermediate' | 'leaf';
  readonly names: readonly string[];
}

const EC = Object.freeze({ name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' });
const SERIAL_BYTES = 16;

/** `issuer` null = it signs itself. The key is new, ECDSA on P-256. */
export async function signCertificate(request: CertificateRequest, issuer: KeyPair | null): Promise<KeyPair> {
  const lib = await import('@peculiar/x509');
  const keys = await webcrypto.subtle.generateKey(EC, true, ['sign', 'verify']);
  const parent = issuer === null ? null : new lib.X509Certificate(issuer.certificate);
  const signer = issuer === null ? { key: keys.privateKey, algorithm: EC } : await importSigner(issuer.key);
  const certificate = await lib.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [request.commonName] }],
    issuer: parent === null ? [{ CN: [request.commonName] }] : parent.subject,
    notBefore: new Date(request.notBefore),
    notAfter: new Date(request.notAfter),
    publicKey: keys.publicKey,
    signingKey: signer.key,
    signingAlgorithm: signer.algorithm,
    extensions: await extensionsOf(lib, request, keys.publicKey, parent),
  });
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { certificate: `${certificate.toString('pem')}\n`, key: `${lib.PemConverter.encode(pkcs8, 'PRIVATE KEY')}\n` };
}

async function extensionsOf(
  lib: typeof x509,
  { kind, names }: CertificateRequest,
  publicKey: webcrypto.CryptoKey,
  parent: x509.X509Certificate | null,
): Promise<x509.Extension[]> {
  const { KeyUsageFlags: Usage } = lib;
  const authority = kind !== 'leaf';
  const usage = authority ? Usage.keyCertSign : Usage.digitalSignature;
  const extensions: x509.Extension[] = [
    new lib.BasicConstraintsExtension(authority, kind === 'intermediate' ? 0 : kind === 'root' ? 1 : undefined, true),
    new lib.KeyUsagesExtension(usage, true),
    await lib.SubjectKeyIdentifierExtension.create(publicKey),
  ];
  if (parent !== null)
    extensions.push(await lib.AuthorityKeyIdentifierExtension.create(await parent.publicKey.export()));
  if (authority) return extensions;
  const entries = names.map((name) => {
    const ip = parseIp(name);
    return ip === null ? { type: 'dns' as const, value: name } : { type: 'ip' as const, value: ip.text };
  });
  const { serverAuth, clientAuth } = lib.ExtendedKeyUsage;
  extensions.push(new lib.ExtendedKeyUsageExtension([serverAuth, clientAuth]));
  // What clients compare; the common name is for people (RFC 9525 section 6.3).
  extensions.push(new lib.SubjectAlternativeNameExtension(entries));
  return extensions;
}

/** A root made elsewhere may have a key of another kind. Throws for kinds that cannot sign here. */
async function importSigner(
  pem: string,
): Promise<{ readonly key: webcrypto.CryptoKey; readonly algorithm: webcrypto.EcdsaParams | webcrypto.Algorithm }> {
  const key = createPrivateKey(pem);
  const der = key.export({ type: 'pkcs8', format: 'der' });
  if (key.asymmetricKeyType === 'rsa') {
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
    return { key: await webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']), algorithm };
  }
  const curve = curveOf(key);
  const algorithm = { name: 'ECDSA', namedCurve: curve, hash: curve === 'P-256' ? 'SHA-256' : 'SHA-384' };
  return { key: await webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']), algorithm };
}

function curveOf(key: KeyObject): 'P-256' | 'P-384' {
  const curve = key.asymmetricKeyDetails?.namedCurve;
  if (curve === 'prime256v1') return 'P-256';
  if (curve === 'secp384r1') return 'P-384';
  throw new Error('the key of an authority must be RSA, or ECDSA on P-256 or P-384');
}

/** Positive and without a leading zero byte (RFC 5280 section 4.1.2.2). */
function serialNumber(): string {
  const bytes = randomBytes(SERIAL_BYTES);
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return bytes.toString('hex');
}
