/** The password-based half of PKCS#12: keys from passwords, decryption, and the MAC over all of it. */
import { createDecipheriv, createHash, createHmac, pbkdf2Sync, timingSafeEqual } from 'node:crypto';
import {
  childrenOf,
  type Element,
  expectTag,
  INTEGER,
  objectIdOf,
  octetsOf,
  SEQUENCE,
  smallNumberOf,
} from '../../shared/der.ts';

/** The reading stops everything else: a second of it is enough. Programs write 2048 to 600,000. */
const MAX_ITERATIONS = 2_000_000;

const PBES2 = '1.2.840.113549.1.5.13';
const PBKDF2 = '1.2.840.113549.1.5.12';
const PBMAC1 = '1.2.840.113549.1.5.14';
const PBE_TRIPLE_DES = '1.2.840.113549.1.12.1.3';
const PBE_RC2: readonly string[] = Object.freeze(['1.2.840.113549.1.12.1.5', '1.2.840.113549.1.12.1.6']);

interface Cipher {
  readonly name: string;
  readonly keyBytes: number;
}

const CIPHERS: Readonly<Record<string, Cipher>> = Object.freeze({
  '2.16.840.1.101.3.4.1.2': { name: 'aes-128-cbc', keyBytes: 16 },
  '2.16.840.1.101.3.4.1.22': { name: 'aes-192-cbc', keyBytes: 24 },
  '2.16.840.1.101.3.4.1.42': { name: 'aes-256-cbc', keyBytes: 32 },
  '1.2.840.113549.3.7': { name: 'des-ede3-cbc', keyBytes: 24 },
});

const HASHES: Readonly<Record<string, string>> = Object.freeze({
  '1.3.14.3.2.26': 'sha1',
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
});

const HMACS: Readonly<Record<string, string>> = Object.freeze({
  '1.2.840.113549.2.7': 'sha1',
  '1.2.840.113549.2.9': 'sha256',
  '1.2.840.113549.2.10': 'sha384',
  '1.2.840.113549.2.11': 'sha512',
});

/** Bytes that the hash takes at a time (`v` of RFC 7292 appendix B.2). */
const BLOCK_BYTES: Readonly<Record<string, number>> = Object.freeze({ sha1: 64, sha256: 64, sha384: 128, sha512: 128 });

/** What a derived key is for (RFC 7292 appendix B.3). */
const FOR_CIPHER = 1;
const FOR_IV = 2;
const FOR_MAC = 3;

/** Throws when the password is wrong, the bytes were changed, or the algorithm is none of ours. */
export function checkMac(mac: Element, bytes: Buffer, password: string): void {
  const [digestInfo, salt, iterations] = childrenOf(expectTag(mac, SEQUENCE));
  const [algorithm, digest] = childrenOf(expectTag(digestInfo, SEQUENCE));
  const [type, parameters] = childrenOf(expectTag(algorithm, SEQUENCE));
  if (digest === undefined || salt === undefined) throw new Error('it is damaged: its MAC is not whole');
  const oid = objectIdOf(type);
  const expected =
    oid === PBMAC1
      ? pbmac1(expectTag(parameters, SEQUENCE), bytes, password)
      : classicMac(hashNamed(oid), octetsOf(salt), iterationsOf(iterations), bytes, password);
  const found = octetsOf(digest);
  if (found.length !== expected.length || !timingSafeEqual(found, expected)) {
    throw new Error(password === '' ? 'it needs its password' : 'the password is wrong, or the file is damaged');
  }
}

/** `algorithm` is an AlgorithmIdentifier. */
export function decrypt(algorithm: Element, bytes: Buffer, password: string): Buffer {
  const [type, parameters] = childrenOf(algorithm);
  const oid = objectIdOf(type);
  const settings = childrenOf(expectTag(parameters, SEQUENCE));
  if (oid === PBES2) return decryptPbes2(settings, bytes, password);
  if (oid === PBE_TRIPLE_DES) return decryptTripleDes(settings, bytes, password);
  const what = PBE_RC2.includes(oid) ? 'RC2, which is broken' : `a way that is not known here (${oid})`;
  throw new Error(`it is encrypted in ${what}: export it again, with AES`);
}

/** RFC 8018 section 6.2. */
function decryptPbes2([derivation, scheme]: Element[], bytes: Buffer, password: string): Buffer {
  const [type, iv] = childrenOf(expectTag(scheme, SEQUENCE));
  const oid = objectIdOf(type);
  const cipher = Object.hasOwn(CIPHERS, oid) ? CIPHERS[oid] : undefined;
  if (cipher === undefined || iv === undefined) {
    throw new Error(`it is encrypted in a way that is not known here (${oid}): export it again, with AES`);
  }
  const key = pbkdf2(expectTag(derivation, SEQUENCE), cipher.keyBytes, password);
  return open(cipher.name, key, octetsOf(iv), bytes);
}

function decryptTripleDes([salt, iterations]: Element[], bytes: Buffer, password: string): Buffer {
  if (salt === undefined) throw new Error('it is damaged: a salt is missing');
  const derive = (id: number, length: number): Buffer =>
    deriveKey('sha1', id, octetsOf(salt), iterationsOf(iterations), length, password);
  return open('des-ede3-cbc', derive(FOR_CIPHER, 24), derive(FOR_IV, 8), bytes);
}

function open(cipher: string, key: Buffer, iv: Buffer, bytes: Buffer): Buffer {
  try {
    const decipher = createDecipheriv(cipher, key, iv);
    return Buffer.concat([decipher.update(bytes), decipher.final()]);
  } catch (error) {
    throw new Error('a part of it cannot be decrypted with this password', { cause: error });
  }
}

/** `derivation` is an AlgorithmIdentifier; only PBKDF2 is written by anybody. */
function pbkdf2(derivation: Element, keyBytes: number, password: string): Buffer {
  const [type, parameters] = childrenOf(derivation);
  if (objectIdOf(type) !== PBKDF2) throw new Error(`its key derivation is not known here (${objectIdOf(type)})`);
  const [salt, iterations, ...rest] = childrenOf(expectTag(parameters, SEQUENCE));
  if (salt === undefined) throw new Error('it is damaged: a salt is missing');
  // An optional length of the key, and the pseudo-random function, which is HMAC-SHA-1 where none is named.
  const named = rest.find(({ tag }) => tag !== INTEGER);
  const prf = named === undefined ? 'sha1' : hmacNamed(objectIdOf(childrenOf(named)[0]));
  return pbkdf2Sync(password, octetsOf(salt), iterationsOf(iterations), keyBytes, prf);
}

/** RFC 9579. */
function pbmac1(parameters: Element, bytes: Buffer, password: string): Buffer {
  const [derivation, scheme] = childrenOf(parameters);
  const hash = hmacNamed(objectIdOf(childrenOf(expectTag(scheme, SEQUENCE))[0]));
  const [, settings] = childrenOf(expectTag(derivation, SEQUENCE));
  const length = childrenOf(expectTag(settings, SEQUENCE))
    .slice(2)
    .find(({ tag }) => tag === INTEGER);
  const key = pbkdf2(derivation!, Math.min(smallNumberOf(length), 1024), password);
  return createHmac(hash, key).update(bytes).digest();
}

function classicMac(hash: string, salt: Buffer, iterations: number, bytes: Buffer, password: string): Buffer {
  const length = createHash(hash).digest().length;
  return createHmac(hash, deriveKey(hash, FOR_MAC, salt, iterations, length, password))
    .update(bytes)
    .digest();
}

/** RFC 7292 appendix B.2. */
function deriveKey(
  hash: string,
  id: number,
  salt: Buffer,
  iterations: number,
  length: number,
  password: string,
): Buffer {
  const block = BLOCK_BYTES[hash]!;
  const input = Buffer.concat([fill(salt, block), fill(wide(password), block)]);
  const prefix = Buffer.alloc(block, id);
  const blocks: Buffer[] = [];
  for (let made = 0; made < length; made += blocks.at(-1)!.length) {
    let digest = createHash(hash).update(prefix).update(input).digest();
    for (let round = 1; round < iterations; round += 1) digest = createHash(hash).update(digest).digest();
    blocks.push(digest);
    addToEach(input, block, fill(digest, block));
  }
  return Buffer.concat(blocks).subarray(0, length);
}

/** Adds `addend` + 1 to every block of `input`, which are numbers of `block` bytes. */
function addToEach(input: Buffer, block: number, addend: Buffer): void {
  for (let from = 0; from < input.length; from += block) {
    let carry = 1;
    for (let at = block - 1; at >= 0; at -= 1) {
      carry += input[from + at]! + (addend[at] ?? 0);
      input[from + at] = carry & 0xff;
      carry >>= 8;
    }
  }
}

/** Repeated up to the next multiple of `block` bytes. */
function fill(bytes: Buffer, block: number): Buffer {
  if (bytes.length === 0) return bytes;
  return Buffer.alloc(Math.ceil(bytes.length / block) * block, bytes);
}

/** UTF-16, most significant byte first, with a zero behind (RFC 7292 appendix B.1). */
function wide(password: string): Buffer {
  return Buffer.from(`${password}\0`, 'utf16le').swap16();
}

function hashNamed(oid: string): string {
  const name = Object.hasOwn(HASHES, oid) ? HASHES[oid] : undefined;
  if (name === undefined) throw new Error(`its MAC is of a kind that is not known here (${oid})`);
  return name;
}

function hmacNamed(oid: string): string {
  const name = Object.hasOwn(HMACS, oid) ? HMACS[oid] : undefined;
  if (name === undefined) throw new Error(`its key derivation is not known here (${oid})`);
  return name;
}

/** Absent = 1. */
function iterationsOf(element: Element | undefined): number {
  const count = element === undefined ? 1 : smallNumberOf(element);
  if (count < 1 || count > MAX_ITERATIONS)
    throw new Error(`it wants ${count} rounds of hashing: at most ${MAX_ITERATIONS} are done`);
  return count;
}
