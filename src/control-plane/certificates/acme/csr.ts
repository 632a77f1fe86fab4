/** Requests for certificates, with keys of their own (RFC 2986). */
import { webcrypto } from 'node:crypto';
import type { KeyType } from '../../config/schema/tls-app.ts';

/** TLS feature status_request, DER (RFC 7633 section 4). */
const TLS_FEATURE = '1.3.6.1.5.5.7.1.24';
const STATUS_REQUEST = Uint8Array.of(0x30, 0x03, 0x02, 0x01, 0x05);

type SigningAlgorithm = webcrypto.EcKeyGenParams | webcrypto.RsaHashedKeyGenParams;

const RSA = Object.freeze({
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  publicExponent: Uint8Array.of(1, 0, 1),
});
const ALGORITHMS: Readonly<Record<KeyType, SigningAlgorithm & { readonly hash: string }>> = Object.freeze({
  p256: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  p384: { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' },
  rsa2048: { ...RSA, modulusLength: 2048 },
  rsa4096: { ...RSA, modulusLength: 4096 },
});

export interface SigningRequest {
  /** PEM. */
  readonly csr: string;
  readonly key: string;
}

export async function makeSigningRequest(name: string, keyType: KeyType, mustStaple: boolean): Promise<SigningRequest> {
  const lib = await import('@peculiar/x509');
  const algorithm = ALGORITHMS[keyType];
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const request = await lib.Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new lib.SubjectAlternativeNameExtension([{ type: 'dns', value: name }]),
      ...(mustStaple ? [new lib.Extension(TLS_FEATURE, false, STATUS_REQUEST)] : []),
    ],
  });
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { csr: request.toString('pem'), key: `${lib.PemConverter.encode(pkcs8, 'PRIVATE KEY')}\n` };
}
