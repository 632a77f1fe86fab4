/** Issued certificates in the storage: one file each, chain and key together, so that nobody reads half of a pair. */
import type { IssuerSpec } from '../../compile/managed-specs.ts';
import { makeCredential, type Credential } from '../pem.ts';
import { issuerName } from './accounts.ts';
import type { Issued } from './issue.ts';
import { storageName, type Storage } from './storage.ts';

const FOLDER = 'certificates';

/** The first that can still be used, in the order of the issuers; null = there is none. */
export async function readKeptCertificate(
  storage: Storage,
  issuers: readonly IssuerSpec[],
  name: string,
  wallMs: number,
): Promise<{ readonly credential: Credential; readonly issuer: IssuerSpec } | null> {
  for (const issuer of issuers) {
    const text = await storage.read(keyOf(issuer, name));
    const credential = text === null ? null : readCredential(text);
    if (credential !== null && credential.notAfter > wallMs) return { credential, issuer };
  }
  return null;
}

export async function keepCertificate(
  storage: Storage,
  issuer: IssuerSpec,
  name: string,
  { chain, key }: Issued,
): Promise<void> {
  await storage.write(keyOf(issuer, name), `${chain.trim()}\n${key.trim()}\n`);
}

/** Removes what ended more than `graceMs` ago. */
export async function cleanKeptCertificates(storage: Storage, wallMs: number, graceMs: number): Promise<void> {
  for (const issuer of await storage.list(FOLDER)) {
    for (const file of await storage.list(`${FOLDER}/${issuer}`)) {
      const key = `${FOLDER}/${issuer}/${file}`;
      const text = file.endsWith('.pem') ? await storage.read(key) : null;
      const credential = text === null ? null : readCredential(text);
      if (credential !== null && credential.notAfter + graceMs < wallMs) await storage.remove(key);
    }
  }
}

/** A damaged one counts as none: another is issued in its place. */
function readCredential(text: string): Credential | null {
  try {
    return makeCredential(text, text, []);
  } catch {
    return null;
  }
}

function keyOf(issuer: IssuerSpec, name: string): string {
  const from = issuer.kind === 'acme' ? issuerName(issuer.directory) : `internal-${storageName(issuer.authority)}`;
  return `${FOLDER}/${from}/${storageName(name)}.pem`;
}
