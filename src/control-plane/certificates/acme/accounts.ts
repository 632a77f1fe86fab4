/** Accounts at authorities, kept in the storage. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import { ZERO_SSL } from '../../config/schema/acme-issuer.ts';
import type { AcmeIssuerSpec } from '../../compile/managed-specs.ts';
import { askWeb } from '../web-question.ts';
import { openAcmeClient, type AcmeClient } from './client.ts';
import { IssueError } from './errors.ts';
import { storageName, type Storage } from './storage.ts';

const EAB_URL = 'https://api.zerossl.com/acme/eab-credentials-email';

interface Account {
  readonly key: string;
  /** '' = it is not opened yet. */
  readonly url: string;
}

export interface AccountDeps {
  readonly storage: Storage;
  readonly wall: () => number;
}

/** Folder of an authority in the storage. */
export function issuerName(directory: string): string {
  const { host, pathname } = new URL(directory);
  return storageName(`${host}${pathname}`.replace(/\/$/, ''));
}

/** A client with an account that the authority knows. Rejects with an `IssueError`. */
export async function openAccount(issuer: AcmeIssuerSpec, deps: AccountDeps, signal: AbortSignal): Promise<AcmeClient> {
  const path = accountPath(issuer);
  const account = await readOrMake(path, deps.storage);
  const eab = account.url === '' ? await bindingOf(issuer) : null;
  const client = await openAcmeClient({
    directory: issuer.directory,
    trustedRoots: issuer.trustedRoots,
    accountKey: account.key,
    accountUrl: account.url,
    eab,
    signal,
    wall: deps.wall,
  });
  if (account.url !== '') return client;
  const url = await client.openAccount({ email: issuer.email, eab });
  await deps.storage.write(path, JSON.stringify({ ...account, url }));
  return client;
}

/** The authority does not know it any more. */
export async function forgetAccount(issuer: AcmeIssuerSpec, { storage }: AccountDeps): Promise<void> {
  const text = await storage.read(accountPath(issuer));
  if (text === null) return;
  const account = JSON.parse(text) as Account;
  await storage.write(accountPath(issuer), JSON.stringify({ ...account, url: '' }));
}

/** Nodes that start at once agree on one key: only one of them can create the file. */
async function readOrMake(path: string, storage: Storage): Promise<Account> {
  const kept = await storage.read(path);
  if (kept !== null) return JSON.parse(kept) as Account;
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const made: Account = { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), url: '' };
  if (await storage.create(path, JSON.stringify(made))) return made;
  return JSON.parse((await storage.read(path)) ?? '') as Account;
}

function accountPath({ directory, email, eab }: AcmeIssuerSpec): string {
  const who = createHash('sha256')
    .update(JSON.stringify([email, eab?.keyId ?? '']))
    .digest('hex')
    .slice(0, 16);
  return `acme/${issuerName(directory)}/account-${who}.json`;
}

/** ZeroSSL gives a binding to everybody who has an email address. */
async function bindingOf({ directory, email, eab }: AcmeIssuerSpec): Promise<AcmeIssuerSpec['eab']> {
  if (eab !== null || directory !== ZERO_SSL) return eab;
  const body = new URLSearchParams({ email }).toString();
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const answer = await askWeb({ url: EAB_URL, body, headers, timeoutMs: 30_000, maxBytes: 65_536 });
  const { eab_kid: keyId, eab_hmac_key: macKey } = JSON.parse(answer.body.toString()) as Record<string, unknown>;
  if (typeof keyId === 'string' && typeof macKey === 'string') return { keyId, macKey };
  throw new IssueError(`ZeroSSL gave no account binding for ${email} (status ${answer.status})`);
}
