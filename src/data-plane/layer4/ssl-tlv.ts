/** The TLS of a client, as a PROXY v2 header tells of it (proxy-protocol.txt, section 2.2.6). */
import { tlvText } from '../../shared/net/proxy-tlvs.ts';
import type { TlsFacts } from '../route/tls-facts.ts';

const CLIENT_SSL = 0x01;
const CLIENT_CERT_CONN = 0x02;
const SUBTYPE_VERSION = 0x21;
const SUBTYPE_COMMON_NAME = 0x22;
const SUBTYPE_CIPHER = 0x23;

/** Its value, latin1: flags, whether the certificate was verified (0 = yes), and what else is known. */
export function sslTlv({ version, cipherSuite, clientCertificate, verified }: TlsFacts): string {
  const flags = CLIENT_SSL | (clientCertificate === undefined ? 0 : CLIENT_CERT_CONN);
  const verify = verified ? '\0\0\0\0' : '\0\0\0\x01';
  const commonName = /^CN=(.*)$/m.exec(clientCertificate?.subject ?? '')?.[1] ?? '';
  return (
    String.fromCharCode(flags) +
    verify +
    tlvText({ type: SUBTYPE_VERSION, value: version.replace('tls', 'TLSv') }) +
    tlvText({ type: SUBTYPE_CIPHER, value: cipherSuite }) +
    (commonName === '' ? '' : tlvText({ type: SUBTYPE_COMMON_NAME, value: toUtf8(commonName) }))
  );
}

/** One character for each byte. */
function toUtf8(text: string): string {
  return Buffer.from(text).toString('latin1');
}
