/** `client_auth`, compiled: whose certificates are let in. */
import { X509Certificate } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ClientAuthPlan } from '../../../shared/plan/tls.ts';
import { parseChain } from '../../certificates/pem.ts';
import type { LeafLoaderConfig } from '../../config/schema/leaf-verifier.ts';
import type { ClientAuthConfig } from '../../config/schema/tls-policy.ts';
import type { Compilation } from '../compilation.ts';
import { readCertificates, readWatched } from '../pem-files.ts';

/** `path` is the JSON path of the object. */
export function compileClientAuth(run: Compilation, path: string, config: ClientAuthConfig): ClientAuthPlan {
  const trusted = readAuthorities(run, path, config);
  const leaves = readLeaves(run, path, config);
  const mode = config.mode ?? (trusted.length > 0 ? 'require_and_verify' : 'require');
  const verifies = mode === 'verify_if_given' || mode === 'require_and_verify';
  if (verifies && trusted.length === 0 && leaves === null) {
    run.fail(
      path,
      `client_auth with mode ${mode} needs a trust_pool or trusted leaf certificates: nobody's certificate could be verified`,
    );
  }
  return { mode, trusted, ...(leaves === null ? {} : { leaves }) };
}

function readAuthorities(run: Compilation, path: string, { ca, ...config }: ClientAuthConfig): string[] {
  const inline = [...config.trusted_ca_certs, ...(ca?.provider === 'inline' ? ca.trusted_ca_certs : [])];
  const files = [...config.trusted_ca_certs_pem_files, ...(ca?.provider === 'file' ? ca.pem_files : [])];
  return [...inline.map((der) => readInline(run, path, der)), ...files.flatMap((file) => readWatched(run, path, file))];
}

/** Their hashes; null when no list was written. An empty one lets nobody in. */
function readLeaves(run: Compilation, path: string, config: ClientAuthConfig): string[] | null {
  const { trusted_leaf_certs: inline, verifiers } = config;
  if (inline.length === 0 && verifiers.length === 0) return null;
  const found = inline.map((der) => readInline(run, path, der));
  for (const [at, { leaf_certs_loaders: loaders }] of verifiers.entries()) {
    const own = loaders.flatMap((loader, index) =>
      loadLeaves(run, `${path}.verifiers.${at}.leaf_certs_loaders.${index}`, loader),
    );
    if (own.length === 0) tellEmpty(run, `${path}.verifiers.${at}`, loaders);
    found.push(...own);
  }
  return [...new Set(found.map((pem) => hashOf(pem)))];
}

/** A folder may run empty while it is watched: then its last client is to be kept out. */
function tellEmpty(run: Compilation, path: string, loaders: readonly LeafLoaderConfig[]): void {
  const message = 'verifier leaf has no certificate: nobody can come in';
  if (loaders.some(({ loader }) => loader === 'folder')) run.warn(path, 'tls', message);
  else run.fail(path, message);
}

function loadLeaves(run: Compilation, path: string, loader: LeafLoaderConfig): string[] {
  switch (loader.loader) {
    case 'file':
      return loader.files.flatMap((file) => readWatched(run, path, file));
    case 'folder':
      return loader.folders.flatMap((folder) => readFolder(run, path, folder));
    case 'pem':
      return loader.certificates.flatMap((pem) => {
        try {
          return parseChain(pem);
        } catch (error) {
          return run.fail(path, `a trusted certificate cannot be read: ${messageOf(error)}`);
        }
      });
  }
}

function readFolder(run: Compilation, path: string, folder: string): string[] {
  let names: string[] = [];
  try {
    names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  } catch (error) {
    run.fail(path, `cannot read the folder ${folder}: ${messageOf(error)}`);
  }
  const files = names.filter((name) => name.endsWith('.pem')).toSorted();
  // Folders and not their files: one that was taken out is not on its way, its client is to be kept out.
  run.watchedFiles.add(folder);
  for (const name of files) run.watchedFiles.add(dirname(join(folder, name)));
  return files.flatMap((name) => readCertificates(run, path, join(folder, name)));
}

function readInline(run: Compilation, path: string, base64: string): string {
  const pem = `-----BEGIN CERTIFICATE-----\n${base64.replace(/\s/g, '')}\n-----END CERTIFICATE-----\n`;
  try {
    return parseChain(pem)[0]!;
  } catch {
    return run.fail(path, 'a trusted certificate cannot be read: write its DER in base64, on one line');
  }
}

function hashOf(pem: string): string {
  return new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase();
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
