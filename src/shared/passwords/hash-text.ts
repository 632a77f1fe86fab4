/** Texts of password hashes: what they say about how they were made, and whether we can check a password by them (PURE). */

export interface Argon2Hash {
  readonly memoryKib: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly salt: Buffer;
  readonly tag: Buffer;
}

/** Above this a check takes longer than a request waits for it (about 0.3 s at 12, doubled by each step). */
const MAX_BCRYPT_COST = 16;
const MIN_BCRYPT_COST = 4;
const MIN_SALT_BYTES = 8;
const MIN_TAG_BYTES = 16;
const MAX_TAG_BYTES = 128;
/** 1 GiB. */
const MAX_MEMORY_KIB = 1_048_576;
const MIN_MEMORY_KIB_PER_LANE = 8;
const MAX_PASSES = 100;
const MAX_LANES = 64;

const BCRYPT = /^\$2[abxy]?\$(\d\d)\$[./A-Za-z0-9]{53}$/;
const ARGON2 = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** Cost of a bcrypt hash, null when the text is none. */
export function bcryptCost(hash: string): number | null {
  const match = BCRYPT.exec(hash);
  return match === null ? null : Number(match[1]);
}

/** null when the text is no argon2id hash in the form `$argon2id$v=19$m=…,t=…,p=…$<salt>$<hash>`. */
export function readArgon2(hash: string): Argon2Hash | null {
  const match = ARGON2.exec(hash);
  if (match === null) return null;
  const [, memory, passes, lanes, salt, tag] = match;
  return {
    memoryKib: Number(memory),
    passes: Number(passes),
    parallelism: Number(lanes),
    salt: Buffer.from(salt ?? '', 'base64'),
    tag: Buffer.from(tag ?? '', 'base64'),
  };
}

export function writeArgon2({ memoryKib, passes, parallelism, salt, tag }: Argon2Hash): string {
  const [saltText, tagText] = [salt, tag].map((bytes) => bytes.toString('base64').replaceAll('=', ''));
  return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${parallelism}$${saltText}$${tagText}`;
}

/** Why no password can be checked by this hash; '' when one can. */
export function hashFault(hash: string): string {
  const cost = bcryptCost(hash);
  if (cost !== null) return bcryptFault(cost);
  const argon2 = readArgon2(hash);
  if (argon2 !== null) return argon2Fault(argon2);
  return 'it is neither bcrypt nor argon2id: make one with `holdfast hash-password`';
}

function bcryptFault(cost: number): string {
  if (cost >= MIN_BCRYPT_COST && cost <= MAX_BCRYPT_COST) return '';
  return `its bcrypt cost is ${cost}: from ${MIN_BCRYPT_COST} to ${MAX_BCRYPT_COST} can be checked in time`;
}

function argon2Fault({ memoryKib, passes, parallelism, salt, tag }: Argon2Hash): string {
  if (parallelism < 1 || parallelism > MAX_LANES) return `p=${parallelism}: from 1 to ${MAX_LANES} is possible`;
  const leastKib = MIN_MEMORY_KIB_PER_LANE * parallelism;
  if (memoryKib < leastKib || memoryKib > MAX_MEMORY_KIB)
    return `m=${memoryKib}: from ${leastKib} to ${MAX_MEMORY_KIB} is possible`;
  if (passes < 1 || passes > MAX_PASSES) return `t=${passes}: from 1 to ${MAX_PASSES} is possible`;
  if (salt.length < MIN_SALT_BYTES) return `its salt has ${salt.length} bytes: at least ${MIN_SALT_BYTES} are needed`;
  if (tag.length >= MIN_TAG_BYTES && tag.length <= MAX_TAG_BYTES) return '';
  return `it has ${tag.length} bytes: from ${MIN_TAG_BYTES} to ${MAX_TAG_BYTES} are possible`;
}

/** How long a check takes compared with others of the same kind. */
export function hashEffort(hash: string): number {
  const cost = bcryptCost(hash);
  if (cost !== null) return 2 ** cost;
  const argon2 = readArgon2(hash);
  return argon2 === null ? 0 : argon2.memoryKib * argon2.passes;
}
