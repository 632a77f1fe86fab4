/**
 * PKCS#12 (RFC 7292): certificate, chain and key of one file, made PEM. What OpenSSL 1 and 3, Java, Windows and macOS write;
 * of old encryption only triple DES, which some of them still use, not RC2.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import {
  childrenOf,
  CONTEXT_0,
  type Element,
  expectTag,
  objectIdOf,
  octetsOf,
  readElement,
  SEQUENCE,
} from '../../shared/der.ts';
import { checkMac, decrypt } from './pkcs12-crypto.ts';

export interface Pkcs12 {
  /** PEM, the one that belongs to the key first. */
  readonly chain: string;
  /** PKCS#8, PEM, without a password. */
  readonly key: string;
}

const DATA = '1.2.840.113549.1.7.1';
const ENCRYPTED_DATA = '1.2.840.113549.1.7.6';
const BAG = '1.2.840.113549.1.12.10.1.';
const KEY_BAG = `${BAG}1`;
const SHROUDED_KEY_BAG = `${BAG}2`;
const CERTIFICATE_BAG = `${BAG}3`;
const NESTED_BAG = `${BAG}6`;
const X509_CERTIFICATE = '1.2.840.113549.1.9.22.1';
/** Bags in bags: nobody writes them, and a file could hold itself. */
const MAX_NESTING = 4;

interface Found {
  readonly keys: Buffer[];
  readonly certificates: X509Certificate[];
}

/** Throws an Error with one sentence: no PKCS#12, wrong password, no key in it, … */
export function readPkcs12(bytes: Buffer, password: string): Pkcs12 {
  const [, content, mac] = childrenOf(expectTag(readElement(bytes), SEQUENCE));
  const safes = dataOf(content);
  if (mac === undefined) throw new Error('it has no MAC, so nobody can tell whether it is whole');
  checkMac(mac, safes, password);
  const found: Found = { keys: [], certificates: [] };
  for (const safe of childrenOf(expectTag(readElement(safes), SEQUENCE))) {
    collect(readElement(openSafe(safe, password)), password, found, 0);
  }
  return paired(found);
}

/** The octets of a ContentInfo of type `data`. */
function dataOf(info: Element | undefined): Buffer {
  const [type, wrapped] = childrenOf(expectTag(info, SEQUENCE));
  if (objectIdOf(type) !== DATA) {
    throw new Error('it is signed with a public key, which is not supported: export it with a password');
  }
  return octetsOf(readElement(expectTag(wrapped, CONTEXT_0).content));
}

function openSafe(info: Element, password: string): Buffer {
  const [type, wrapped] = childrenOf(expectTag(info, SEQUENCE));
  if (objectIdOf(type) !== ENCRYPTED_DATA) return dataOf(info);
  const [, encrypted] = childrenOf(readElement(expectTag(wrapped, CONTEXT_0).content));
  const [, algorithm, bytes] = childrenOf(expectTag(encrypted, SEQUENCE));
  if (bytes === undefined) throw new Error('it is damaged: an encrypted part is empty');
  return decrypt(expectTag(algorithm, SEQUENCE), octetsOf(bytes, 0x80), password);
}

function collect(bags: Element, password: string, found: Found, depth: number): void {
  if (depth > MAX_NESTING) throw new Error('it is damaged: bags in bags in bags');
  for (const bag of childrenOf(expectTag(bags, SEQUENCE))) {
    const [type, wrapped] = childrenOf(bag);
    const value = readElement(expectTag(wrapped, CONTEXT_0).content);
    const kind = objectIdOf(type);
    if (kind === KEY_BAG) found.keys.push(value.whole);
    else if (kind === SHROUDED_KEY_BAG) found.keys.push(openKey(value, password));
    else if (kind === CERTIFICATE_BAG) found.certificates.push(...certificateOf(value));
    else if (kind === NESTED_BAG) collect(value, password, found, depth + 1);
  }
}

function openKey(value: Element, password: string): Buffer {
  const [algorithm, bytes] = childrenOf(expectTag(value, SEQUENCE));
  if (bytes === undefined) throw new Error('it is damaged: the key is missing where it should be');
  return decrypt(expectTag(algorithm, SEQUENCE), octetsOf(bytes), password);
}

function certificateOf(value: Element): X509Certificate[] {
  const [type, wrapped] = childrenOf(expectTag(value, SEQUENCE));
  if (objectIdOf(type) !== X509_CERTIFICATE) return [];
  return [new X509Certificate(octetsOf(readElement(expectTag(wrapped, CONTEXT_0).content)))];
}

function paired({ keys, certificates }: Found): Pkcs12 {
  if (keys.length === 0) throw new Error('there is no private key in it');
  if (certificates.length === 0) throw new Error('there is no certificate in it');
  for (const der of keys) {
    const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    const leaf = certificates.find((certificate) => certificate.checkPrivateKey(key));
    if (leaf === undefined) continue;
    const ordered = [leaf, ...certificates.filter((certificate) => certificate !== leaf)];
    return {
      chain: ordered.map((certificate) => certificate.toString()).join(''),
      key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    };
  }
  throw new Error('its private key belongs to none of its certificates');
}
