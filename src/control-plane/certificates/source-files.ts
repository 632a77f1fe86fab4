/** Certificates in files: reading them, and seeing that they changed. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { CertificateSpec } from '../compile/compiled.ts';
import { makeCredential, type Credential } from './pem.ts';
import { readPkcs12 } from './pkcs12.ts';

export type FileSpec = Extract<CertificateSpec, { source: 'files' | 'folder' }>;

type PairSpec = Extract<FileSpec, { source: 'files' }>;

/** Rejects with an Error that names the file. */
export async function readCredentials(spec: FileSpec): Promise<Credential[]> {
  if (spec.source === 'folder') return readFolder(spec.folder, spec.tags);
  if (spec.passwordFile !== undefined) return [await readPkcs12File(spec, spec.passwordFile)];
  const [chain, key] = [await readText(spec.certificate), await readText(spec.key)];
  return [named(spec.certificate, () => makeCredential(chain, key, spec.tags))];
}

/** A text that differs when a file was changed, '' while one is missing: a file may be on its way. */
export async function fileMark(spec: FileSpec): Promise<string> {
  try {
    const files = spec.source === 'files' ? filesOf(spec) : await pemFiles(spec.folder);
    const marks = await Promise.all(
      files.map(async (file) => {
        const { mtimeMs, size, ino } = await stat(file);
        return `${file} ${mtimeMs} ${size} ${ino}`;
      }),
    );
    return marks.join('\n');
  } catch {
    return '';
  }
}

function filesOf({ certificate, key, passwordFile = '' }: PairSpec): string[] {
  return [certificate, key, passwordFile].filter((file) => file !== '');
}

async function readPkcs12File({ certificate, tags }: PairSpec, passwordFile: string): Promise<Credential> {
  const bytes = await readBytes(certificate);
  const password = passwordFile === '' ? '' : passwordIn(await readText(passwordFile));
  return named(certificate, () => {
    const { chain, key } = readPkcs12(bytes, password);
    return makeCredential(chain, key, tags);
  });
}

/** A file that an editor wrote ends with a line break. */
export function passwordIn(text: string): string {
  return text.replace(/\r?\n$/, '');
}

async function readFolder(folder: string, tags: readonly string[]): Promise<Credential[]> {
  const found: Credential[] = [];
  for (const file of await pemFiles(folder)) {
    const text = await readText(file);
    found.push(named(file, () => makeCredential(text, text, tags)));
  }
  return found;
}

async function pemFiles(folder: string): Promise<string[]> {
  try {
    const names = await readdir(folder, { recursive: true });
    return names
      .filter((name) => name.endsWith('.pem'))
      .toSorted()
      .map((name) => join(folder, name));
  } catch (error) {
    throw new Error(`cannot read the folder ${folder}: ${messageOf(error)}`, { cause: error });
  }
}

async function readText(file: string): Promise<string> {
  return (await readBytes(file)).toString('utf8');
}

async function readBytes(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new Error(`cannot read ${file}: ${messageOf(error)}`, { cause: error });
  }
}

function named(file: string, make: () => Credential): Credential {
  try {
    return make();
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`, { cause: error });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
