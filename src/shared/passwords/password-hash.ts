/** Making and checking password hashes. Slow on purpose (up to seconds): never on a thread that serves. */
import bcrypt from 'bcryptjs';
import { argon2Sync, randomBytes, timingSafeEqual } from 'node:crypto';
import { bcryptCost, readArgon2, writeArgon2 } from './hash-text.ts';

export type PasswordAlgorithm = 'bcrypt' | 'argon2id';

/** What bcrypt reads of a password; it ignores the rest. */
const MAX_BCRYPT_BYTES = 72;
const BCRYPT_COST = 14;
const SALT_BYTES = 16;
const TAG_BYTES = 32;
/** The second of RFC 9106 section 4's recommendations with less memory, as OWASP and Caddy have it. */
const ARGON2_MEMORY_KIB = 47_104;

/** Throws for bcrypt and a password of more than `MAX_BCRYPT_BYTES` bytes. */
export function hashPassword(password: string, algorithm: PasswordAlgorithm): string {
  if (algorithm === 'argon2id') return hashArgon2(password);
  if (Buffer.byteLength(password) > MAX_BCRYPT_BYTES) {
    throw new Error(`bcrypt reads ${MAX_BCRYPT_BYTES} bytes of a password and this one is longer: use argon2id`);
  }
  return bcrypt.hashSync(password, BCRYPT_COST);
}

function hashArgon2(password: string): string {
  const cost = { memoryKib: ARGON2_MEMORY_KIB, passes: 1, parallelism: 1, salt: randomBytes(SALT_BYTES) };
  return writeArgon2({ ...cost, tag: argon2Tag(Buffer.from(password), cost, TAG_BYTES) });
}

/** Compares in constant time. False for a hash of another kind. */
export function isPassword(password: Buffer, hash: string): boolean {
  if (bcryptCost(hash) !== null) return isBcrypt(password, hash);
  const argon2 = readArgon2(hash);
  return argon2 !== null && timingSafeEqual(argon2Tag(password, argon2, argon2.tag.length), argon2.tag);
}

/** The prefixes `$2$`, `$2x$` and `$2y$` name implementations, not another function of valid passwords. */
function isBcrypt(password: Buffer, hash: string): boolean {
  const asMadeHere = `$2b$${hash.slice(hash.indexOf('$', 1) + 1)}`;
  return bcrypt.compareSync(password.toString('utf8'), asMadeHere);
}

interface Argon2Cost {
  readonly memoryKib: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly salt: Buffer;
}

function argon2Tag(message: Buffer, { memoryKib, passes, parallelism, salt }: Argon2Cost, tagLength: number): Buffer {
  return argon2Sync('argon2id', { message, nonce: salt, parallelism, tagLength, memory: memoryKib, passes });
}
