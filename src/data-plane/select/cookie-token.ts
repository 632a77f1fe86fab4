/**
 * The affinity token, version 1: base64url( version 1 ‖ key id 1 ‖ nonce 12 ‖ ciphertext 12 ‖ tag 16 ),
 * AES-256-GCM, associated data = cookie name. Plaintext: issue time in minutes (uint32) ‖ first 8 bytes of
 * SHA-256 of the upstream's identity. So it has a fixed length, names no address, and nobody without the
 * secret can make, change or read one; a token of one cookie name is void under another.
 *
 * Nonces are random: NIST SP 800-38D section 8.3 wants at most 2^32 tokens of one key. A site that hands
 * out a thousand a second should change its secret every seven weeks (list the new one first, keep the old).
 */
import { createCipheriv, createDecipheriv, createSecretKey, hash, hkdfSync, type KeyObject } from 'node:crypto';

const TOKEN_VERSION = 1;
/** Characters of a token. 42 bytes fill base64url exactly, so every token has one spelling. */
export const TOKEN_LENGTH = 56;
export const NONCE_BYTES = 12;

const CIPHER = 'aes-256-gcm';
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const DIGEST_BYTES = 8;
const PLAIN_BYTES = 4 + DIGEST_BYTES;
const HEADER_BYTES = 2;
const PLAIN_AT = HEADER_BYTES + NONCE_BYTES;
const TAG_AT = PLAIN_AT + PLAIN_BYTES;
/** HKDF (RFC 5869): the salt sets us apart from other users of the secret, the info one version from the next. */
const HKDF_SALT = 'holdfast affinity cookie';
const HKDF_INFO = 'v1 key and key id';

export interface TokenKey {
  /** Tells apart the keys of a rotation without trying them. Derived from the secret, so every node agrees. */
  readonly id: number;
  readonly key: KeyObject;
}

export interface TokenContent {
  /** Minutes since the Unix epoch, rounded down. */
  readonly issuedMinutes: number;
  /** Digest of the upstream's identity, see `digestIdentity`. */
  readonly digest: string;
}

export function deriveTokenKey(secret: string): TokenKey {
  const derived = Buffer.from(hkdfSync('sha256', secret, HKDF_SALT, HKDF_INFO, KEY_BYTES + 1));
  return { id: derived[KEY_BYTES]!, key: createSecretKey(derived.subarray(0, KEY_BYTES)) };
}

/** First 8 bytes of SHA-256 of the identity, as 16 hex digits. */
export function digestIdentity(identity: string): string {
  return hash('sha256', identity).slice(0, DIGEST_BYTES * 2);
}

/** `nonce`: NONCE_BYTES that were never used with this key. */
export function sealToken(key: TokenKey, cookieName: string, content: TokenContent, nonce: Uint8Array): string {
  const plain = Buffer.alloc(PLAIN_BYTES);
  plain.writeUInt32BE(content.issuedMinutes, 0);
  plain.write(content.digest, 4, 'hex');
  const cipher = createCipheriv(CIPHER, key.key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(cookieName));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  const header = Buffer.from([TOKEN_VERSION, key.id]);
  return Buffer.concat([header, nonce, sealed, cipher.getAuthTag()]).toString('base64url');
}

/**
 * What a token says, null when it is not one of ours. Length, alphabet, version and key id are looked at
 * first and cost no cryptography.
 */
export function openToken(keys: readonly TokenKey[], cookieName: string, token: string): TokenContent | null {
  if (token.length !== TOKEN_LENGTH || !isBase64Url(token)) return null;
  const bytes = Buffer.from(token, 'base64url');
  if (bytes[0] !== TOKEN_VERSION) return null;
  for (const key of keys) {
    // Two secrets share an id in one of 256 cases: then both are tried.
    const content = key.id === bytes[1] ? decrypt(key.key, cookieName, bytes) : null;
    if (content !== null) return content;
  }
  return null;
}

function decrypt(key: KeyObject, cookieName: string, bytes: Buffer): TokenContent | null {
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(HEADER_BYTES, PLAIN_AT), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(cookieName));
  decipher.setAuthTag(bytes.subarray(TAG_AT));
  const plain = decipher.update(bytes.subarray(PLAIN_AT, TAG_AT));
  try {
    decipher.final();
  } catch {
    // The tag does not fit: forged, damaged, or sealed with another secret. All of them are no token.
    return null;
  }
  return { issuedMinutes: plain.readUInt32BE(0), digest: plain.toString('hex', 4) };
}

/** Buffer reads base64 leniently (`+` for `-`, skipped junk); a token must not have a second spelling. */
function isBase64Url(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const lower = code | 0x20;
    const isLetter = lower >= 0x61 && lower <= 0x7a;
    const isDigit = code >= 0x30 && code <= 0x39;
    if (!isLetter && !isDigit && code !== 0x2d && code !== 0x5f) return false;
  }
  return true;
}
