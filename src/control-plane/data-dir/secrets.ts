import { createHmac, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = 'cookie-secret';
const SECRET_BYTES = 32;

/**
 * Secrets for cookie policies that name none. One random value is kept in the data directory (mode
 * 0600), and each key gets its own secret derived from it. Without a data directory the value lives
 * as long as this object, and sessions end with it.
 */
export class GeneratedSecrets {
  readonly #dataDir: string | undefined;
  #root: string | null = null;

  /** `root`: the random value of another object that goes without a data directory too. */
  constructor(dataDir: string | undefined, root: string | null = null) {
    this.#dataDir = dataDir;
    this.#root = root;
  }

  /** What a second object needs besides the data directory to give the same secrets; null when that is enough. */
  memoryRoot(): string | null {
    if (this.#dataDir !== undefined) return null;
    this.#root ??= freshSecret();
    return this.#root;
  }

  /** The same answer for the same key as long as the file stays. Throws when the file can be neither read nor made. */
  secretFor(key: string): string {
    this.#root ??= this.#dataDir === undefined ? freshSecret() : readOrMake(this.#dataDir);
    return createHmac('sha256', this.#root).update(key).digest('base64url');
  }
}

function freshSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

function readOrMake(dataDir: string): string {
  const path = join(dataDir, FILE);
  const secret = keptText(dataDir, path);
  if (secret.length < SECRET_BYTES)
    throw new Error(`${path} is damaged: delete it to have a new secret made (clients get new cookies)`);
  return secret;
}

/** What the file holds; made first when it is not there. */
function keptText(dataDir: string, path: string): string {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    makeFile(path);
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new Error(
      `the cookie secret cannot be kept in ${path} (${codeOf(error)}): ` +
        'let this user read and write there, set XDG_DATA_HOME to another folder, or name a secret in lb_policy cookie',
      { cause: error },
    );
  }
}

function makeFile(path: string): void {
  try {
    writeFileSync(path, `${freshSecret()}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
