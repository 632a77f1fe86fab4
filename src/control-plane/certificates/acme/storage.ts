/**
 * Where certificates, accounts and challenges are kept. A folder may be shared by several nodes; without one everything
 * lives as long as the process.
 */
import { randomBytes } from 'node:crypto';
import { link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Keys are paths with `/`, made of what `storageName` lets through. */
export interface Storage {
  /** null = there is none. */
  read(key: string): Promise<string | null>;
  write(key: string, text: string): Promise<void>;
  /** False = there is one already. */
  create(key: string, text: string): Promise<boolean>;
  remove(key: string): Promise<void>;
  /** Names directly below `key`. */
  list(key: string): Promise<readonly string[]>;
}

/** A name that is safe as a part of a key. */
export function storageName(text: string): string {
  return text
    .toLowerCase()
    .replace(/^\*/, 'wildcard_')
    .replace(/[^a-z0-9._@-]/g, '-')
    .replace(/^\.+/, '-');
}

export class FileStorage implements Storage {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async read(key: string): Promise<string | null> {
    return unlessAbsent(readFile(join(this.#root, key), 'utf8'), null);
  }

  /** Written beside and renamed: whoever reads meanwhile gets the old or the new text. */
  async write(key: string, text: string): Promise<void> {
    const path = join(this.#root, key);
    await rename(await this.#writeBeside(path, text), path);
  }

  /** A link is made only where nothing is, and by one of all nodes. */
  async create(key: string, text: string): Promise<boolean> {
    const path = join(this.#root, key);
    const beside = await this.#writeBeside(path, text);
    try {
      await link(beside, path);
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    } finally {
      await rm(beside, { force: true });
    }
  }

  async remove(key: string): Promise<void> {
    await rm(join(this.#root, key), { force: true });
  }

  async list(key: string): Promise<readonly string[]> {
    return unlessAbsent(readdir(join(this.#root, key)), []);
  }

  async #writeBeside(path: string, text: string): Promise<string> {
    const beside = `${path}.${randomBytes(6).toString('hex')}.new`;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(beside, text, { mode: 0o600 });
    return beside;
  }
}

export class MemoryStorage implements Storage {
  readonly #texts = new Map<string, string>();

  read(key: string): Promise<string | null> {
    return Promise.resolve(this.#texts.get(key) ?? null);
  }

  write(key: string, text: string): Promise<void> {
    this.#texts.set(key, text);
    return Promise.resolve();
  }

  create(key: string, text: string): Promise<boolean> {
    if (this.#texts.has(key)) return Promise.resolve(false);
    this.#texts.set(key, text);
    return Promise.resolve(true);
  }

  remove(key: string): Promise<void> {
    this.#texts.delete(key);
    return Promise.resolve();
  }

  list(key: string): Promise<readonly string[]> {
    const below = [...this.#texts.keys()].filter((known) => known.startsWith(`${key}/`));
    return Promise.resolve([...new Set(below.map((known) => known.slice(key.length + 1).split('/')[0]!))]);
  }
}

async function unlessAbsent<T>(wanted: Promise<T>, absent: T): Promise<T> {
  try {
    return await wanted;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return absent;
    throw error;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
